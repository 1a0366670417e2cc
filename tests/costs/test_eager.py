"""A send waits for its receive by the size of its message, not of the vector that is cut up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES as EAGER_BYTES_OF_ALL_WORLDS
from course_lib.comm.simulated.networks import Network
from course_lib.costs import predicted_s, price
from course_lib.costs.price import EAGER_BYTES
from tests.costs.cases import CASES, ITEM_BYTES, call, counted, options_for, told

LIMIT = EAGER_BYTES // ITEM_BYTES  # elements of the largest message that does not wait
NETWORK = Network("slow enough for bytes and latencies to count", 3.3e-4, 7.7e6, 1e9)


def lengths(size):
    """Return lengths of which the whole, a half, a quarter or a chunk is about the limit."""
    parts = {1, 2, 4, size}
    return sorted({part * LIMIT + more for part in parts for more in (0, 1, part)})


def simulated(name, length, options, size):
    return run(
        call, name, length, options, workers=size, backend="simulated", network=NETWORK
    )  # fmt: skip


def test_the_limit_is_that_of_the_worlds():
    assert EAGER_BYTES == EAGER_BYTES_OF_ALL_WORLDS


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])  # all of them in test_prices
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_on_both_sides_of_the_limit_predicted_is_simulated(name, options, size):
    options = options_for(options, size)
    for length in lengths(size):
        found = price(name, size, ITEM_BYTES * length, ITEM_BYTES, **options)
        result = simulated(name, length, options, size)
        assert counted(size, result.trace.messages) == told(found), length
        predicted = predicted_s(
            name, size, ITEM_BYTES * length, NETWORK.latency_s, NETWORK.beta_s_per_byte,
            item_bytes=ITEM_BYTES, **options,
        )  # fmt: skip
        assert predicted == found.time_s(NETWORK.latency_s, NETWORK.beta_s_per_byte)
        if found.is_exact:
            assert result.elapsed_s == pytest.approx(predicted, rel=1e-9), length
        else:
            assert result.elapsed_s <= predicted * (1 + 1e-9), length


def by_the_vector(name, size, length):
    """Predict by the likely mistake: all messages wait if the vector is above the limit."""
    found = price(
        name, size, ITEM_BYTES * length, ITEM_BYTES, rendezvous=length > LIMIT, eager_bytes=2**60
    )
    return found.time_s(NETWORK.latency_s, NETWORK.beta_s_per_byte)


@given(
    case=st.sampled_from(CASES), size=st.integers(1, 12), parts=st.integers(1, 16),
    more=st.integers(-20, 20),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_near_the_limit_no_price_is_below_the_simulator_s_time(case, size, parts, more):
    name, options = case[0], options_for(case[1], size)
    length = parts * LIMIT + more
    found = price(name, size, ITEM_BYTES * length, ITEM_BYTES, **options)
    told_s = found.time_s(NETWORK.latency_s, NETWORK.beta_s_per_byte)
    took_s = simulated(name, length, options, size).elapsed_s
    assert took_s <= told_s * (1 + 1e-9)
    assert not found.is_exact or took_s == pytest.approx(told_s, rel=1e-9)


def test_chunks_below_the_limit_do_not_wait_though_their_vector_is_above_it():
    length, size = 4 * LIMIT, 4
    took_s = simulated("allreduce_direct", length, {}, size).elapsed_s
    assert took_s < by_the_vector("allreduce_direct", size, length) * 0.8
    below = price("allreduce_direct", size, ITEM_BYTES * length, ITEM_BYTES)
    above = price("allreduce_direct", size, ITEM_BYTES * (length + size), ITEM_BYTES)
    assert below.serial_bytes == 2 * 3 * ITEM_BYTES * LIMIT
    assert above.serial_bytes == (3 * size - 4) * ITEM_BYTES * (LIMIT + 1)


def test_a_large_message_waits_without_being_asked_to():
    """100 MB in chunks of 1.6 MB: the price says what the simulator takes, and not 2/3 of it."""
    size, n_bytes = 64, 64 * 1_600_000
    told_ = price("allreduce_direct", size, n_bytes)
    assert told_.serial_bytes == (3 * size - 4) * 1_600_000
    assert told_ == price("allreduce_direct", size, n_bytes, rendezvous=True)
