"""``start``: a function beside the rank's own, with a communicator of its own, in every world."""

import numpy as np
import pytest

from course_lib.comm.collective import collective
from course_lib.comm.communicator import EAGER_BYTES

BIG = EAGER_BYTES // 8 + 1  # float64 elements that do not fit an eager message


def swap(comm, value, size=1):
    """Give an array to the partner in a pair; return the one number in what the partner gave."""
    other = 1 - comm.rank
    received = comm.sendrecv(np.full(size, float(value)), dst=other, src=other)
    assert received.shape == (size,)
    (number,) = set(received.tolist())
    return number


@pytest.mark.parametrize("rendezvous", [False, True])
def test_a_started_function_talks_beside_its_rank(world, rendezvous):
    def beside(comm):
        pending = comm.start(swap, comm.rank + 10)
        mine = [swap(comm, comm.rank + k) for k in range(3)]
        return mine, pending.wait()

    result = world(beside, rendezvous=rendezvous)
    assert result.values == [([1.0, 2.0, 3.0], 11.0), ([0.0, 1.0, 2.0], 10.0)]
    trace = result.trace
    assert trace.n_messages == 8  # the start and the wait are none
    assert trace.bytes_sent() == [32, 32]
    in_start = {(m.src, m.dst) for m in trace.messages if m.comm == "world/start 1"}
    assert in_start == {(0, 1), (1, 0)}
    assert {m.comm for m in trace.messages} == {"world", "world/start 1"}


def test_the_child_has_the_same_ranks_and_its_own_name_and_random_numbers(world):
    def describe(comm):
        return comm.name, comm.rank, comm.size, int(comm.rng.integers(2**62))

    def start_two(comm):
        first, second = comm.start(describe), comm.start(describe)
        return describe(comm), second.wait(), first.wait()

    values = world(start_two, workers=3, seed=2).values
    for rank, found in enumerate(values):
        assert [each[:3] for each in found] == [
            ("world", rank, 3), ("world/start 2", rank, 3), ("world/start 1", rank, 3)
        ]  # fmt: skip
    assert len({each[3] for found in values for each in found}) == 9
    assert world(start_two, workers=3, seed=2).values == values


@pytest.mark.parametrize("rendezvous", [False, True])
def test_a_large_message_of_one_does_not_hold_up_a_small_one_of_the_other(world, rendezvous):
    def send_large(comm):
        if comm.rank == 0:
            comm.send(np.full(20 * BIG, 7.0), dst=1)
            return None
        return set(comm.recv(src=0).tolist())

    def small_first(comm):
        found = []
        for number in range(5):
            if comm.rank == 0:
                pending = comm.start(send_large)  # nobody receives it until the small one is there
                comm.send(np.array([number]), dst=1)
            else:
                found.append(int(comm.recv(src=0)[0]))
                pending = comm.start(send_large)
            found.append(pending.wait())
        return found

    found = world(small_first, rendezvous=rendezvous).values[1]
    assert found == [value for number in range(5) for value in (number, {7.0})]


def test_a_small_message_waits_in_one_while_a_large_one_passes_in_the_other(world):
    def small(comm):
        if comm.rank == 0:
            comm.send(np.array([5.0]), dst=1)
            return None
        return float(comm.recv(src=0)[0])

    def large_first(comm):
        if comm.rank == 0:
            comm.start(small)
            comm.send(np.full(20 * BIG, 7.0), dst=1)
            return None
        large = set(comm.recv(src=0).tolist())
        return large, comm.start(small).wait()

    assert world(large_first).values[1] == ({7.0}, 5.0)


def test_results_may_be_awaited_in_any_order_and_again(world):
    def many(comm):
        pending = [comm.start(swap, 10 * k + comm.rank) for k in range(6)]
        backwards = [pending[k].wait() for k in (5, 4, 3, 2, 1, 0)]
        return backwards, [each.wait() for each in pending]

    for rank, (backwards, again) in enumerate(world(many).values):
        assert again == [10.0 * k + 1 - rank for k in range(6)]
        assert backwards == again[::-1]


def test_arguments_and_result_are_not_copied(world):
    def change(comm, box):
        box.append(comm.rank)
        return box

    def same(comm):
        box = []
        pending = comm.start(change, box)
        return pending.wait() is box, pending.wait() is box, box

    assert world(same).values == [(True, True, [0]), (True, True, [1])]


def test_what_nobody_waits_for_is_done_before_the_run_is_over(world):
    def leave(comm):
        comm.start(long_talk)
        return comm.rank

    def long_talk(comm):
        for k in range(20):
            swap(comm, k)
        comm.note("done", comm.rank)

    result = world(leave)
    assert result.values == [0, 1]
    assert sorted(note.value for note in result.trace.notes) == [0, 1]
    assert result.trace.n_messages == 40


def test_two_communicators_may_start_in_different_orders_on_different_ranks(world):
    def cross(comm):
        pair = comm.split(0)
        if comm.rank == 0:
            first, second = pair.start(swap, 1), comm.start(swap, 2)
        else:
            second, first = comm.start(swap, 20), pair.start(swap, 10)
        return first.wait(), second.wait()

    result = world(cross)
    assert result.values == [(10.0, 20.0), (1.0, 2.0)]
    assert {m.comm for m in result.trace.messages} == {
        "world/start 1", "world/split 1 color 0/start 1"
    }  # fmt: skip


@pytest.mark.parametrize("rendezvous", [False, True])
def test_a_started_function_may_start_and_split_in_turn(world, rendezvous):
    def outer(comm):
        inner = comm.start(swap, comm.rank)
        pair = comm.split(comm.rank // 2) if comm.size > 2 else comm
        return swap(pair, 100 + comm.rank), inner.wait(), pair.name

    def outermost(comm):
        pending = comm.start(outer)
        return swap(comm, 1000 + comm.rank), pending.wait()

    def pairs(comm):
        return outermost(comm.split(comm.rank // 2))

    for rank, found in enumerate(world(pairs, workers=4, rendezvous=rendezvous).values):
        name = f"world/split 1 color {rank // 2}/start 1"
        other = 1 - rank % 2
        assert found == (1000.0 + other, (100.0 + other, float(other), name))


def test_one_started_function_may_wait_for_another(world):
    def add(comm, before, value):
        return before.wait() + swap(comm, value)

    def chain(comm):
        pending = comm.start(swap, comm.rank)
        for k in range(3):
            pending = comm.start(add, pending, 10 * k)
        return pending.wait()

    assert world(chain).values == [31.0, 30.0]


def test_a_barrier_of_a_child_is_not_one_of_its_parent(world):
    def meet(comm, log):
        comm.barrier()
        log.append("child")

    def both(comm):
        log = []
        if comm.rank == 0:
            pending = comm.start(meet, log)
            comm.barrier()
            pending.wait()
        else:
            comm.barrier()  # rank 0 is in the barrier of its child by now, perhaps
            comm.start(meet, log).wait()
        comm.barrier()
        return log

    assert world(both).values == [["child"], ["child"]]


def test_what_a_child_does_is_on_the_trace_under_its_rank(world):
    @collective
    def exchange(comm):
        swap(comm, 1)

    def work(comm):
        began = comm.clock()
        with comm.compute("in the child", flops=1e6):
            np.ones(1000).sum()
        comm.note("began", began)
        exchange(comm)
        return began, comm.clock()

    def main(comm):
        before = comm.clock()
        pending = comm.start(work)
        with comm.compute("in the rank", flops=1e6):
            np.ones(1000).sum()
        began, ended = pending.wait()
        return before <= began < ended <= comm.clock()

    result = world(main)
    assert result.values == [True, True]
    trace = result.trace
    assert sorted((c.rank, c.label) for c in trace.computes) == [
        (0, "in the child"), (0, "in the rank"), (1, "in the child"), (1, "in the rank")
    ]  # fmt: skip
    assert sorted(note.rank for note in trace.notes) == [0, 1]
    assert sorted((c.rank, c.name, c.comm) for c in trace.collectives) == [
        (0, "exchange", "world/start 1"), (1, "exchange", "world/start 1")
    ]  # fmt: skip


def test_a_split_in_a_child_names_ranks_of_the_whole_run(world):
    def talk(comm):
        return swap(comm.split(comm.rank % 2), comm.rank)

    def main(comm):
        return comm.start(talk).wait()

    result = world(main, workers=4)
    assert result.values == [2.0, 3.0, 0.0, 1.0]
    assert sorted((m.src, m.dst, m.comm) for m in result.trace.messages) == [
        (rank, rank ^ 2, f"world/start 1/split 1 color {rank % 2}") for rank in range(4)
    ]


def test_many_functions_may_be_started_one_after_the_other(world):
    def many(comm):
        return sum(comm.start(swap, k, 1 + k % 3).wait() for k in range(60))

    assert world(many).values == [sum(range(60))] * 2


def test_what_begins_after_another_finds_it_over(world):
    def note(comm, done, name, before):
        assert before <= set(done)
        swap(comm, comm.rank)  # so that another one could overtake it
        done.append(name)
        return name

    def chained(comm):
        done = []
        last = first = comm.start(note, done, "a", set())
        for name, before in (("b", {"a"}), ("c", {"a", "b"})):
            last = comm.start(note, done, name, before, after=last)
        beside = comm.start(note, done, "d", {"a"}, after=first)
        return last.wait(), beside.wait(), sorted(done)

    for values in world(chained).values:
        assert values == ("c", "d", ["a", "b", "c", "d"])


def test_after_must_be_what_start_returned(world):
    def wrong(comm):
        with pytest.raises(
            TypeError, match=r"after must be what start\(\) returned, or None, got 3"
        ):
            comm.start(swap, 1, after=3)
        return comm.start(swap, comm.rank).wait()  # the refused call does not count

    assert world(wrong).values == [1.0, 0.0]
