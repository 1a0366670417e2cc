"""Started functions in any number and depth, with late ranks, waiting for each other: they end."""

import random
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import DeadlockError, WorkerError
from course_lib.models.mlp import mlp
from course_lib.schemes import layerwise, layerwise_bucketed, priority
from course_lib.training import Plan
from tests.source_lines import line_of
from tests.worlds import REAL

BIG = EAGER_BYTES // 8 + 1  # float64 elements that do not fit an eager message


def swap(comm, size=1):
    """Give the rank to the partner in a pair; return what the partner gave."""
    other = 1 - comm.rank
    return int(comm.sendrecv(np.full(size, comm.rank), dst=other, src=other)[-1])


def nest(comm, depth):
    return swap(comm) if depth == 0 else comm.start(nest, depth - 1).wait()


def many(comm, n_started, size):
    pending = [comm.start(swap, size) for _ in range(n_started)]
    return sum(each.wait() for each in reversed(pending))


def grid(comm, n_outer, n_inner):
    """Start functions that start functions; the ranks come to them in opposite orders."""

    def outer(child, k):
        time.sleep(0.005 * (k if comm.rank == 0 else n_outer - k))
        return sum(each.wait() for each in [child.start(swap) for _ in range(n_inner)])

    return sum(each.wait() for each in [comm.start(outer, k) for k in range(n_outer)])


def wait_while_the_rank_computes(comm):
    def after(child, before):
        time.sleep(0.02)
        return before.wait()

    pending = comm.start(after, comm.start(swap))
    with comm.compute("meanwhile", flops=1e6):
        time.sleep(0.1)
    return pending.wait()


def all_shapes(comm):
    """All in one run, because launching processes takes a while."""
    return [
        nest(comm, 16), nest(comm, 64), many(comm, 300, 1), many(comm, 40, BIG),
        grid(comm, 8, 2), grid(comm, 8, 4), grid(comm, 10, 3), wait_while_the_rank_computes(comm),
    ]  # fmt: skip


@pytest.mark.parametrize("rendezvous", [False, True])
def test_any_depth_any_number_and_any_order_of_arrival(world, rendezvous):
    counts = [1, 1, 300, 40, 16, 32, 30, 1]
    values = world(all_shapes, rendezvous=rendezvous, trace=False).values
    assert values == [counts, [0] * len(counts)]


def chained(comm, name, n_started):
    """Reduce one after the other, each in a function that waits for the one before."""

    def after(child, before, x):
        return before.wait() + ALLREDUCES[name](child, x)

    pending = comm.start(lambda child: np.zeros(4))
    for _ in range(n_started):
        pending = comm.start(after, pending, np.ones(4))
    return pending.wait().tolist()


def chains_and_layers(comm, X, y):
    sums = [chained(comm, name, 20) for name in ("direct", "double_tree")]
    model, plan, direct = mlp(4, *[6] * 15, 2), Plan(batch_size=16), ALLREDUCES["direct"]
    trained = [
        layerwise(comm, model, X, y, plan, direct),
        layerwise_bucketed(comm, model, X, y, plan, 0, direct),
    ]
    trained.append(priority(comm, model, X, y, plan, range(16), direct))
    return sums, [(each.w.tobytes(), each.losses) for each in trained]


@pytest.fixture(scope="module")
def in_virtual_time():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(32, 4)), rng.integers(0, 2, size=32)
    return X, y, run(chains_and_layers, X, y, workers=4, backend="simulated").values


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["processes", pytest.param("torch", marks=pytest.mark.soak)])
def test_collectives_that_start_functions_may_be_started_in_chains(backend, in_virtual_time):
    X, y, expected = in_virtual_time
    values = run(
        chains_and_layers, X, y, workers=4, backend=backend, time_limit_s=120, trace=False
    ).values  # fmt: skip
    assert values == expected
    assert values[0][0] == [[80.0] * 4] * 2


def test_what_a_rank_has_started_goes_on_when_its_function_has_returned(world):
    def talk(comm, log):
        for _ in range(3):
            swap(comm, BIG)
        log.append(comm.name)
        comm.note("done", comm.name)

    def leave(comm):
        for _ in range(40):
            comm.start(talk, [])
        return comm.rank

    result = world(leave)
    assert result.values == [0, 1]
    assert len(result.trace.notes) == 80


# Who belongs to whom


def test_a_start_that_is_refused_does_not_count(world):
    def misuse(comm):
        texts = []

        def in_another_thread():
            try:
                comm.start(swap)
            except RuntimeError as error:
                texts.append(str(error))

        if comm.rank == 0:
            stranger = threading.Thread(target=in_another_thread)
            stranger.start()
            stranger.join()
        return texts, comm.start(swap).wait()

    (texts, got), (_, other) = world(misuse).values
    assert "start()" in texts[0]
    assert (got, other) == (1, 0)


def test_a_compute_block_of_a_started_function_is_not_one_of_its_rank(world):
    def borrow(child, comm, texts):
        try:
            with comm.compute("with the wrong one"):
                swap(child)
        except RuntimeError as error:
            texts.append(str(error))
        else:
            texts.append("it was let through")
        return swap(child)

    def main(comm):
        texts = []
        pending = comm.start(borrow, comm, texts)
        swap(comm)
        return texts, pending.wait()

    for rank, (texts, got) in enumerate(world(main).values):
        assert f"rank {rank} called compute()" in texts[0]
        assert "the communicator that it " in texts[0]
        assert got == 1 - rank


# What goes wrong


def listen(comm):
    comm.recv(src=1 - comm.rank)  # first


def talk(comm):
    comm.send(np.ones(2 * BIG), dst=1 - comm.rank)  # second


def test_a_deadlock_says_which_started_function_faces_which(world):
    def main(comm):
        heard, said = comm.start(listen), comm.start(talk)
        said.wait()
        heard.wait()

    with pytest.raises(DeadlockError) as raised:
        world(main)
    text = str(raised.value)
    assert raised.value.cycle == [0, 1]
    assert line_of(listen, "# first") in text
    faces = "'world/start 1' of rank 0 waits in recv(src=1) and faces 'world/start 1' of rank 1, "
    assert f"{faces}which waits in recv(src=0)" in text
    assert "the k-th start of one rank belongs to the k-th start of every other rank" in text


def test_a_deadlock_at_the_bottom_of_a_deep_nest_is_found(world):
    def sink(comm, depth):
        if depth == 0:
            comm.recv(src=1 - comm.rank)  # the bottom
        return comm.start(sink, depth - 1).wait()

    with pytest.raises(DeadlockError) as raised:
        world(sink, 40)
    name = "'world/start 1/... 37 more .../start 1/start 1'"
    assert raised.value.cycle == [0, 1]
    assert line_of(sink, "# the bottom") in str(raised.value)
    assert f"{name} of rank 0 waits in recv(src=1) and faces {name} of rank 1" in str(raised.value)


def test_started_functions_of_one_rank_that_wait_for_each_other_are_a_deadlock(world):
    def first(comm, box, filled):
        comm.barrier()  # in virtual time: until the box is filled
        filled.wait()
        return box[0].wait()

    def second(comm, other):
        return other.wait()

    def main(comm):
        box, filled = [], threading.Event()
        pending = comm.start(first, box, filled)
        box.append(comm.start(second, pending))
        filled.set()
        return pending.wait()

    with pytest.raises(DeadlockError) as raised:
        world(main)
    assert set(raised.value.cycle) in ({0}, {1})
    text = str(raised.value)
    assert "waits in wait() for its started function 'world/start 1', at " in text
    assert "started functions must not wait for each other" in text


def test_a_failure_in_a_deep_nest_is_told_with_its_place(world):
    def sink(comm, depth):
        if depth == 0 and comm.rank == 1:
            raise KeyError("deep down")  # here
        if depth == 0:
            comm.recv(src=1)
        return comm.start(sink, depth - 1).wait()

    with pytest.raises(WorkerError, match="KeyError: 'deep down'") as raised:
        world(sink, 100)
    assert raised.value.rank == 1
    assert line_of(sink, "# here") in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("backend", REAL)
def test_a_thread_that_the_system_refuses_is_told_as_that(backend):
    def start_too_much(comm):
        threads, begin = [], threading.Thread.start

        def only_thirty(thread):
            if len(threads) == 30:
                raise RuntimeError("can't start new thread")
            threads.append(thread)
            begin(thread)

        threading.Thread.start = only_thirty
        box = [comm.start(listen) for _ in range(40)]
        return len(box)

    with pytest.raises(WorkerError) as raised:
        run(start_too_much, workers=2, backend=backend, time_limit_s=60)
    told = "could not start 'world/start 31' beside the 30 functions that it has started"
    assert told in str(raised.value)
    assert "can't start new thread" in str(raised.value)
    assert "wait() for some of them before you start more" in str(raised.value)


# Random trees

trees = st.recursive(
    st.tuples(st.sampled_from(["ring", "message", "barrier"]), st.sampled_from([1, BIG, 10 * BIG])),
    lambda inner: st.tuples(
        st.sampled_from(["at once", "at the end", "never"]), st.lists(inner, max_size=4)
    ),
    max_leaves=30,
)


def climb(comm, tree, seed):
    """Do this rank's part of a tree of starts, haltingly; return what was received."""
    rng = random.Random(f"{seed} {comm.name} {comm.rank}")
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    seen, pending = [], []
    for number, (what, how) in enumerate(tree):
        if seed and rng.random() < 0.3:
            time.sleep(rng.uniform(0, 0.005))
        if what == "barrier":
            comm.barrier()
        elif what == "ring":
            seen.append(float(comm.sendrecv(np.full(how, comm.rank + number), right, left)[-1]))
        elif what == "message":
            src = number % comm.size
            if comm.rank == src:
                comm.send(np.full(how, float(number)), dst=right)
            elif left == src:
                seen.append(float(comm.recv(src=left).sum()))
        else:
            pending.append((what, comm.start(climb, how, seed)))
        seen += [each.wait() for when, each in pending if when == "at once"]
    return seen + [each.wait() for when, each in reversed(pending) if when != "never"]


def climb_all(comm, forest, seed):
    return [climb(comm, tree, seed and seed + number) for number, tree in enumerate(forest)]


def in_every_way(forest, workers, backend, seed=0):
    return [
        run(
            climb_all, forest, seed, workers=workers, backend=backend, rendezvous=rendezvous,
            trace=False, time_limit_s=120,
        ).values
        for rendezvous in (False, True)
    ]  # fmt: skip


@given(st.lists(trees.map(lambda tree: [tree]), max_size=4), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_random_trees_of_starts_give_the_same_whether_sends_wait_or_not(forest, workers):
    eager, waiting = in_every_way(forest, workers, "simulated")
    assert eager == waiting


def random_forest(rng, n_trees):
    def grow(depth):
        tree = []
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(["ring", "message", "barrier", "start", "start"])
            if kind == "start" and depth:
                tree.append((rng.choice(["at once", "at the end", "never"]), grow(depth - 1)))
            elif kind != "start":
                tree.append((kind, rng.choice([1, BIG, 10 * BIG])))
        return tree

    return [grow(4) for _ in range(n_trees)]


@pytest.mark.slow
@pytest.mark.parametrize("backend", REAL)
@pytest.mark.parametrize("workers", [2, 4])
def test_random_trees_of_starts_give_the_same_in_every_world(backend, workers):
    forest = random_forest(random.Random(workers), 6)
    expected = in_every_way(forest, workers, "simulated")
    assert in_every_way(forest, workers, backend, seed=1) == expected
