"""The ring: the bytes of the formula, and rings that only look right."""

from fractions import Fraction

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import allreduce_ring
from course_lib.comm.simulated.networks import Network
from course_lib.trace.fingerprint import counts, weight


def fingerprint(comm, length, dtype):
    return np.full(length, weight(comm.rank, comm.size), dtype=dtype)


# Other "rings" from the web. Both give the right sums; only their bytes tell them apart.


def unchunked_ring(comm, x):
    """Send the whole vector N - 1 times to the right, and add all that comes from the left."""
    total, passing = x.copy(), x.copy()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dst=right, src=left)
        total += passing
    return total


def two_phases_of_whole_vectors(comm, x):
    """Go round the ring twice, as the real one does, but with all of the vector every time."""
    total = unchunked_ring(comm, x)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(comm.size - 1):
        total = comm.sendrecv(total, dst=right, src=left)
    return total


def costs(trace, n_bytes):
    """Count rounds, messages and, in vectors, all bytes and those that the busiest rank sends."""
    return (
        trace.rounds(),
        trace.n_messages,
        Fraction(trace.n_bytes, n_bytes),
        Fraction(max(trace.bytes_sent()), n_bytes),
    )


TABLE = {
    (allreduce_ring, 4): (6, 24, 6, Fraction(3, 2)),
    (allreduce_ring, 7): (12, 84, 12, Fraction(12, 7)),
    (allreduce_ring, 8): (14, 112, 14, Fraction(7, 4)),
    (unchunked_ring, 4): (3, 12, 12, 3),
    (unchunked_ring, 8): (7, 56, 56, 7),
    (two_phases_of_whole_vectors, 4): (6, 24, 24, 6),
    (two_phases_of_whole_vectors, 8): (14, 112, 112, 14),
}


@pytest.mark.parametrize(("ring", "size"), TABLE, ids=lambda v: getattr(v, "__name__", str(v)))
def test_rounds_messages_and_bytes_are_exactly_the_tables(ring, size):
    length = 56  # divisible by 4, 7 and 8

    def reduce(comm):
        return ring(comm, fingerprint(comm, length, "f8"))

    result = run(reduce, workers=size, backend="simulated")
    for total in result.values:
        assert counts(total[0], size) == [1] * size
    assert costs(result.trace, 8 * length) == TABLE[ring, size]


@pytest.mark.parametrize("size", [4, 7])
def test_real_processes_send_the_same(world, size):
    def reduce(comm):
        return allreduce_ring(comm, np.ones(56))

    trace = world(reduce, workers=size).trace
    assert costs(trace, 8 * 56)[1:] == TABLE[allreduce_ring, size][1:]
    assert trace.bytes_sent() == trace.bytes_received() == [2 * (size - 1) * 8 * 56 // size] * size
    assert [(c.rank, c.name) for c in sorted(trace.collectives)] == [
        (rank, "allreduce_ring") for rank in range(size)
    ]
    assert {(m.src, m.dst) for m in trace.messages} == {(r, (r + 1) % size) for r in range(size)}
    assert {m.tag for m in trace.messages} == set(range(size))  # the chunk's number


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8])
@pytest.mark.parametrize(
    "network",
    [networks.ethernet_1g, networks.ethernet_100g, Network("odd", 3.3e-4, 7.7e6, 1e9)],
    ids=lambda network: network.name,
)
def test_virtual_time_is_the_closed_form_and_tells_wrong_rings_apart(network, size):
    length = 840 * 50  # divisible by all sizes

    def time_of(ring):
        def reduce(comm):
            ring(comm, np.ones(length))

        return run(reduce, workers=size, backend="simulated", network=network).elapsed_s

    n_bytes, rounds = 8 * length, 2 * (size - 1)
    beta = network.beta_s_per_byte
    expected = rounds * network.latency_s + beta * n_bytes * rounds / size
    assert abs(time_of(allreduce_ring) - expected) <= 1e-9 * expected
    if size > 2:  # with two ranks the unchunked ring has the same bytes in fewer rounds
        for wrong in (unchunked_ring, two_phases_of_whole_vectors):
            assert abs(time_of(wrong) - expected) >= 1e-8 * expected


def test_the_invariant_of_the_docstring_holds_step_by_step():
    """Before step s of the first half, the chunk that leaves holds s + 1 contributions."""
    size = 5
    seen = []

    def reduce(comm):
        sent, sendrecv = [], comm.sendrecv

        def watched(array, **options):
            sent.append((options["tag"], sum(counts(array[0], size))))
            return sendrecv(array, **options)

        comm.sendrecv = watched
        allreduce_ring(comm, fingerprint(comm, 2 * size, "i8"))
        return sent

    for rank, sent in enumerate(run(reduce, workers=size, backend="simulated").values):
        seen.append(sent)
        for step in range(size - 1):
            assert sent[step] == ((rank - step) % size, step + 1)
        assert [count for _, count in sent[size - 1 :]] == [size] * (size - 1)
    assert len(seen) == size
