"""The table of the course, as fractions; what only looks like it differs in its bytes."""

from fractions import Fraction

import numpy as np
import pytest

from course_lib import run
from course_lib.costs import crossover, price
from course_lib.trace.fingerprint import counts
from tests.collectives.test_allreduce_ring import (
    fingerprint,
    two_phases_of_whole_vectors,
    unchunked_ring,
)
from tests.costs.cases import counted, function, told

LENGTH = 840  # divisible by 4, 7 and 8
N_BYTES = 8 * LENGTH

# rounds, messages, and in vectors: bytes in all, of the busiest sender, in turn on a round's NIC
TABLE = {
    ("allreduce_central", 4): (2, 6, Fraction(6), Fraction(3), Fraction(6)),
    ("allreduce_central", 8): (2, 14, Fraction(14), Fraction(7), Fraction(14)),
    ("allreduce_direct", 4): (2, 24, Fraction(6), Fraction(3, 2), Fraction(3, 2)),
    ("allreduce_direct", 8): (2, 112, Fraction(14), Fraction(7, 4), Fraction(7, 4)),
    ("allreduce_tree", 7): (4, 12, Fraction(12), Fraction(3), Fraction(8)),
    ("allreduce_butterfly", 4): (2, 8, Fraction(8), Fraction(2), Fraction(2)),
    ("allreduce_butterfly", 8): (3, 24, Fraction(24), Fraction(3), Fraction(3)),
    ("allreduce_halving_doubling", 4): (4, 16, Fraction(6), Fraction(3, 2), Fraction(3, 2)),
    ("allreduce_halving_doubling", 8): (6, 48, Fraction(14), Fraction(7, 4), Fraction(7, 4)),
    ("allreduce_ring", 4): (6, 24, Fraction(6), Fraction(3, 2), Fraction(3, 2)),
    ("allreduce_ring", 7): (12, 84, Fraction(12), Fraction(12, 7), Fraction(12, 7)),
    ("allreduce_ring", 8): (14, 112, Fraction(14), Fraction(7, 4), Fraction(7, 4)),
}
WRONG_RINGS = {
    (unchunked_ring, 4): (3, 12, Fraction(12), Fraction(3), Fraction(3)),
    (unchunked_ring, 8): (7, 56, Fraction(56), Fraction(7), Fraction(7)),
    (two_phases_of_whole_vectors, 4): (6, 24, Fraction(24), Fraction(6), Fraction(6)),
    (two_phases_of_whole_vectors, 8): (14, 112, Fraction(112), Fraction(14), Fraction(14)),
}


def traced(collective, size, **network):
    """Run a collective on fingerprints; every rank must have counted everybody once."""

    def reduce(comm):
        return collective(comm, fingerprint(comm, LENGTH, "f8"))

    result = run(reduce, workers=size, backend="simulated", **network)
    for total in result.values:
        assert counts(total[0], size) == [1] * size
    return result


def row_of(collective, size):
    """Measure a row of the table on the simulator."""
    from course_lib.comm.simulated.networks import Network

    trace = traced(collective, size).trace
    bytes_only = traced(collective, size, network=Network("bytes", 0.0, 1.0, 1.0))
    return (
        trace.rounds(),
        trace.n_messages,
        Fraction(trace.n_bytes, N_BYTES),
        Fraction(max(trace.bytes_sent()), N_BYTES),
        Fraction(round(bytes_only.elapsed_s), N_BYTES),  # a byte a second
    )


@pytest.mark.parametrize(("name", "size"), TABLE)
def test_simulator_and_closed_form_give_the_table(name, size):
    found = price(name, size, N_BYTES, 8)
    told_ = (
        found.rounds, found.messages, Fraction(found.total_bytes, N_BYTES),
        Fraction(max(found.bytes_sent), N_BYTES), Fraction(found.serial_bytes, N_BYTES),
    )  # fmt: skip
    assert told_ == row_of(function(name), size) == TABLE[name, size]


@pytest.mark.parametrize(("ring", "size"), WRONG_RINGS, ids=lambda v: getattr(v, "__name__", v))
def test_rings_of_whole_vectors_sum_right_and_cost_what_the_table_says(ring, size):
    assert row_of(ring, size) == WRONG_RINGS[ring, size]
    assert row_of(ring, size)[2:] != TABLE["allreduce_ring", size][2:]


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_server_ring_and_halving_move_equally_much_and_spread_it_differently(size):
    names = ("allreduce_central", "allreduce_direct", "allreduce_halving_doubling")
    prices = [price(name, size, N_BYTES, 8) for name in (*names, "allreduce_ring")]
    assert {found.total_bytes for found in prices} == {2 * (size - 1) * N_BYTES}
    assert max(prices[0].bytes_sent) == (size - 1) * N_BYTES
    evenly = Fraction(2 * (size - 1), size) * N_BYTES
    assert [max(found.bytes_sent) for found in prices[2:]] == [round(evenly)] * 2


def test_crossovers_are_the_known_ones_and_follow_the_general_formula():
    assert crossover("allreduce_butterfly", "allreduce_ring", 4) == 8
    assert crossover("allreduce_butterfly", "allreduce_ring", 8) == Fraction("8.8")
    for exponent in range(2, 11):
        size = 2**exponent
        by_hand = (2 * (size - 1) - exponent) / (exponent - Fraction(2 * (size - 1), size))
        assert crossover("allreduce_butterfly", "allreduce_ring", size) == by_hand


def test_at_the_crossover_the_simulator_takes_equally_long_and_beside_it_not():
    from course_lib.comm.simulated.networks import Network

    network = Network("crossing", 105.0 * 8, 1.0, 1.0)  # alpha / beta: 840 bytes
    at = 8 * 840  # bytes at which 4 ranks take equally long
    assert crossover("allreduce_butterfly", "allreduce_ring", 4) * 840 == at
    times = {}
    for length in (LENGTH // 2, LENGTH, 2 * LENGTH):
        for name in ("allreduce_butterfly", "allreduce_ring"):

            def reduce(comm, name=name, length=length):
                function(name)(comm, np.ones(length))

            result = run(reduce, workers=4, backend="simulated", network=network)
            times[name, length] = result.elapsed_s
    butterfly, ring = ([t for (n, _), t in times.items() if n.endswith(x)] for x in ("fly", "ring"))
    assert butterfly[0] < ring[0]
    assert butterfly[1] == pytest.approx(ring[1], rel=1e-12)
    assert butterfly[2] > ring[2]


def test_where_there_is_no_crossover_it_says_so():
    assert crossover("allreduce_butterfly", "allreduce_ring", 2) is None
    assert crossover("allreduce_ring", "allreduce_halving_doubling", 8) == 0
    with pytest.raises(ValueError, match="allreduce_double_tree has no closed form with 4 ranks"):
        crossover("allreduce_double_tree", "allreduce_ring", 4)


# What gives the right sums and is not what its name says. Only messages and bytes tell.


def tree_in_which_all_send_to_the_root(comm, x):
    return function("allreduce_central")(comm, x)


def direct_with_whole_vectors(comm, x):
    total = x.copy()
    for shift in range(1, comm.size):
        right, left = (comm.rank + shift) % comm.size, (comm.rank - shift) % comm.size
        comm.sendrecv(x, dst=right, src=left, out=total, op="sum")
    return total


def central_that_tells_everybody_everything(comm, x):
    """Gather all vectors on everybody, then add."""
    everything = function("allgather_ring")(comm, x.reshape(1, -1))
    return everything.sum(axis=0)


def halving_that_sends_the_whole_vector(comm, x):
    """Reduce-scatter and all-gather by doubling, with whole vectors where halves would do."""
    total, distance = x.copy(), 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.sendrecv(total.copy(), dst=partner, src=partner, out=total, op="sum")
        distance *= 2
    while distance > 1:
        distance //= 2
        partner = comm.rank ^ distance
        total = comm.sendrecv(total, dst=partner, src=partner)
    return total


def butterfly_from_a_tree(comm, x):
    total = function("reduce_tree")(comm, x)
    return function("broadcast_tree")(comm, total)


def double_tree_with_one_tree(comm, x):
    return function("allreduce_tree")(comm, x)


def two_level_that_forgets_the_hosts(comm, x):
    return function("allreduce_ring")(comm, x)


def tree_broadcast_by_the_root_alone(comm, x):
    return function("broadcast_flat")(comm, function("reduce_flat")(comm, x))


IMPOSTORS = [
    (unchunked_ring, "allreduce_ring"),
    (two_phases_of_whole_vectors, "allreduce_ring"),
    (tree_in_which_all_send_to_the_root, "allreduce_tree"),
    (direct_with_whole_vectors, "allreduce_direct"),
    (central_that_tells_everybody_everything, "allreduce_central"),
    (halving_that_sends_the_whole_vector, "allreduce_halving_doubling"),
    (butterfly_from_a_tree, "allreduce_butterfly"),
    (double_tree_with_one_tree, "allreduce_double_tree"),
    (two_level_that_forgets_the_hosts, "allreduce_two_level"),
    (tree_broadcast_by_the_root_alone, "allreduce_tree"),
]


@pytest.mark.parametrize(("impostor", "name"), IMPOSTORS, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("size", [4, 8])
def test_an_impostor_with_right_sums_is_told_apart_by_bytes(impostor, name, size):
    expected = told(price(name, size, N_BYTES, 8))
    right = counted(size, traced(function(name), size).trace.messages)
    wrong = counted(size, traced(impostor, size).trace.messages)
    assert right == expected
    assert wrong[1:4] != expected[1:4]  # bytes sent, received, on the busiest link


def test_every_all_reduce_has_an_impostor():
    from course_lib.collectives import ALLREDUCES

    assert {name for _, name in IMPOSTORS} == {f"allreduce_{name}" for name in ALLREDUCES}
