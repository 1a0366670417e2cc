"""Rare averages between two sites on paper are those that run in virtual time."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import allreduce_two_level
from course_lib.costs import TwoSites
from course_lib.models.stand_in import StandIn
from course_lib.schemes import diloco, local_sgd
from course_lib.training import SGD, Plan

STEPS, N_PARAMETERS, FLOPS = 500, 3000, 1e6
N_BYTES = 8 * N_PARAMETERS
FAR = replace(networks.wan, latency_s=0.1)
MODEL = StandIn.of({"all": N_PARAMETERS}, flops_per_example=FLOPS)


def sites(ranks_per_site):
    inside = networks.ethernet_10g
    return TwoSites(
        ranks_per_site,
        inside.latency_s, inside.beta_s_per_byte, FAR.latency_s, FAR.beta_s_per_byte,
    )  # fmt: skip


def trained(scheme, every, ranks_per_site):
    workers = 2 * ranks_per_site
    X, y = np.zeros((workers, 1)), np.zeros(workers, dtype=int)
    allreduce = partial(allreduce_two_level, ranks_per_host=ranks_per_site)
    task = partial(scheme, every=every, allreduce=allreduce, optimizer=SGD)
    network = networks.two_level(networks.ethernet_10g, FAR, ranks_per_site)
    plan = Plan(batch_size=workers, epochs=STEPS)
    return run(task, MODEL, X, y, plan, workers=workers, backend="simulated", network=network)


@pytest.mark.slow
@pytest.mark.parametrize("ranks_per_site", [1, 2])
@pytest.mark.parametrize("scheme", [local_sgd, diloco])
def test_seconds_and_bytes_are_those_of_the_simulated_training(scheme, ranks_per_site):
    speed = networks.ethernet_10g.flops_per_s
    step_s = (FLOPS + 2 * N_PARAMETERS) / speed
    outer_s = 7 * N_PARAMETERS / speed if scheme is diloco else 0.0
    told = sites(ranks_per_site)
    seconds = {}
    for every in (1, 8, 64, 500):
        result = trained(scheme, every, ranks_per_site)
        predicted_s = told.training_s(STEPS, every, step_s, N_BYTES, outer_s)
        assert result.elapsed_s == pytest.approx(predicted_s, rel=1e-9)
        seconds[every] = result.elapsed_s
        crossing = [
            message.n_bytes
            for message in result.trace.messages
            if message.src // ranks_per_site != message.dst // ranks_per_site
        ]
        assert sum(crossing) == told.bytes_between(STEPS, every, N_BYTES)
        in_all = sum(result.trace.bytes_sent())
        assert in_all == told.bytes_in_all(STEPS, every, N_BYTES)
        # The likely mistakes: one crossing in an average, or no average after the last step.
        wrong_s = predicted_s - told.alpha_between_s
        assert abs(wrong_s / result.elapsed_s - 1) > 1e-8
    assert seconds[1] > 90 * seconds[500]


def test_more_ranks_in_a_site_are_a_bound_or_exact():
    told = sites(3)
    assert float(told.exchange_s(N_BYTES)) > sites(1).exchange_s(N_BYTES)
    step_s, every = FLOPS / 1e10, 4
    assert float(told.training_s(8, every, step_s, N_BYTES)) > 2 * told.alpha_between_s


@pytest.mark.parametrize(
    ("name", "wrong"), [("ranks_per_site", 0), ("alpha_s", -1.0), ("alpha_between_s", float("inf"))]
)
def test_a_wrong_number_is_named(name, wrong):
    with pytest.raises(ValueError, match=name):
        replace(sites(1), **{name: wrong})
