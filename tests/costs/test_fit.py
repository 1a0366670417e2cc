"""A line through measured times: right where it can be, and little moved by one that is wrong."""

import math

import pytest

from course_lib.comm.simulated.networks import Network
from course_lib.costs import fit_line
from course_lib.measure import fit_network, message_times

SIZES = (8, 1_000, 8_000, 64_000, 500_000, 4_000_000)


def line(alpha_s, beta_s_per_byte):
    return [(n_bytes, alpha_s + n_bytes * beta_s_per_byte) for n_bytes in SIZES]


@pytest.mark.parametrize(("alpha_s", "beta"), [(3e-6, 2e-10), (1e-3, 1e-9), (0.0, 1e-9)])
def test_exact_times_give_back_the_numbers_they_were_made_of(alpha_s, beta):
    found = fit_line(line(alpha_s, beta))
    assert found.alpha_s == pytest.approx(alpha_s, rel=1e-6, abs=1e-15)
    assert found.beta_s_per_byte == pytest.approx(beta, rel=1e-6)
    assert found.worst_ratio == pytest.approx(1, abs=1e-6)
    assert found.time_s(1_000) == pytest.approx(alpha_s + 1_000 * beta, rel=1e-6)


@pytest.mark.parametrize("disturbed", [0, 7, 29])
def test_one_time_that_is_a_hundred_times_too_long_moves_the_line_by_less_than_a_tenth(disturbed):
    points = 5 * line(3e-6, 2e-10)
    points[disturbed] = (points[disturbed][0], 100 * points[disturbed][1])
    found = fit_line(points)
    assert found.alpha_s == pytest.approx(3e-6, rel=0.1)
    assert found.beta_s_per_byte == pytest.approx(2e-10, rel=0.1)
    assert found.worst_ratio > 50  # and it is told that a point is far off


def test_plain_least_squares_would_lose_the_latency():
    """Why errors are relative: a tenth too much at 4 MB is 27 times the latency."""
    points = line(3e-6, 2e-10)
    points[-1] = (points[-1][0], 1.1 * points[-1][1])
    mean_n = math.fsum(n for n, _ in points) / len(points)
    mean_s = math.fsum(s for _, s in points) / len(points)
    slope = math.fsum((n - mean_n) * (s - mean_s) for n, s in points)
    slope /= math.fsum((n - mean_n) ** 2 for n, _ in points)
    assert abs(mean_s - slope * mean_n - 3e-6) > 0.5 * 3e-6
    assert fit_line(points).alpha_s == pytest.approx(3e-6, rel=0.05)


def test_neither_number_is_negative():
    assert fit_line([(1_000, 1e-6), (2_000, 3e-6)]).alpha_s == 0
    assert fit_line([(1_000, 3e-6), (2_000, 1e-6)]).beta_s_per_byte == 0


def test_what_is_no_measurement_is_refused():
    with pytest.raises(ValueError, match="two different sizes"):
        fit_line([(8, 1e-6), (8, 2e-6)])
    with pytest.raises(ValueError, match="seconds of a point must be above 0"):
        fit_line([(8, 1e-6), (16, 0.0)])
    with pytest.raises(ValueError, match="workers must be 2 or more"):
        message_times(workers=1)


@pytest.mark.parametrize("together", [False, True])
def test_messages_on_the_simulator_give_back_its_network(together):
    network = Network("odd", 3.3e-5, 7.7e8, 1e9)
    points = message_times(
        backend="simulated", network=network, repeats=1, workers=3, together=together
    )
    found = fit_line(points)
    assert found.alpha_s == pytest.approx(network.latency_s, rel=1e-9)
    assert found.beta_s_per_byte == pytest.approx(network.beta_s_per_byte, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_real_processes_give_a_network_that_the_simulator_takes(together):
    network = fit_network(repeats=2, together=together)
    print(f"a message: {network.latency_s:.3g} s, {network.bandwidth_bytes_per_s:.3g} bytes/s")
    assert 0 <= network.latency_s < 1
    assert network.bandwidth_bytes_per_s > 1e6
    again = fit_line(message_times(backend="simulated", network=network, repeats=1))
    assert again.beta_s_per_byte == pytest.approx(network.beta_s_per_byte, rel=1e-6)
