"""The parameter server on paper is the one that runs in virtual time."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course_lib.comm.simulated.networks import Network, ethernet_10g
from course_lib.costs.bounds import AtMost
from course_lib.costs.server_step import bandwidth_for, best_servers, server_step_s
from course_lib.measure.training_step import one_step
from course_lib.models.stand_in import StandIn
from course_lib.schemes import parameter_server, sharded_parameter_server

FLOPS_PER_S = 1e10


def simulated_s(workers, n_parameters, compute_s, network):
    model = StandIn.of({"all": n_parameters}, flops_per_example=compute_s * FLOPS_PER_S)
    return one_step(parameter_server, model, workers=workers, network=network).seconds


@given(
    workers=st.integers(1, 9),
    n_parameters=st.integers(2_100, 9_000),  # more than 16 KB: a gradient waits for its receive
    compute_s=st.floats(1e-6, 1e-2),
    alpha_s=st.floats(1e-7, 1e-3),
    bandwidth=st.floats(1e7, 1e11),
)
@settings(max_examples=40, deadline=None)
def test_a_step_takes_the_longer_of_the_two_chains(
    workers, n_parameters, compute_s, alpha_s, bandwidth
):
    network = Network("any", alpha_s, bandwidth, FLOPS_PER_S)
    update_s = 2 * n_parameters / FLOPS_PER_S
    told = server_step_s(workers, 8 * n_parameters, compute_s, update_s, alpha_s, 1 / bandwidth)
    assert simulated_s(workers, n_parameters, compute_s, network) == pytest.approx(told, rel=1e-9)
    # The likely mistake, adding both chains' parts, is outside wherever something overlaps.
    added = told - update_s + compute_s + (workers - 1) * 8 * n_parameters / bandwidth
    assert added > told * (1 + 1e-8) - update_s


@given(
    workers=st.integers(1, 9),
    servers=st.integers(2, 9),
    a_shard=st.integers(2_100, 4_000),
    compute_s=st.floats(1e-6, 1e-2),
    alpha_s=st.floats(1e-7, 1e-3),
    bandwidth=st.floats(1e7, 1e11),
)
@settings(max_examples=40, deadline=None)
def test_a_step_with_shards_takes_no_longer_than_told_and_as_long_with_as_many_as_workers(
    workers, servers, a_shard, compute_s, alpha_s, bandwidth
):
    network = Network("any", alpha_s, bandwidth, FLOPS_PER_S)
    n_parameters = a_shard * servers
    model = StandIn.of({"all": n_parameters}, flops_per_example=compute_s * FLOPS_PER_S)
    there = {"workers": workers, "servers": servers}
    took_s = one_step(sharded_parameter_server, model, network=network, **there).seconds
    update_s = 2 * n_parameters / FLOPS_PER_S
    given = (8 * n_parameters, compute_s, update_s, alpha_s, 1 / bandwidth)
    told_s = server_step_s(workers, *given, servers)
    assert took_s <= told_s * (1 + 1e-9)
    assert isinstance(told_s, AtMost) == (workers != servers)
    if workers == servers:
        assert took_s == pytest.approx(told_s, rel=1e-9)
    # All NICs of the smaller side are busy both ways, so that half of what is told is needed.
    assert took_s > told_s / 2.5


@pytest.mark.parametrize("efficiency", [0.1, 0.45, 0.6])
@pytest.mark.parametrize("workers", [2, 8, 20])
def test_the_bandwidth_solved_for_gives_the_efficiency(efficiency, workers):
    n_parameters, compute_s = 10_000, 5e-3
    update_s = 2 * n_parameters / FLOPS_PER_S
    solved = bandwidth_for(
        efficiency, workers, 8 * n_parameters, compute_s, update_s, ethernet_10g.latency_s
    )
    network = replace(ethernet_10g, bandwidth_bytes_per_s=solved)
    step_s = simulated_s(workers, n_parameters, compute_s, network)
    assert compute_s / step_s == pytest.approx(efficiency, rel=1e-9)


def test_an_efficiency_that_latency_forbids_is_refused():
    with pytest.raises(ValueError, match=r"out of reach with a latency of 0\.001 s"):
        bandwidth_for(0.95, 8, 100_000, 1e-3, 0.0, 1e-3)


@given(
    computers=st.integers(2, 40),
    transfer_s=st.floats(1e-6, 1.0),
    compute_s=st.floats(1e-6, 1.0),
)
@example(4, 1.0796e-05, 6.0359e-05)  # the nearest whole number is not the best one
def test_no_other_number_of_servers_gives_more_gradients_a_second(computers, transfer_s, compute_s):
    def rate(servers):
        workers = computers - servers
        return workers / (compute_s + 2 * workers / servers * transfer_s)

    best = rate(best_servers(computers, transfer_s, compute_s))
    assert best >= max(map(rate, range(1, computers // 2 + 1))) * (1 - 1e-12)


def test_servers_follow_the_root_of_communicating_over_computing():
    # S / W = sqrt(2 t / c): 1 / 2 of 12 computers, 1 / 1 at most, and one server at least.
    assert best_servers(12, 1e-3, 8e-3) == 4
    assert best_servers(12, 1.0, 1e-3) == 6
    assert best_servers(12, 1e-9, 1.0) == 1
