"""The ring: every contribution once, the bytes of the formula, and rings that only look right."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.comm.simulated.networks import Network

SIZES = range(1, 9)


def fingerprint(comm, length, dtype):
    """Rank r contributes (P + 1)^r: the sum, read in base P + 1, counts every rank's share."""
    return np.full(length, (comm.size + 1) ** comm.rank, dtype=dtype)


def times_counted(value, size):
    """Read a sum of fingerprints: how many times each rank is in it."""
    counts, rest = [], int(value)
    for _ in range(size):
        rest, digit = divmod(rest, size + 1)
        counts.append(digit)
    return counts


def test_the_fingerprint_tells_a_missing_and_a_doubled_rank():
    assert times_counted(1 + 5 + 25 + 125, 4) == [1, 1, 1, 1]
    assert times_counted(1 + 5 + 5 + 125, 4) == [1, 2, 0, 1]


def lengths(size):
    return sorted({0, 1, size - 1, size, size + 1, 3 * size, 3 * size + 2, 101})


def reduce_many(comm, cases):
    """Reduce fingerprints of all these lengths and dtypes, one after the other."""
    return [allreduce_ring(comm, fingerprint(comm, *case)) for case in cases]


@pytest.mark.parametrize("size", SIZES)
def test_every_contribution_is_counted_once(world, size):
    cases = list(itertools.product(lengths(size), ("f4", "f8", "i8")))
    if world.backend != "simulated":  # every length once, the dtypes by turns
        cases = list(zip(lengths(size), itertools.cycle(["f8", "i8", "f4"]), strict=False))
    for totals in world(reduce_many, cases, workers=size).values:
        for (length, dtype), total in zip(cases, totals, strict=True):
            assert total.shape == (length,)
            assert total.dtype == np.dtype(dtype)
            for value in set(total.tolist()):
                assert times_counted(value, size) == [1] * size


def reduce_numbers(comm):
    """Reduce random numbers with every op; return the bits, and the numbers that went in."""
    x = comm.rng.normal(size=(7, 3))
    whole = comm.rng.integers(-9, 9, size=11)
    found = {op: allreduce_ring(comm, x, op=op) for op in ("sum", "mean", "max", "min")}
    whole_found = {op: allreduce_ring(comm, whole, op=op) for op in ("sum", "max", "min")}
    return x, whole, found, whole_found


@pytest.mark.parametrize("size", SIZES)
def test_all_ops_agree_with_one_process_and_bit_for_bit_between_ranks(world, size):
    values = world(reduce_numbers, workers=size, seed=size).values
    inputs = np.array([x for x, *_ in values])
    whole = np.array([w for _, w, *_ in values])
    first, first_whole = values[0][2:]
    for _, _, found, whole_found in values:
        for op, result in found.items():
            assert result.tobytes() == first[op].tobytes()
        for op, result in whole_found.items():
            np.testing.assert_array_equal(result, first_whole[op])
    np.testing.assert_array_equal(first["max"], inputs.max(axis=0))
    np.testing.assert_array_equal(first["min"], inputs.min(axis=0))
    # The ring adds in another order than NumPy: a few units in the last place of numbers around 3.
    np.testing.assert_allclose(first["sum"], inputs.sum(axis=0), rtol=0, atol=2e-14)
    np.testing.assert_allclose(first["mean"], inputs.mean(axis=0), rtol=0, atol=2e-14)
    if size > 1:  # the likely mistake, sum for mean, would be far outside
        assert np.abs(first["sum"] - inputs.mean(axis=0)).max() > 2e-13
    np.testing.assert_array_equal(first_whole["sum"], whole.sum(axis=0))
    np.testing.assert_array_equal(first_whole["max"], whole.max(axis=0))


def reduce_layouts(comm):
    """Two dimensions, other memory orders, and results put where they are wanted."""
    base = np.arange(24.0).reshape(4, 6) * (comm.rank + 1)
    given = base.copy()
    for x in (base, base.T, base[:, ::-2], np.asfortranarray(base), base[1:3, 2:5]):
        before = x.copy()
        result = allreduce_ring(comm, x)
        assert result.shape == x.shape
        assert not np.shares_memory(result, x)
        np.testing.assert_array_equal(x, before)
        factor = comm.size * (comm.size + 1) / 2 / (comm.rank + 1)
        np.testing.assert_allclose(result, x * factor, rtol=1e-15)
        wide = np.full((*x.shape, 2), -1.0)
        assert allreduce_ring(comm, x, out=wide[..., 0]) is not None
        np.testing.assert_array_equal(wide[..., 0], result)
        assert (wide[..., 1] == -1).all()
    np.testing.assert_array_equal(base, given)
    out = np.zeros((4, 6))
    assert allreduce_ring(comm, base, out=out) is out
    total = allreduce_ring(comm, np.array(1.0))
    assert total.shape == ()
    assert total == comm.size
    in_place = allreduce_ring(comm, base, out=base)
    np.testing.assert_array_equal(in_place, out)
    return True


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("rendezvous", [False, True])
def test_any_layout_and_any_place_for_the_result(world, size, rendezvous):
    assert all(world(reduce_layouts, workers=size, rendezvous=rendezvous).values)


def test_a_mean_of_whole_numbers_is_refused(world):
    def refused(comm):
        texts = []
        for op, array in (("mean", np.arange(3)), ("average", np.zeros(3))):
            try:
                allreduce_ring(comm, array, op=op)
            except ValueError as error:
                texts.append(str(error))
        return texts

    for mean, unknown in world(refused).values:
        assert "op='mean' needs floating-point numbers, got dtype int64" in mean
        assert "op must be one of 'sum'" in unknown


def test_a_torch_tensor_in_gives_a_tensor_out(world):
    def reduce_tensor(comm):
        import torch

        result = allreduce_ring(comm, torch.full((5, 2), float(comm.rank)))
        assert isinstance(result, torch.Tensor)
        return result.tolist()

    assert world(reduce_tensor, workers=3).values == [[[3.0, 3.0]] * 5] * 3


@given(
    size=st.integers(1, 8),
    length=st.integers(0, 40),
    dtype=st.sampled_from(["f4", "f8", "i8", "i4", "u8"]),
    rendezvous=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_size_and_length(size, length, dtype, rendezvous):
    def reduce(comm):
        return allreduce_ring(comm, fingerprint(comm, length, dtype))

    result = run(reduce, workers=size, backend="simulated", rendezvous=rendezvous)
    for total in result.values:
        assert all(times_counted(value, size) == [1] * size for value in total.tolist())
    n_bytes = length * np.dtype(dtype).itemsize
    assert result.trace.n_messages == 2 * size * (size - 1)
    assert result.trace.n_bytes == 2 * (size - 1) * n_bytes


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
        assert times_counted(total[0], size) == [1] * size
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

    class Watched:
        """A communicator that looks at what is sent."""

        def __init__(self, comm):
            self.comm, self.rank, self.size, self.sent = comm, comm.rank, comm.size, []

        def clock(self):
            return self.comm.clock()

        def _collective(self, name, entered_s):
            self.comm._collective(name, entered_s)

        def sendrecv(self, array, **options):
            self.sent.append((options["tag"], sum(times_counted(array[0], size))))
            return self.comm.sendrecv(array, **options)

    def reduce(comm):
        watched = Watched(comm)
        allreduce_ring(watched, fingerprint(comm, 2 * size, "i8"))
        return watched.sent

    for rank, sent in enumerate(run(reduce, workers=size, backend="simulated").values):
        seen.append(sent)
        for step in range(size - 1):
            assert sent[step] == ((rank - step) % size, step + 1)
        assert [count for _, count in sent[size - 1 :]] == [size] * (size - 1)
    assert len(seen) == size
