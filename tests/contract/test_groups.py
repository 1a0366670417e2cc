"""``split``: groups of ranks with communicators of their own, in every world."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.collective import collective
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import MessageMismatchError, WorkerError

BIG = EAGER_BYTES // 8 + 1  # float64 elements that do not fit an eager message


def swap(comm, value):
    """Give a number to the partner in a pair; return what the partner gave."""
    other = 1 - comm.rank
    return float(comm.sendrecv(np.array([float(value)]), dst=other, src=other)[0])


def test_ranks_of_one_color_form_a_group_ordered_by_key_and_rank(world):
    def divide(comm, color, key):
        part = comm.split(color[comm.rank], key[comm.rank])
        return None if part is None else (part.name, part.rank, part.size)

    color = [7, -1, 7, None, 7, -1]
    key = [2, 0, -5, 0, 2, 0]
    assert world(divide, color, key, workers=6).values == [
        ("world/split 1 color 7", 1, 3),
        ("world/split 1 color -1", 0, 2),
        ("world/split 1 color 7", 0, 3),  # the smallest key comes first
        None,
        ("world/split 1 color 7", 2, 3),  # equal keys keep their order
        ("world/split 1 color -1", 1, 2),
    ]


def test_a_key_alone_renumbers_everybody(world):
    def turn_round(comm):
        turned = comm.split(color=0, key=-comm.rank)
        right, left = (turned.rank + 1) % turned.size, (turned.rank - 1) % turned.size
        from_left = turned.sendrecv(np.array([comm.rank]), dst=right, src=left)
        return turned.rank, int(from_left[0])

    values = world(turn_round, workers=3).values
    assert values == [(2, 1), (1, 2), (0, 0)]  # in the new order 2 -> 1 -> 0 -> 2


def test_groups_can_be_used_at_the_same_time(world):
    def talk(comm):
        half = comm.split(comm.rank // 2)
        for _ in range(10 * (comm.rank // 2) + 1):  # one group goes on much longer
            found = swap(half, comm.rank)
        half.barrier()
        comm.barrier()
        return found

    assert world(talk, workers=4).values == [1.0, 0.0, 3.0, 2.0]


def test_rows_and_columns_of_a_grid(world):
    def on_a_grid(comm):
        row, column = comm.split(comm.rank // 2), comm.split(comm.rank % 2)
        return [
            swap(row, comm.rank), swap(column, comm.rank), swap(row, -comm.rank),
            swap(column, -comm.rank), row.name, column.name,
        ]  # fmt: skip

    result = world(on_a_grid, workers=4)
    for rank, found in enumerate(result.values):
        beside, below = rank ^ 1, rank ^ 2
        assert found[:4] == [beside, below, -beside, -below]
        assert found[4:] == [
            f"world/split 1 color {rank // 2}", f"world/split 2 color {rank % 2}"
        ]  # fmt: skip
    trace = result.trace
    pairs = {m.comm: set() for m in trace.messages}
    for message in trace.messages:  # with the ranks of the whole run
        pairs[message.comm].add((message.src, message.dst))
    assert pairs == {
        "world/split 1 color 0": {(0, 1), (1, 0)}, "world/split 1 color 1": {(2, 3), (3, 2)},
        "world/split 2 color 0": {(0, 2), (2, 0)}, "world/split 2 color 1": {(1, 3), (3, 1)},
    }  # fmt: skip
    assert trace.bytes_sent() == [32] * 4
    assert trace.bytes_received() == [32] * 4


def test_a_group_is_on_the_trace_with_ranks_of_the_whole_run(world):
    @collective
    def exchange(comm):
        if comm.rank == 1:
            with comm.compute("late", flops=1e9):
                time.sleep(0.05)
        swap(comm, 1)

    def work(comm):
        half = comm.split(comm.rank // 2)
        exchange(half)
        half.note("name", half.name)

    trace = world(work, workers=4).trace
    names = [f"world/split 1 color {rank // 2}" for rank in range(4)]
    assert sorted((c.rank, c.label) for c in trace.computes) == [(1, "late"), (3, "late")]
    assert sorted((n.rank, n.value) for n in trace.notes) == list(enumerate(names))
    assert sorted((c.rank, c.comm) for c in trace.collectives) == list(enumerate(names))
    waits = {(w.rank, w.peer, w.comm) for w in trace.waits if w.verb == "sendrecv"}
    assert {(0, 1, names[0]), (2, 3, names[2])} <= waits  # for the late ones


@pytest.mark.parametrize("received_first", ["split", "world"])
def test_messages_of_two_communicators_never_mix(world, received_first):
    def both(comm):
        pair = comm.split(0)
        if comm.rank == 0:
            for number in range(3):
                pair.send(np.array([100 + number]), dst=1, tag=number)
                comm.send(np.array([number]), dst=1, tag=number)
            return None
        order = [pair, comm] if received_first == "split" else [comm, pair]
        return [int(c.recv(src=0, tag=k)[0]) for c in order for k in range(3)]

    found = world(both).values[1]
    assert found == ([100, 101, 102, 0, 1, 2] if received_first == "split" else [
        0, 1, 2, 100, 101, 102
    ])  # fmt: skip


def test_recv_any_hears_its_own_communicator_alone(world):
    def gather(comm):
        part = comm.split(int(comm.rank == 1))  # rank 1 is alone
        if comm.rank == 1:
            comm.send(np.array([1]), dst=0)
        elif comm.rank > 1:
            part.send(np.array([comm.rank]), dst=0)
        comm.barrier()  # everything is there
        if comm.rank > 0:
            return None
        in_part = sorted((src, int(array[0])) for src, array in (part.recv_any(), part.recv_any()))
        return in_part, int(comm.recv(src=1)[0])

    assert world(gather, workers=4).values[0] == ([(1, 2), (2, 3)], 1)


def nobody_else(comm):
    """Call ``recv_any`` where a rank is alone, while the other groups work."""
    said = []

    def try_it(alone):
        try:
            alone.recv_any()
        except ValueError as error:
            said.append(str(error))

    group = comm.split(comm.rank // 2)
    if group.size == 1:
        try_it(group)
        group.start(try_it).wait()
    else:
        group.barrier()
    try_it(comm.split(comm.rank))
    return said


def test_recv_any_is_refused_where_a_rank_is_alone(world):
    for workers in (1, 3):
        *_, said = world(nobody_else, workers=workers).values
        names = ["split 1 color", "start 1", "split 2 color"]
        for text, name in zip(said, names, strict=True):
            assert "recv_any() has nobody to receive from" in text
            assert name in text


def test_a_split_can_be_split_again(world):
    def halve(comm):
        names, part = [], comm
        while part.size > 1:
            part = part.split(part.rank // (part.size // 2))
            names.append(part.name)
        return names

    values = world(halve, workers=4).values
    assert values[3] == ["world/split 1 color 1", "world/split 1 color 1/split 1 color 1"]
    assert len({tuple(names) for names in values}) == 4


def test_a_barrier_of_a_group_waits_for_the_group_alone(world):
    def meet(comm):
        pair = comm.split(comm.rank // 2)
        if comm.rank < 2:
            pair.barrier()  # rank 2 is not in its barrier before rank 0 has left this one
        if comm.rank == 0:
            comm.send(np.ones(1), dst=2)
        if comm.rank == 2:
            comm.recv(src=0)
        if comm.rank >= 2:
            entered = comm.clock()
            pair.barrier()
            return entered, comm.clock()
        return None

    values = world(meet, workers=4).values
    last_entry = max(values[2][0], values[3][0])
    assert values[2][1] >= last_entry
    assert values[3][1] >= last_entry


def test_a_split_counts_as_no_message_and_no_rank_leaves_it_before_all_have_come(world):
    def late(comm):
        with comm.compute("late", flops=1e8 * comm.rank):
            np.ones(100_000 * comm.rank).sum()
        entered = comm.clock()
        comm.split(0)
        return entered, comm.clock()

    result = world(late, workers=3)
    last_entry = max(entered for entered, _ in result.values)
    assert all(left >= last_entry for _, left in result.values)
    assert result.trace.n_messages == 0


def test_a_split_has_random_numbers_of_its_own(world):
    def draw(comm):
        part = comm.split(0)
        return [int(c.rng.integers(2**62)) for c in (comm, part)]

    first, again = world(draw, seed=3).values, world(draw, seed=3).values
    assert first == again
    assert len({number for numbers in first for number in numbers}) == 4


def test_a_mismatch_in_a_group_names_ranks_of_the_whole_run(world):
    def mismatched(comm):
        part = comm.split(comm.rank // 2)
        if comm.rank == 2:
            part.send(np.zeros(3), dst=1)
        if comm.rank == 3:
            part.recv(src=0, out=np.zeros(4))

    with pytest.raises(MessageMismatchError, match="rank 2 sent") as raised:
        world(mismatched, workers=4)
    assert "rank 3 receives" in str(raised.value)
    assert "world/split 1 color 1" in str(raised.value)
    assert raised.value.rank == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("red",), "color must be an int or None, got 'red'"),
        ((True,), "color must be an int or None, got True"),
        ((0, 1.5), "key must be an int, got 1.5"),
        ((0, None), "key must be an int, got None"),
    ],
)
def test_unusable_colors_and_keys_are_refused(arguments, words):
    with pytest.raises(WorkerError, match=words):
        run(lambda comm: comm.split(*arguments), workers=1, backend="simulated")


colors = st.lists(st.one_of(st.none(), st.integers(-2, 2)), min_size=1, max_size=7)


@given(colors, st.data())
@settings(max_examples=40, deadline=None)
def test_any_colors_and_keys_give_what_sorting_gives(colors, data):
    keys = data.draw(st.lists(st.integers(-3, 3), min_size=len(colors), max_size=len(colors)))

    def divide(comm):
        part = comm.split(colors[comm.rank], keys[comm.rank])
        if part is None:
            return None
        if part.size > 1 and part.rank == 0:
            for dst in range(1, part.size):
                part.send(np.array([comm.rank]), dst=dst)
        first = comm.rank if part.rank == 0 else int(part.recv(src=0)[0])
        return part.rank, part.size, first

    found = run(divide, workers=len(colors), backend="simulated", rendezvous=True).values
    for rank, color in enumerate(colors):
        group = sorted((keys[r], r) for r, other in enumerate(colors) if other == color)
        expected = (group.index((keys[rank], rank)), len(group), group[0][1])
        assert found[rank] == (None if color is None else expected)


def test_collectives_are_counted_for_each_communicator(world):
    def work(comm):
        pair = comm.split(comm.rank // 2)
        for group in (comm, pair, pair, comm, pair):
            allreduce_ring(group, np.ones(2))

    trace = world(work, workers=4).trace
    for rank in range(4):
        counted = [(c.comm == "world", c.number) for c in trace.collectives if c.rank == rank]
        assert counted == [(True, 0), (False, 0), (False, 1), (True, 1), (False, 2)]
