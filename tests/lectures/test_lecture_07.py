"""What lecture 07 runs: flows of pipelines, what they hold, branches, and PyTorch's modules."""

import re
from fractions import Fraction

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.lectures import lecture_07
from course_lib.lectures.lecture_07 import NAMES, eager_1f1b, flow, of_one_batch, one_by_one, price
from course_lib.models.chain import Chain, ThreeFlops
from course_lib.pipelines import SCHEDULES, check_schedule, gpipe
from course_lib.schemes import pipeline, train
from course_lib.schemes.pipeline import joined
from course_lib.training import Plan
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.snapshot import what_is_where

SMALL = [(2, 4, 0), (4, 8, Fraction(1, 4)), (3, 6, 1)]


class Second:
    """A layer that computes next to nothing, in one second each way; the first goes back in two."""

    n_parameters = 1

    def __init__(self, number):
        self.name, self._back = f"layer {number}", (0, 2) if number == 0 else (1, 1)

    def output_shape(self, input_shape):
        return input_shape

    def initial(self, rng):
        return np.zeros(1)

    def forward(self, w, x):
        return x, x

    def input_gradient(self, w, saved, dy):
        return dy

    def weight_gradient(self, saved, dy):
        return np.zeros(1)

    def flops(self, n_examples):
        return ThreeFlops(*(n_examples * n for n in (1, *self._back)))


@pytest.mark.parametrize("name", ["GPipe", "1F1B"])
@pytest.mark.parametrize(("P", "M", "latency"), SMALL)
def test_a_flow_is_what_the_scheme_does_in_the_simulator(name, P, M, latency):
    made = flow(name, P, M, float(latency))
    free = networks.Network("free", float(latency), float("inf"), flops_per_s=1.0)
    job = Chain([Second(k) for k in range(P)], (4,)), np.zeros((M, 4)), np.zeros(M, int)
    there = run(
        pipeline, *job, Plan(batch_size=M), SCHEDULES[NAMES[name]], M,
        workers=P, backend="simulated", network=free,
    ).trace  # fmt: skip
    spans = {(s.rank, s.label): (s.start_s, s.end_s) for s in there.computes if s.label != "update"}
    ours = {(s.rank, s.label): (s.start_s, s.end_s) for s in made.trace.computes}
    assert spans.keys() == ours.keys()
    for key, times in ours.items():
        assert spans[key] == pytest.approx([1e3 * time_s for time_s in times])
    assert sorted((m.src, m.dst, m.tag) for m in there.messages) == sorted(
        (m.src, m.dst, m.tag) for m in made.trace.messages
    )


@pytest.mark.parametrize("name", NAMES)
def test_cells_fill_with_the_forward_pass_and_are_empty_at_the_end(name):
    made = flow(name, 4, 8, 0.25)
    scene = make_scene(made.trace, contributions=made.contributions)
    peaks = np.zeros(4)
    for tick in sorted({fill.tick for fill in scene.fills}):
        workers = what_is_where(scene, tick * scene.tick_s).workers
        peaks = np.maximum(peaks, [sum(worker.cells) for worker in workers])
    v = made.schedule.n_stages // 4
    assert (peaks / v).tolist() == made.held
    assert {worker.cells for worker in what_is_where(scene, scene.end_s).workers} == {(0,) * 8}
    captions = [what_is_where(scene, m.sent_s + 1e-4).caption for m in made.trace.messages[:3]]
    assert any("sends micro-batch 0, 16.4 KB, to rank 1" in caption for caption in captions)
    assert scene.loads == [("", "")]


@pytest.mark.parametrize("name", NAMES)
def test_waits_and_computing_cover_the_time_until_a_rank_is_done(name):
    made = flow(name, 4, 8, 0.5)
    for rank in range(4):
        spans = [e for e in (*made.trace.computes, *made.trace.waits) if e.rank == rank]
        covered = sum(span.end_s - span.start_s for span in spans)
        assert covered == pytest.approx(max(span.end_s for span in spans))
    assert made.trace.n_messages == made.schedule.n_messages
    assert made.trace.end_s == pytest.approx(made.ms / 1e3)
    late = [m for m in made.trace.messages if m.received_s < m.arrived_s - 1e-12]
    assert late == [], "nothing is used before it has arrived"


def test_what_a_flow_says():
    assert str(flow("1F1B")) == (
        "1F1B: 33 ms, of which each rank is idle 9 ms (27%); held at most: 4, 3, 2, 1"
    )
    assert flow("ZB-V").player().scene["layout"] == "line"
    assert flow("interleaved").player().scene["layout"] == "ring"
    assert price(flow("ZB-V"))["idle between first and last action, ms"] == 0
    assert price(flow("1F1B"))["micro-batches held, by rank"] == "4, 3, 2, 1"
    assert [of_one_batch(M).ms for M in (1, 2, 8)] == [96, 60, 33]


@pytest.mark.parametrize("make", [one_by_one, eager_1f1b])
@pytest.mark.parametrize(("P", "M"), [(1, 1), (2, 4), (4, 3), (4, 8), (5, 16)])
def test_the_other_orders_can_be_carried_out(make, P, M):
    check_schedule(make(P, M))
    held = flow(make, P, M).held
    most = 1 if make is one_by_one else min(M, 2 * P - 1)
    assert max(held) == most


def test_eager_1f1b_buys_gpipes_time_with_memory():
    gpipe_ms, eager, tidy = (flow(n, 4, 32, 0.5) for n in ("GPipe", eager_1f1b, "1F1B"))
    assert gpipe_ms.ms == eager.ms == 108
    assert (tidy.ms, tidy.held[0], eager.held[0], gpipe_ms.held[0]) == (131, 4, 7, 32)


def test_curves_over_latency_begin_equal_and_part():
    picture = lecture_07.latency_chart(8)
    ends = {line["name"]: (line["y"][0], line["y"][-1]) for line in picture.chart["lines"]}
    assert ends["GPipe"][0] == ends["1F1B"][0] == pytest.approx(33 / 24, rel=1e-4)
    assert ends["1F1B"][1] == pytest.approx(49 / 24, rel=1e-4)
    assert min(ends, key=lambda name: ends[name][1]) == "GPipe"
    low, high = picture.chart["y_range"]
    assert all(low <= y <= high for both in ends.values() for y in both)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("microbatches", [4, 8, 16])
def test_no_curve_leaves_its_picture(ranks, microbatches):
    picture = lecture_07.latency_chart(microbatches, ranks)
    low, high = picture.chart["y_range"]
    assert all(low <= y <= high for line in picture.chart["lines"] for y in line["y"])


def test_two_branches_gain_inside_a_machine_and_hardly_between_machines():
    near, far = (lecture_07.branches_s(n) for n in (networks.nvlink_4, networks.ethernet_1g))
    assert 1.9 < near[0] / near[1] < 2
    assert 1 < far[0] / far[1] < 1.05
    assert "1.94 times" in lecture_07.branches(networks.nvlink_4).title


def test_a_row_of_layers_in_a_pipeline_is_trained_as_a_whole():
    model, X, y = lecture_07.row_of_layers(4, 16)
    plan = Plan(batch_size=64)
    values = run(pipeline, model, X, y, plan, gpipe, 8, workers=2, backend="simulated").values
    w = joined(gpipe(2, 8), model, [value.w for value in values])
    np.testing.assert_allclose(w, train(model, X, y, plan).w, rtol=0, atol=1e-14)


@pytest.mark.slow
def test_real_steps_have_a_bar_for_each_way():
    picture = lecture_07.real_steps(microbatches=2, width=16, rows=32)
    bars = {name: value for name, value, *_ in picture.chart["bars"]}
    assert list(bars) == ["one process", "one after the other", "GPipe", "1F1B"]
    assert min(bars.values()) > 0
    assert re.search(r"up to \d+\.\d times", picture.chart["said"])
