"""Watching a collective: whose numbers are where is read from a run, right or wrong."""

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import (
    ALLREDUCES,
    allgather_ring,
    allreduce_halving_doubling,
    allreduce_ring,
    allreduce_tree,
    broadcast_tree,
    reduce_scatter_ring,
)
from course_lib.viz.animation.build_scene import make_scene
from course_lib.watch import watch_collective


def at_the_end(contributions):
    """What each rank holds when all is over: by rank, then by chunk."""
    held = [list(chunks) for chunks in contributions.held]
    for fill in contributions.fills:
        held[fill.rank][fill.chunk] = fill.counts
    return held


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("name", ALLREDUCES)
def test_after_every_all_reduce_every_rank_holds_everybody_once(name, size):
    contributions = watch_collective(ALLREDUCES[name], workers=size, length=96).contributions
    assert set(contributions.goals) == {size}
    assert {counts for chunks in at_the_end(contributions) for counts in chunks} == {(1,) * size}
    assert all(contributions.carried), "every message carries contributions that can be read"


@pytest.mark.parametrize("size", [4, 16, 20])
def test_a_chunk_of_the_ring_has_one_contribution_more_in_every_step(size):
    """16 ranks take two runs of fingerprints, and 20 ranks two of another size."""
    watched = watch_collective(allreduce_ring, workers=size, length=size)
    for message, carried in zip(watched.trace.messages, watched.contributions.carried, strict=True):
        ((chunk, counts),) = carried.items()
        assert chunk == message.tag
        n_steps = (message.src - chunk) % size  # since it left its first owner
        if sum(counts) < size:
            travelled = [(chunk + step) % size for step in range(n_steps + 1)]
            assert [rank for rank in range(size) if counts[rank]] == sorted(travelled)
        assert max(counts) == 1


def test_chunks_are_as_fine_as_the_messages_cut_them():
    whole = watch_collective(allreduce_tree, workers=7).contributions
    halves = watch_collective(allreduce_halving_doubling, workers=4).contributions
    assert (len(whole.goals), len(halves.goals)) == (1, 4)
    assert sorted(map(len, halves.carried)) == [1] * 8 + [2] * 8, "halves first, then quarters"


def test_watching_changes_nothing_of_what_is_sent_and_when():
    def alone(comm, x):
        return ALLREDUCES["two_level"](comm, x)

    watched = watch_collective(alone, workers=6, length=60)
    plain = run(alone, np.ones(60), workers=6, backend="simulated").trace
    assert watched.trace.messages == plain.messages
    assert watched.trace.waits == plain.waits
    assert watched.trace.collectives == plain.collectives


def test_fills_come_with_the_messages_that_bring_them():
    watched = watch_collective(allreduce_ring, workers=4)
    received = {(m.dst, m.received_s) for m in watched.trace.messages}
    fills = watched.contributions.fills
    assert len(fills) == 24
    assert {(fill.rank, fill.time_s) for fill in fills} == received
    assert fills == sorted(fills, key=lambda fill: fill.time_s)


def test_gathering_and_sharing_have_one_contribution_a_chunk():
    gathered = watch_collective(allgather_ring, workers=4, brings="own").contributions
    owners = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
    assert gathered.goals == [1, 1, 1, 1]
    assert gathered.held[2] == [(0,) * 4, (0,) * 4, owners[2], (0,) * 4]
    assert at_the_end(gathered) == [owners] * 4
    shared = watch_collective(broadcast_tree, workers=3, brings="root").contributions
    assert shared.held == [[(1, 0, 0)], [(0, 0, 0)], [(0, 0, 0)]]
    assert at_the_end(shared) == [[(1, 0, 0)]] * 3


def test_a_reduce_scatter_completes_one_chunk_a_rank():
    end = at_the_end(watch_collective(reduce_scatter_ring, workers=4).contributions)
    assert [[sum(counts) for counts in chunks].count(4) for chunks in end] == [1] * 4
    assert all(end[rank][rank] == (1, 1, 1, 1) for rank in range(4))


# What learners write, and what they see of it.


def central(comm, x, *, skip=None, twice=None):
    """Rank 0 adds up and sends back; it may forget one rank, or add one twice."""
    total = x.copy()
    if comm.rank == 0:
        for src in range(1, comm.size):
            part = comm.recv(src)
            total += 0 if src == skip else part + part if src == twice else part
        for dst in range(1, comm.size):
            comm.send(total, dst)
        return total
    comm.send(x, 0)
    return comm.recv(0)


def test_what_was_received_and_forgotten_is_missing_in_the_end():
    contributions = watch_collective(lambda comm, x: central(comm, x, skip=2)).contributions
    zero = [fill.counts for fill in contributions.fills if fill.rank == 0]
    assert zero[2] == (1, 1, 1, 1), "it did reach rank 0"
    assert at_the_end(contributions) == [[(1, 1, 0, 1)]] * 4
    assert contributions.goals == [4], "three of four do not make a chunk complete"


def test_what_was_added_twice_is_told():
    watched = watch_collective(lambda comm, x: central(comm, x, twice=3))
    assert at_the_end(watched.contributions) == [[(1, 1, 1, 2)]] * 4
    assert watched.contributions.carried[-1] == {0: (1, 1, 1, 2)}
    loads = watched.player().scene["loads"]
    assert "a sum in which rank 3 counts twice" in [words for words, _ in loads]

    zero = [fill for fill in watched.contributions.fills if fill.rank == 0]
    assert zero[-1].time_s == watched.trace.messages[-3].posted_s, "as soon as it is sent on"


def test_a_message_of_something_else_spoils_nothing():
    def with_sizes(comm, x):
        left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        comm.sendrecv(np.array([len(x) + 0.5]), dst=right, src=left)
        return allreduce_ring(comm, x)

    watched = watch_collective(with_sizes, workers=4)
    assert at_the_end(watched.contributions) == [[(1, 1, 1, 1)] * 4] * 4
    assert all(fill.counts is not None for fill in watched.contributions.fills)
    assert watched.player().scene["loads"][0] == ["contributions that cannot be told apart", ""]


def test_numbers_that_are_no_sum_are_not_taken_for_one():
    def mean(comm, x):
        return allreduce_ring(comm, x) / comm.size

    end = at_the_end(watch_collective(mean, workers=4).contributions)
    assert {counts for chunks in end for counts in chunks} == {None}

    def backwards(comm, x):
        return central(comm, x if comm.rank != 2 else x[::-1].copy())

    end = at_the_end(watch_collective(backwards, workers=4, length=8).contributions)
    assert {counts for chunks in end for counts in chunks} == {None}, "places were mixed up"


def test_posted_messages_are_watched_too():
    def posted(comm, x):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        going, coming = comm.isend(x, right), comm.irecv(left)
        second = comm.sendrecv(x, right, left)  # behind the one that is awaited
        going.wait()
        return coming.wait() + second

    watched = watch_collective(posted, workers=4, length=8)
    left = [[tuple(2 * (rank == (me - 1) % 4) for rank in range(4))] for me in range(4)]
    assert at_the_end(watched.contributions) == left
    assert len(watched.contributions.carried) == 8


def test_what_runs_beside_a_rank_is_watched_too():
    def beside(comm, x):
        return comm.start(allreduce_ring, x).wait()

    contributions = watch_collective(beside, workers=4, length=8).contributions
    assert contributions.carried == watch_collective(allreduce_ring, length=8).contributions.carried


def test_rendezvous_and_any_length_can_be_watched():
    for length in (0, 1, 3, 10):
        watched = watch_collective(allreduce_ring, workers=4, length=length, rendezvous=True)
        held = at_the_end(watched.contributions)
        assert {counts for chunks in held for counts in chunks} <= {(1, 1, 1, 1)}
        assert watched.player().scene["size"] == 4


def test_a_way_to_bring_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"brings must be one of .* got 'nothing'"):
        watch_collective(allreduce_ring, brings="nothing")


@pytest.mark.parametrize("workers", [0, -1, 1_025, 2.0, "a"])
def test_workers_that_cannot_be_are_refused_before_anything_is_marked(workers):
    with pytest.raises((TypeError, ValueError), match=r"workers must be an int from 1 to 1,024, g"):
        watch_collective(allreduce_ring, workers=workers)


def test_what_ran_on_a_torus_stands_on_its_grid():
    network = networks.torus(networks.ethernet_10g, rows=3, columns=3)
    watched = watch_collective(allreduce_ring, workers=9, length=9, network=network)
    on_grid = make_scene(watched.trace, columns=3).places
    assert watched.player().scene["places"] == watched.player("grid").scene["places"]
    assert watched.player().scene["layout"] == "grid"
    assert watched.player().scene["places"] == [list(spot) for spot in on_grid]
    assert watched.player("grid", columns=9).scene["places"] != watched.player().scene["places"]
    assert watched.player("ring").scene["layout"] == "ring"
    assert watched.player(hosts=[range(4), range(4, 9)]).scene["layout"] == "hosts"
    assert watched.filmstrip().axes
    elsewhere = watch_collective(allreduce_ring, workers=9, length=9)
    assert elsewhere.player().scene["layout"] == "ring"


def test_a_watched_run_shows_itself():
    watched = watch_collective(allreduce_ring, workers=4, length=8)
    assert repr(watched) == "Watched(allreduce_ring, 4 ranks: 24 messages, 384 bytes)"
    alone = watch_collective(allreduce_ring, workers=1, length=3)
    assert repr(alone) == "Watched(allreduce_ring, 1 rank: 0 messages, 0 bytes)"
    data, _ = watched._repr_mimebundle_()
    assert {"text/plain", "image/png"} <= set(data)
    assert watched.player("grid").scene["layout"] == "grid"
    assert "4 of 4" in " ".join(
        text.get_text() for axes in watched.filmstrip().axes for text in axes.texts
    ).replace("\n", " ")
