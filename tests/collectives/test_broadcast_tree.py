"""The tree: everybody gets the root's array, in ceil(log2 P) rounds and P - 1 messages."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.collectives import broadcast_tree
from course_lib.comm.simulated.networks import Network

SIZES = range(1, 9)


def broadcast_many(comm):
    """Broadcast arrays of all kinds from every root; others hand in nothing, or something else."""
    rng = np.random.default_rng(1)
    for root in {0, comm.size // 2}:  # below, the simulator takes every root
        for array in (
            rng.normal(size=101), rng.normal(size=(3, 4)).T, np.zeros(0), np.array(2.5),
            rng.integers(0, 9, size=7), rng.normal(size=5).astype("f4"), rng.normal(size=8)[::-2],
        ):  # fmt: skip
            before = array.copy()
            result = broadcast_tree(comm, array if comm.rank == root else None, root=root)
            assert result.shape == array.shape
            assert result.dtype == array.dtype
            np.testing.assert_array_equal(result, before)
            result[...] = -1  # one's own copy, on the root too
            np.testing.assert_array_equal(array, before)
            out = np.full(array.shape, -1).astype(array.dtype)
            other = array if comm.rank == root else np.full(array.shape, 99)
            assert broadcast_tree(comm, other, root=root, out=out) is out
            np.testing.assert_array_equal(out, before)
    return True


@pytest.mark.parametrize("size", SIZES)
def test_everybody_gets_the_roots_array(world, size):
    assert world(broadcast_many, workers=size).values == [True] * size


def one_broadcast(comm, root, length):
    result = broadcast_tree(
        comm, np.arange(float(length)) if comm.rank == root else None, root=root
    )
    return result.tolist()


@given(st.integers(1, 20), st.integers(0, 19), st.integers(0, 30), st.booleans())
@settings(max_examples=60, deadline=None)
def test_rounds_messages_and_bytes_are_the_docstrings(size, root, length, rendezvous):
    root %= size
    result = run(
        one_broadcast, root, length, workers=size, backend="simulated", rendezvous=rendezvous
    )
    assert result.values == [list(range(length))] * size
    rounds = math.ceil(math.log2(size))
    trace = result.trace
    assert trace.n_messages == size - 1
    assert trace.n_bytes == (size - 1) * 8 * length
    assert trace.bytes_sent()[root] == rounds * 8 * length
    assert trace.messages_received() == [int(rank != root) for rank in range(size)]
    assert depth(trace, root) <= rounds


def depth(trace, root):
    """Count the edges from the root to the rank that is farthest away."""
    parent = {message.dst: message.src for message in trace.messages}

    def of(rank):
        return 0 if rank == root else 1 + of(parent[rank])

    return max(of(rank) for rank in range(trace.size))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 16])
def test_virtual_time_is_that_of_the_longest_path(size):
    network = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)
    result = run(one_broadcast, 0, 1, workers=size, backend="simulated", network=network)
    # A parent's k-th message leaves (k-1) * 8 s after its first: the last child of the root hears
    # after 8 s a child and one latency, the deepest rank after one latency and 8 s a level.
    levels = math.ceil(math.log2(size))
    arrivals = {0: 0.0}
    for rank in range(1, size):
        lowest = rank & -rank
        parent, distance = rank - lowest, lowest
        limit = parent & -parent if parent else 2**levels
        first = limit // 2
        while parent + first >= size:
            first //= 2
        nth = int(math.log2(first // distance)) + 1
        arrivals[rank] = arrivals[parent] + 8 * nth + 10
    assert result.elapsed_s == max(arrivals.values())
    flat = 10.0 + 8 * (size - 1)  # the likely mistake: the root sends to everybody
    assert size < 4 or abs(flat - result.elapsed_s) >= 1.0
