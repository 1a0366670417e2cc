"""A step in virtual time: what the formula and the critical path say, whatever is known of it."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES
from course_lib.costs import Step
from course_lib.measure.dry_runs import dedicated_servers, dry_run
from course_lib.measure.training_step import one_step, real_step_s
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.models.stand_in import StandIn
from course_lib.schemes import (
    data_parallel,
    layerwise_bucketed,
    parameter_server,
    parameter_server_on_worker,
    priority,
    sharded_data_parallel,
    sharded_parameter_server,
)
from course_lib.training import SGD, Plan
from course_lib.training.shards import shards_evenly

GPUS = replace(networks.ethernet_10g, flops_per_s=4e12)
THREE = [LayerSize(name, n_parameters=500_000, flops=3e9) for name in ("L1", "L2", "L3")]
WIRES = networks.Network("1 GB/s", 0.0, 1e9, flops_per_s=1e12)
FOUR = {"workers": 4, "network": WIRES}
MODEL = StandIn.of({"fc1": 3000, "fc2": 1000}, flops_per_example=1e6)
N_BYTES = 8 * 4000


@pytest.mark.parametrize("collective", ["ring", "halving_doubling", "butterfly"])
@pytest.mark.parametrize(("workers", "batch"), [(1, 24), (4, 24), (16, 64), (16, 50)])
def test_a_step_takes_the_formula_s_time(collective, workers, batch):
    n_parameters, flops = parameters_and_flops(PUBLISHED["ResNet-50"])
    step = Step(
        batch, flops / 4e12, 4 * n_parameters, GPUS.latency_s, GPUS.beta_s_per_byte,
        f"allreduce_{collective}",
    )  # fmt: skip
    whole = [LayerSize("all", n_parameters, flops)]
    took_s = one_step(
        data_parallel, whole, workers=workers, batch=batch, network=GPUS,
        allreduce=ALLREDUCES[collective],
    ).seconds  # fmt: skip
    # The update of the short vector takes nanoseconds; chunks of bytes are rounded in the formula.
    assert took_s == pytest.approx(step.time_s(workers), rel=1e-6)
    assert took_s != pytest.approx(step.time_s(workers) + GPUS.latency_s, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "expected_ms"), [({"bucket_bytes": math.inf}, 18), ({"bucket_bytes": 0}, 14)]
)
def test_three_layers_take_their_critical_path(options, expected_ms):
    took_s = one_step(layerwise_bucketed, THREE, **FOUR, **options).seconds
    assert took_s * 1e3 == pytest.approx(expected_ms, abs=1e-4)


def test_bucket_bytes_are_those_of_the_whole_gradient():
    """Two layers of 2 MB fill a bucket of 3 MB, and the third is left alone."""
    trace = dry_run(layerwise_bucketed, THREE, 4, 4, WIRES, bucket_bytes=3e6).trace
    entered = [event.name for event in trace.collectives if event.rank == 0]
    assert entered.count("allreduce_ring") == 2


def test_a_step_that_overlaps_the_next_is_measured_in_the_steady_state():
    slower = replace(WIRES, bandwidth_bytes_per_s=6e8)
    took_s = one_step(priority, THREE, workers=4, network=slower, order=[2, 0, 1]).seconds
    assert took_s * 1e3 == pytest.approx(19, abs=1e-4)


@pytest.mark.parametrize("workers", [3, 7])
def test_a_server_s_step_is_what_passes_its_nic(workers):
    """6 MB out to each worker and 6 MB in, at 1 GB/s; the others compute while the NIC works."""
    took_s = one_step(parameter_server, THREE, workers=workers, network=WIRES).seconds
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
    assert len(dry_run(scheme, THREE, 4, 4, WIRES, **options).values) == 4 + n_servers
    model = StandIn.of({"all": 1_500_000}, flops_per_example=3e9)
    told = one_step(scheme, model, **FOUR, servers=n_servers, **options)
    assert told == one_step(scheme, model, **FOUR, **options)
    assert len(told.into) == 4 + n_servers


@pytest.mark.parametrize("scheme", [sharded_parameter_server, partial(sharded_parameter_server)])
def test_so_many_servers_have_equal_shards_of_a_model_and_of_sizes(scheme):
    n_bytes = 4 * 1_500_000
    for model, factor in ((THREE, 1), (StandIn(THREE), 2)):  # a model's numbers have 8 bytes
        step = one_step(scheme, model, **FOUR, servers=3)
        assert step.into == pytest.approx([4 / 3 * factor * n_bytes] * 3 + [factor * n_bytes] * 4)


@pytest.mark.parametrize(
    ("scheme", "servers"), [(parameter_server, {}), (sharded_parameter_server, {"servers": 4})]
)
def test_a_model_its_sizes_and_its_two_numbers_take_one_time(scheme, servers):
    compute_s, n_parameters = 5e-3, 480_000
    flops = compute_s * WIRES.flops_per_s
    numbers = one_step(scheme, **FOUR, **servers, compute_s=compute_s, n_bytes=4 * n_parameters)
    sizes = one_step(scheme, [LayerSize("all", n_parameters, flops)], **FOUR, **servers)
    model = StandIn.of({"all": n_parameters}, flops)  # of 8 bytes each
    wider = replace(WIRES, bandwidth_bytes_per_s=2 * WIRES.bandwidth_bytes_per_s)
    whole = one_step(scheme, model, workers=4, network=wider, **servers)
    assert numbers == sizes
    # The update of sizes is of a shorter vector.
    assert sizes.seconds == pytest.approx(whole.seconds, rel=1e-3)
    assert sizes.into == pytest.approx([n_bytes / 2 for n_bytes in whole.into])
    assert sizes.out == pytest.approx([n_bytes / 2 for n_bytes in whole.out])


def test_a_batch_of_several_examples_is_computed_in_the_seconds_that_are_said():
    given = {"workers": 4, "compute_s": 1.0, "n_bytes": 8e6, "network": WIRES}
    one, many = (one_step(data_parallel, batch=batch, **given) for batch in (4, 4000))
    assert one.seconds == pytest.approx(many.seconds)


def test_hosts_share_uplinks_that_are_slower_in_the_same_proportion():
    hosts = networks.two_level(replace(WIRES, bandwidth_bytes_per_s=1e12), WIRES, ranks_per_host=2)
    levels = partial(ALLREDUCES["two_level"], ranks_per_host=2)
    took_s = one_step(data_parallel, THREE, workers=4, network=hosts, allreduce=levels).seconds
    # Two hosts swap halves twice: 6 MB pass each uplink, at 1 GB/s; inside nothing takes time.
    assert took_s * 1e3 == pytest.approx(9 + 6, abs=0.05)


def test_the_last_fetch_is_not_counted():
    step = one_step(parameter_server, MODEL, workers=3, batch=6)
    assert step.into == [3 * N_BYTES] + [N_BYTES] * 3
    assert step.out == [3 * N_BYTES] + [N_BYTES] * 3
    examples = np.zeros((6, 1)), np.zeros(6)
    whole = run(
        parameter_server, MODEL, *examples, Plan(batch_size=6), workers=4, backend="simulated"
    )
    assert whole.trace.bytes_sent()[0] == 2 * step.out[0], "a run of one step fetches twice"
    assert whole.elapsed_s > step.seconds


def test_examples_and_options_reach_the_scheme():
    shards = shards_evenly(4000, 4)
    few, many = (
        one_step(sharded_parameter_server, MODEL, workers=2, batch=batch, shards=shards)
        for batch in (2, 18)
    )
    assert many.seconds - few.seconds == pytest.approx(8 * 1e6 / 1e10, rel=1e-9)
    assert few.into[:4] == [2 * N_BYTES / 4] * 4


NUMBERS = {"workers": 2, "batch": 2, "compute_s": 0.1, "n_bytes": 1e6}


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [(name, wrong) for name in NUMBERS for wrong in (-1, math.nan, math.inf, "4", True, [1])]
    + [(name, 0) for name in ("workers", "batch", "n_bytes")]
    + [(name, 1.5) for name in ("workers", "batch")],
)
def test_a_number_that_is_none_is_refused_by_name(argument, wrong):
    with pytest.raises((TypeError, ValueError), match=f"^{argument} must be"):
        one_step(data_parallel, **NUMBERS | {argument: wrong})


@pytest.mark.parametrize("servers", [-1, 0, math.nan, 1.0, None])
def test_a_number_of_servers_that_is_none_is_refused(servers):
    with pytest.raises((TypeError, ValueError), match=r"^servers must be an int of 1 or more"):
        one_step(sharded_parameter_server, **NUMBERS, servers=servers)


@pytest.mark.parametrize(("scheme", "there"), [(data_parallel, 0), (parameter_server, 1)])
def test_servers_that_a_scheme_does_not_have_are_refused(scheme, there):
    with pytest.raises(ValueError, match=f"^servers must be {there} with {scheme.__name__}"):
        one_step(scheme, **NUMBERS, servers=2)


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({}, "model must be given, or both"),
        ({"compute_s": 1.0}, "model must be given, or both"),
        ({"model": THREE, "n_bytes": 8.0}, "compute_s and n_bytes stand in place of a model"),
        ({"model": [LayerSize("fc", 8, -1.0)]}, "flops of fc must be 0 or more"),
        ({"model": [LayerSize("fc", -8, 1.0)]}, "n_parameters of fc must be an int of 0 or more"),
        ({"model": [LayerSize("fc", 0, 1.0)]}, "n_parameters of all layers must be above 0"),
    ],
)
def test_what_is_trained_is_said_once_and_in_numbers(given, refused):
    with pytest.raises(ValueError, match=f"^{refused}"):
        one_step(data_parallel, workers=2, **given)


@pytest.mark.slow
def test_more_bytes_take_longer_on_real_processes_too():
    small, large = (
        real_step_s(data_parallel, StandIn.of({"all": n}, 0), workers=2, steps=3)
        for n in (10, 4_000_000)
    )
    print(f"a step of 80 bytes {small * 1e3:.3f} ms, of 32 MB {large * 1e3:.3f} ms")
    assert 0 < small < large
