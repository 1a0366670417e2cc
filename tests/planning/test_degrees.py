"""Of all grids of replicas, parts and stages the one that is chosen is the fastest that runs."""

from dataclasses import replace

import pytest

from course_lib import networks, run
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.published import PUBLISHED
from course_lib.planning.degrees import Degrees, choose_degrees, grid_step, run_degrees
from course_lib.planning.sized_steps import SizedStep, layer_sizes
from course_lib.planning.strategy import choose_strategy

NETS = {
    "narrow": layer_sizes(deep_mlp(64, *[64] * 7, 10)),
    "wide": layer_sizes(deep_mlp(2048, *[2048] * 3)),
    "deep": layer_sizes(deep_mlp(512, *[512] * 8)),
}
QUICK = replace(networks.nvlink_4, flops_per_s=1e12)
SLOW = replace(networks.ethernet_10g, flops_per_s=1e11)
WIDE_BATCH = replace(networks.nvlink_4, flops_per_s=1e10)
PAIRS = [("wide", QUICK, 16), ("deep", SLOW, 32), ("narrow", WIDE_BATCH, 4096)]


@pytest.mark.slow
def test_the_chosen_grid_is_the_fastest_of_all_that_are_run():
    chosen, workers = set(), 4
    for net, network, batch in PAIRS:
        best, seconds = choose_degrees(NETS[net], batch, workers, network)
        assert seconds[best] == min(seconds.values())
        ran_s = {grid: run_degrees(NETS[net], batch, grid, network) for grid in seconds}
        assert ran_s[best] <= 1.05 * min(ran_s.values())
        assert max(ran_s.values()) > 1.5 * min(ran_s.values())  # whoever takes any one is far off
        chosen.add(best[:3])
    assert {(1, 4, 1), (1, 1, 4), (4, 1, 1)} == chosen


def test_every_way_to_write_the_number_of_ranks_as_a_product_is_priced():
    _, seconds = choose_degrees(NETS["deep"], 64, 8, SLOW)
    assert {(d, t, p) for d, t, p, _ in seconds} == {
        (d, t, p)
        for d in (1, 2, 4, 8) for t in (1, 2, 4, 8) for p in (1, 2, 4, 8) if d * t * p == 8
    }  # fmt: skip
    assert {grid.n_micro for grid in seconds if grid[:3] == (2, 1, 4)} == {1, 2, 4, 8, 16}


@pytest.mark.parametrize("network", [QUICK, SLOW])
def test_the_corners_are_the_three_strategies(network):
    """Replicas alone, parts alone, stages alone: what another file predicts of each of them."""
    net, workers = NETS["wide"], 3
    _, seconds = choose_degrees(net, 48, workers, network)
    choice = choose_strategy(net, 48, workers, network)
    assert seconds[Degrees(3, 1, 1, 1)] == pytest.approx(choice.seconds["data"], rel=1e-9)
    assert seconds[Degrees(1, 3, 1, 1)] == pytest.approx(choice.seconds["hybrid"], rel=1e-3)
    of_stages = [s for grid, s in seconds.items() if grid.pipeline == 3]
    assert min(of_stages) == pytest.approx(choice.seconds["model"], rel=0.05)
    assert len({round(s / 1e-6) for s in choice.seconds.values()}) == 3


def test_a_grid_sends_what_its_three_directions_say():
    """2 x 2 x 2 ranks: each has half of a stage's parameters, and half of the batch."""
    net, batch, item = NETS["deep"], 64, 4
    step = SizedStep(net, batch)
    trace = run(
        grid_step, step, Degrees(2, 2, 2, 2), workers=8, backend="simulated", rendezvous=True
    ).trace
    crossed = [m for m in trace.messages if abs(m.src - m.dst) == 2]
    assert len(crossed) == 2 * 2 * 2 * 2  # micro-batches, there and back, parts, replicas
    assert {m.n_bytes for m in crossed} == {(batch // 4) * 512 * item // 2}
    between_replicas = sum(m.n_bytes for m in trace.messages if abs(m.src - m.dst) == 4)
    # An all-reduce of two ranks sends the array once in each direction, in halves: all parameters.
    assert between_replicas == pytest.approx(2 * step.parameter_bytes(net), rel=1e-3)


def test_convolutions_and_no_workers_are_refused():
    with pytest.raises(ValueError, match="layers must be fully connected, got conv1; choose_strat"):
        choose_degrees(PUBLISHED["AlexNet"], 64, 4, SLOW)
    with pytest.raises(ValueError, match="workers must be an int of 1 or more, got 0"):
        choose_degrees(NETS["wide"], 64, 0, SLOW)
