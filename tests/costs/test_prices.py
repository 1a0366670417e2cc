"""Closed forms, simulator and real processes agree: rounds, messages, bytes, virtual time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.simulated.networks import Network
from course_lib.costs import price
from tests.costs.cases import CASES, ITEM_BYTES, SIZES, call, counted, options_for, told

# Rounds that are no chain of messages: in a tree a root sends again without having waited, and a
# rank that folds into another meets it one round early.
NO_CHAIN = {
    "broadcast_tree", "reduce_tree", "allreduce_two_level", "allreduce_butterfly",
    "allreduce_double_tree",
}  # fmt: skip
NETWORKS = [
    Network("latency only", 1.0, math.inf, 1e9),
    Network("bytes only", 0.0, 1e3, 1e9),
    Network("both", 3.3e-4, 7.7e6, 1e9),
]


def lengths_and_networks(size):
    """Latency and bytes each alone for one length; the others take both at once.

    A latency too many is there a tenth of a message's time, and 1e-9 of it would be seen.
    """
    others = sorted({0, 1, 101, size, size + 1})
    return [*((length, NETWORKS[-1:]) for length in others), (1680, NETWORKS)]


def agree(time_s, expected):
    """Whether the clock shows what the price says, or no more where that is an upper bound."""
    seconds, found = expected
    if found.is_exact:
        return abs(time_s - seconds) <= 1e-9 * seconds
    return time_s <= seconds * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_the_simulator_counts_and_takes_what_the_closed_form_says(name, options, size):
    options = options_for(options, size)
    for length, networks in lengths_and_networks(size):
        for rendezvous in (False, True):
            found = price(name, size, ITEM_BYTES * length, ITEM_BYTES, rendezvous, **options)
            for network in networks:
                result = run(
                    call, name, length, options, workers=size, backend="simulated",
                    network=network, rendezvous=rendezvous,
                )  # fmt: skip
                expected = found.time_s(network.latency_s, network.beta_s_per_byte)
                assert agree(result.elapsed_s, (expected, found)), (length, rendezvous, network)
            assert counted(size, result.trace.messages) == told(found)
            if name not in NO_CHAIN:
                assert result.trace.rounds() == found.rounds


@given(
    case=st.sampled_from(CASES), size=st.integers(1, 20), length=st.integers(0, 300),
    alpha_s=st.floats(1e-6, 1e-3), bandwidth=st.floats(1e6, 1e10), rendezvous=st.booleans(),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_any_size_length_and_network(case, size, length, alpha_s, bandwidth, rendezvous):
    name, options = case[0], options_for(case[1], size)
    network = Network("any", alpha_s, bandwidth, 1e9)
    result = run(
        call, name, length, options, workers=size, backend="simulated", network=network,
        rendezvous=rendezvous,
    )  # fmt: skip
    found = price(name, size, ITEM_BYTES * length, ITEM_BYTES, rendezvous, **options)
    assert counted(size, result.trace.messages) == told(found)
    assert agree(result.elapsed_s, (found.time_s(alpha_s, network.beta_s_per_byte), found))


def test_most_prices_are_exact_and_a_bound_is_not_far_off():
    """An upper bound of a thousand times the time would pass all tests, and be of no use."""
    worst = {}
    network = NETWORKS[2]
    for name, options in CASES:
        for size in (2, 3, 4, 6, 7, 8):
            options = options_for(options, size)
            found = price(name, size, 1680 * ITEM_BYTES, ITEM_BYTES, **options)
            if not found.is_exact:
                result = run(
                    call, name, 1680, options, workers=size, backend="simulated", network=network
                )
                ratio = found.time_s(network.latency_s, network.beta_s_per_byte) / result.elapsed_s
                worst[name] = max(worst.get(name, 0), ratio)
    assert set(worst) == {
        "reduce_tree", "allreduce_tree", "allreduce_double_tree", "allreduce_butterfly",
        "allreduce_halving_doubling", "allreduce_two_level",
    }  # fmt: skip
    print("upper bounds, by the simulator's time:", {k: round(v, 2) for k, v in worst.items()})
    assert max(worst.values()) < 4


@pytest.mark.parametrize("name", ["allreduce_ring", "allreduce_central", "broadcast_tree"])
def test_a_latency_or_a_chunk_too_many_would_be_seen(name):
    """The likely mistakes, P for P - 1 and n for n / P, are far outside of 1e-9."""
    network, size, n_bytes = NETWORKS[2], 4, 1680 * ITEM_BYTES
    found = price(name, size, n_bytes, ITEM_BYTES)
    result = run(call, name, 1680, {}, workers=size, backend="simulated", network=network)
    beta = network.beta_s_per_byte
    for wrong in (
        (found.latencies + 1) * network.latency_s + found.serial_bytes * beta,
        found.latencies * network.latency_s + (found.serial_bytes + n_bytes / size) * beta,
    ):
        assert abs(result.elapsed_s - wrong) > 1e-8 * wrong


def all_cases(comm, cases):
    """Call one collective after the other."""
    for name, length, options in cases:
        call(comm, name, length, options)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 16])  # the simulator tries all
def test_real_processes_send_what_the_closed_form_says(size):
    cases = [
        (name, length, options_for(options, size))
        for name, options in CASES
        for length in (101, 2100)  # below and, for whole vectors, above the size that waits
    ]
    trace = run(all_cases, cases, workers=size, time_limit_s=120.0).trace
    spans = {(c.number, c.rank): c for c in trace.collectives if c.comm == "world"}
    assert len(spans) == len(cases) * size
    for number, (name, length, options) in enumerate(cases):
        assert spans[number, 0].name == name
        messages = [
            m for m in trace.messages
            if spans[number, m.src].entered_s <= m.posted_s <= spans[number, m.src].left_s
        ]  # fmt: skip
        found = price(name, size, ITEM_BYTES * length, ITEM_BYTES, **options)
        assert counted(size, messages) == told(found), (name, length, options)


def test_chunks_are_cut_between_elements_and_not_between_bytes():
    whole = price("allreduce_ring", 3, 8 * 100, 8)
    assert whole.bytes_sent == (8 * 133, 8 * 133, 8 * 134)
    assert price("allreduce_ring", 3, 800).bytes_sent != whole.bytes_sent
    assert whole.total_bytes == 2 * 2 * 800


def test_a_price_is_one_line_also_with_a_thousand_ranks():
    found = price("allreduce_ring", 1024, 1024 * 8)
    assert repr(found) == (
        "Price(2,046 rounds, 2,095,104 messages, 16,760,832 bytes; "
        "16,368 sent by the busiest rank, 16,368 in turn)"
    )


def test_bad_arguments_are_told():
    with pytest.raises(ValueError, match=r"one of broadcast_flat, .*, got 'ring'"):
        price("ring", 4, 8)
    with pytest.raises(ValueError, match="size must be an int from 1 to 1,000,000, got 0"):
        price("allreduce_ring", 0, 8)
    with pytest.raises(ValueError, match="multiple of item_bytes, got 7 and 8"):
        price("allreduce_ring", 2, 7, 8)


def test_nothing_is_computed_with_floats():
    """A price stays exact where a float would round: 2**60 + 1 bytes."""
    found = price("allreduce_ring", 4, 2**60 + 1)
    assert found.total_bytes == 2 * 3 * (2**60 + 1)
    assert all(isinstance(n, int) and not isinstance(n, np.integer) for n in found.bytes_sent)
