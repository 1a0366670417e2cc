"""A rehearsed step takes what the formula and the critical path say, however short its vectors."""

import math
from dataclasses import replace
from functools import partial

import pytest

from course_lib import networks
from course_lib.collectives import ALLREDUCES
from course_lib.costs import Step
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.models.stand_in import StandIn
from course_lib.one_step import one_step
from course_lib.rehearsal import dedicated_servers, rehearse, step_s, whole
from course_lib.schemes import (
    data_parallel,
    layerwise_bucketed,
    parameter_server,
    parameter_server_on_worker,
    priority,
    sharded_data_parallel,
    sharded_parameter_server,
)
from course_lib.training import SGD
from course_lib.training.shards import shards_evenly

GPUS = replace(networks.ethernet_10g, flops_per_s=4e12)
THREE = [LayerSize(name, n_parameters=500_000, flops=3e9) for name in ("L1", "L2", "L3")]
WIRES = networks.Network("1 GB/s", 0.0, 1e9, flops_per_s=1e12)


@pytest.mark.parametrize("collective", ["ring", "halving_doubling", "butterfly"])
@pytest.mark.parametrize(("workers", "batch"), [(1, 24), (4, 24), (16, 64), (16, 50)])
def test_a_step_takes_the_formula_s_time(collective, workers, batch):
    n_parameters, flops = parameters_and_flops(PUBLISHED["ResNet-50"])
    step = Step(
        batch, flops / 4e12, 4 * n_parameters, GPUS.latency_s, GPUS.beta_s_per_byte,
        f"allreduce_{collective}",
    )  # fmt: skip
    whole = [LayerSize("all", n_parameters, flops)]
    took_s = step_s(data_parallel, whole, workers, batch, GPUS, allreduce=ALLREDUCES[collective])
    # The update of the short vector takes nanoseconds; chunks of bytes are rounded in the formula.
    assert took_s == pytest.approx(step.time_s(workers), rel=1e-6)
    assert took_s != pytest.approx(step.time_s(workers) + GPUS.latency_s, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "expected_ms"), [({"bucket_bytes": math.inf}, 18), ({"bucket_bytes": 0}, 14)]
)
def test_three_layers_take_their_critical_path(options, expected_ms):
    took_s = step_s(layerwise_bucketed, THREE, 4, 4, WIRES, **options)
    assert took_s * 1e3 == pytest.approx(expected_ms, abs=1e-4)


def test_bucket_bytes_are_those_of_the_whole_gradient():
    """Two layers of 2 MB fill a bucket of 3 MB, and the third is left alone."""
    trace = rehearse(layerwise_bucketed, THREE, 4, 4, WIRES, bucket_bytes=3e6).trace
    entered = [event.name for event in trace.collectives if event.rank == 0]
    assert entered.count("allreduce_ring") == 2


@pytest.mark.parametrize(("bandwidth", "order", "expected_ms"), [(6e8, [2, 0, 1], 19)])
def test_a_step_that_overlaps_the_next_is_measured_in_the_steady_state(
    bandwidth, order, expected_ms
):
    slower = replace(WIRES, bandwidth_bytes_per_s=bandwidth)
    took_s = step_s(priority, THREE, 4, 4, slower, after=2, order=order)
    assert took_s * 1e3 == pytest.approx(expected_ms, abs=1e-4)


@pytest.mark.parametrize("workers", [3, 7])
def test_a_server_s_step_is_what_passes_its_card(workers):
    """6 MB out to each worker and 6 MB in, at 1 GB/s; the others compute while the card works."""
    took_s = step_s(parameter_server, THREE, workers, workers, WIRES)
    assert took_s * 1e3 == pytest.approx(2 * workers * 6, abs=1e-4)


@pytest.mark.parametrize(
    ("scheme", "options", "n_servers"),
    [
        (data_parallel, {}, 0),
        (parameter_server, {}, 1),
        (partial(parameter_server, optimizer=SGD), {}, 1),
        (parameter_server_on_worker, {}, 0),
        (sharded_parameter_server, {"shards": shards_evenly(1_500_000, 4)}, 4),
        (sharded_data_parallel, {}, 0),
    ],
)
def test_dedicated_servers_are_ranks_of_their_own_wherever_a_step_is_measured(
    scheme, options, n_servers
):
    assert dedicated_servers(scheme, options) == n_servers
    assert len(rehearse(scheme, THREE, 4, 4, WIRES, **options).values) == 4 + n_servers
    model = StandIn.of({"all": 1_500_000}, flops_per_example=3e9)
    assert len(one_step(scheme, model, 4, 1, network=WIRES, **options).into) == 4 + n_servers


@pytest.mark.parametrize(
    ("scheme", "options"),
    [(parameter_server, {}), (sharded_parameter_server, {"shards": shards_evenly(480_000, 4)})],
)
def test_a_model_and_its_two_numbers_take_one_time(scheme, options):
    compute_s, n_parameters = 5e-3, 480_000
    sizes = whole(compute_s, 4 * n_parameters, WIRES)
    rehearsed_s = step_s(scheme, sizes, 4, 4, WIRES, **options)
    model = StandIn.of({"all": n_parameters}, compute_s * WIRES.flops_per_s)  # of 8 bytes each
    wider = replace(WIRES, bandwidth_bytes_per_s=2 * WIRES.bandwidth_bytes_per_s)
    one_s = one_step(scheme, model, 4, 1, network=wider, **options).seconds
    assert rehearsed_s == pytest.approx(one_s, rel=1e-3)  # its update is of a shorter vector


def test_hosts_share_uplinks_that_are_slower_in_the_same_proportion():
    hosts = networks.two_level(replace(WIRES, bandwidth_bytes_per_s=1e12), WIRES, ranks_per_host=2)
    levels = partial(ALLREDUCES["two_level"], ranks_per_host=2)
    took_s = step_s(data_parallel, THREE, 4, 4, hosts, allreduce=levels)
    # Two hosts swap halves twice: 6 MB pass each uplink, at 1 GB/s; inside nothing takes time.
    assert took_s * 1e3 == pytest.approx(9 + 6, abs=0.05)
