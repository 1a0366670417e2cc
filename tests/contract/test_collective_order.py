"""All ranks must call a communicator's collectives in one order, with one set of options."""

import re
from functools import partial

import numpy as np
import pytest

from course_lib.collectives import (
    ALLREDUCES,
    allreduce_direct,
    allreduce_ring,
    allreduce_two_level,
    broadcast_tree,
    reduce_scatter_ring,
    reduce_tree,
)
from course_lib.comm.errors import CollectiveMismatchError, UnreceivedMessagesWarning
from tests.source_lines import line_of


def apart(world, fn, workers=2):
    with pytest.raises(CollectiveMismatchError) as raised:
        world(fn, workers=workers)
    text = str(raised.value)
    assert text.startswith("the collectives do not match: rank")
    return text


def broadcast_or_reduce(comm):
    if comm.rank == 0:
        return broadcast_tree(comm, np.zeros(2))  # rank 0
    return allreduce_ring(comm, np.zeros(2))  # rank 1


@pytest.mark.parametrize("name", [*ALLREDUCES, "reduce_scatter"])
def test_one_rank_with_another_operation_shape_or_dtype_is_told_by_every_algorithm(world, name):
    algorithm = ALLREDUCES.get(name, reduce_scatter_ring)
    if world.backend != "simulated" and name not in ("direct", "double_tree", "two_level"):
        pytest.skip("the simulator has told; here those that send in communicators of their own")

    def work(comm, other):
        x, op = np.arange(4.0), "sum"
        if comm.rank == 1:
            x, op = other(x), "max" if other is np.array else "sum"
        return algorithm(comm, x, op)

    for other, told in [
        (np.array, "op='max'"),
        (partial(np.reshape, shape=(2, 2)), "shape (2, 2)"),
        (np.float32, "dtype float32"),
    ]:
        assert told in apart(world, partial(work, other=other), workers=3)


def test_the_numbers_are_those_of_the_communicator_and_the_lines_those_of_the_calls(world):
    def work(comm):
        pair = comm.split(comm.rank // 2)
        for _ in range(3):
            allreduce_ring(comm, np.zeros(2))
        for _ in range(2):
            allreduce_ring(pair, np.zeros(2))
        if comm.rank < 2:
            broadcast_or_reduce(pair)

    text = apart(world, work, workers=4)
    pair = "on 'world/split 1 color 0'"
    assert f"rank 0 is in broadcast_tree #2 {pair}, rank 1 in allreduce_ring #2 {pair}" in text
    for rank, name in enumerate(["broadcast_tree", "allreduce_ring"]):
        place = line_of(broadcast_or_reduce, f"# rank {rank}")
        assert f"  rank {rank} called {name}, at {place}" in text


def test_a_started_function_has_collectives_of_its_own(world):
    def work(comm):
        pending = comm.start(broadcast_or_reduce)
        allreduce_ring(comm, np.zeros(2))
        pending.wait()

    text = apart(world, work)
    assert "rank 0 is in broadcast_tree #0 on 'world/start 1', rank 1 in allreduce_ring #0" in text


def test_of_nested_collectives_the_outermost_is_told(world):
    def work(comm):
        x = np.zeros(2)
        return allreduce_ring(comm, x) if comm.rank == 3 else allreduce_two_level(comm, x)

    text = apart(world, work, workers=4)
    assert "allreduce_two_level #0" in text
    assert "rank 3 in allreduce_ring #0" in text


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (lambda rank: {"op": ("sum", "max")[rank]}, ["op='max'", "op='sum'"]),
        (
            lambda rank: {"array": np.zeros([(2, 3), (3, 2)][rank])},
            ["shape (3, 2)", "shape (2, 3)"],
        ),
        (lambda rank: {"array": np.zeros(6, ["f8", "i8"][rank])}, ["dtype int64", "dtype float64"]),
    ],
)
def test_what_would_mix_unnoticed_is_an_error(world, option, told):
    def work(comm):
        options = {"array": np.zeros(6), **option(comm.rank)}
        return allreduce_ring(comm, **options)

    text = apart(world, work)
    for words in told:
        assert f"in allreduce_ring #0 with {words}" in text


def test_a_rank_that_catches_it_reads_at_least_its_own_options(world):
    def work(comm):
        try:
            allreduce_ring(comm, np.zeros([(3, 2), (2, 3)][comm.rank]))
        except CollectiveMismatchError as error:
            return str(error)

    for rank, text in enumerate(world(work).values):
        assert "rank 0 is in a" in text
        told = re.search(rf"rank {rank} (is )?in allreduce_ring #0 with (.*?)(, rank|:\n)", text)
        assert f"shape {[(3, 2), (2, 3)][rank]}" in told[2]


def test_messages_of_a_collective_do_not_mix_with_others(world):
    def work(comm):
        if comm.rank == 0:
            return allreduce_ring(comm, np.zeros(2))
        return comm.sendrecv(np.zeros(1), dst=0, src=0)

    assert "in allreduce_ring #0" in apart(world, work)


def test_large_messages_that_wait_for_each_other_are_told_as_two_collectives(world):
    def work(comm):
        x = np.zeros(100_000)
        return allreduce_ring(comm, x) if comm.rank else broadcast_tree(comm, x, root=1)

    assert "rank 0 is in broadcast_tree #0, rank 1 in allreduce_ring #0" in apart(world, work)


def test_a_collective_is_told_that_waits_for_what_it_has_started(world):
    def work(comm):
        if comm.rank == 0:
            allreduce_direct(comm, np.zeros(8))  # rank 0
        else:
            allreduce_ring(comm, np.zeros(8))  # rank 1

    text = apart(world, work)
    assert "rank 0 is in allreduce_direct #0, rank 1 in allreduce_ring #0" in text
    for rank, name in enumerate(["allreduce_direct", "allreduce_ring"]):
        assert f"rank {rank} called {name}, at {line_of(work, f'# rank {rank}')}" in text


def test_two_collectives_are_told_where_a_started_function_makes_a_shorter_circle(world):
    # Rank 1 waits for a message of rank 2's own, and rank 2's started function for rank 1. That
    # is a circle of ranks, but not of what waits for what: the one of all three is.
    def work(comm):
        pair = comm.split(None if comm.rank == 0 else 0)
        if comm.rank == 1:
            pair.recv(src=1)
        if pair is not None:
            pair.start(lambda beside: beside.barrier())
        ALLREDUCES["butterfly"](comm, np.zeros(2))

    text = apart(world, work, workers=3)
    assert "ranks 0 and 2 are in allreduce_butterfly #0, rank 1 in recv(src=2)" in text


def test_two_collectives_are_told_where_functions_of_others_make_a_shorter_circle(world):
    # What is started last on rank 3 is started first on the others: of its functions, the first
    # waits in the second's collective. Ranks 1 and 2 wait for each other, but not in the same.
    def swapped(comm):
        trees = comm.start(ALLREDUCES["double_tree"], np.zeros(8)) if comm.rank < 3 else None
        ring = comm.start(allreduce_ring, np.zeros(8), after=trees)
        if comm.rank == 3:
            comm.start(ALLREDUCES["double_tree"], np.zeros(8), after=ring)

    text = apart(world, swapped, workers=4)
    assert "in allreduce_double_tree #0 on 'world/start 1', rank 3 in allreduce_ring #0" in text


def test_two_collectives_are_told_where_one_also_waits_for_a_rank_that_has_returned(world):
    def work(comm):
        if comm.rank == 1:
            allreduce_ring(comm, np.zeros(2047, np.uint8))  # from rank 0 and to rank 2 at once
        elif comm.rank == 2:
            reduce_tree(comm, np.zeros(2047, np.uint8), op="min", root=4)

    with pytest.raises(CollectiveMismatchError, match=r"rank 1 is in .*, rank 2 in reduce_tree"):
        world(work, workers=5, rendezvous=True)


def test_what_is_said_in_other_words_is_no_other_collective(world):
    def work(comm):
        x, root = np.arange(4.0), 0
        if comm.rank == 0:
            sums = [allreduce_ring(comm, x), allreduce_ring(comm, x, "max", None)]
            root = np.int64(0)
        else:
            sums = [
                allreduce_ring(comm, array=x, op="sum"),
                allreduce_ring(comm, x[:], op="max"),
            ]
        largest = broadcast_tree(comm, reduce_tree(comm, x, root=root, op="max"), root)
        return [total.tolist() for total in (*sums, largest)]

    whole = np.arange(4.0)
    expected = [(2 * whole).tolist(), whole.tolist(), whole.tolist()]
    assert world(work).values == [expected] * 2


def test_who_has_never_started_a_function_is_in_no_collective_of_it(world):
    def work(comm):
        part = comm.split(color=comm.rank // 3)
        if part.rank == 0 < part.size - 1:
            part.start(lambda child: child.start(broadcast_tree, np.zeros(2)).wait())

    with pytest.warns(UnreceivedMessagesWarning) as told:
        world(work, workers=4)
    assert [str(warning.message).partition("; ")[2] for warning in told] == [
        "rank 0 was last in broadcast_tree #0 on 'world/split 1 color 0/start 1/start 1', "
        "ranks 1 and 2 in no collective"
    ]


def test_a_collective_that_was_refused_on_one_rank_does_not_put_it_out_of_step(world):
    def work(comm):
        if comm.rank == 1:
            for op in ("product", ["sum"]):
                with np.testing.assert_raises(ValueError):
                    allreduce_ring(comm, np.zeros(2), op)
            for wrong in ({}, {"array": [1.0]}):
                with np.testing.assert_raises(TypeError):
                    allreduce_ring(comm, **wrong)
        return [allreduce_ring(comm, np.ones(2)).tolist() for _ in range(2)]

    found = world(work)
    assert found.values == [[[2, 2]] * 2] * 2
    assert [c.number for c in found.trace.collectives if c.rank == 1] == [0, 1]


def test_more_shapes_than_are_kept_are_still_compared(world, monkeypatch):
    if world.backend != "simulated":
        pytest.skip("workers of their own cannot be given another limit")
    monkeypatch.setattr("course_lib.comm.collective_order._MOST_SITES", 3)

    def work(comm):
        for length in range(5):
            allreduce_ring(comm, np.zeros(length))
        return allreduce_ring(comm, np.zeros(7), op="sum" if comm.rank else "max")

    assert "in another collective, or in one with other options, #5" in apart(world, work)


@pytest.mark.parametrize("trace", [True, False])
def test_messages_that_nobody_received_tell_in_which_collectives_the_ranks_were(world, trace):
    def work(comm):
        broadcast_tree(comm, np.zeros(2), root=comm.rank % 2)

    words = (
        "4 unreceived messages: .*; ranks 0 and 2 were last in broadcast_tree #0 with root=0, "
        "ranks 1 and 3 in broadcast_tree #0 with root=1"
    )
    with pytest.warns(UnreceivedMessagesWarning, match=words):
        world(work, workers=4, trace=trace)


@pytest.mark.parametrize("trace", [True, False])
def test_so_they_do_where_a_started_function_left_them(world, trace):
    def beside(child):
        broadcast_tree(child, np.zeros(2), root=child.rank)

    def work(comm):
        comm.start(beside).wait()

    words = "2 unreceived messages: .* rank 0 was last in broadcast_tree #0 on 'world/start 1' with"
    with pytest.warns(UnreceivedMessagesWarning, match=words):
        world(work, workers=2, trace=trace)
