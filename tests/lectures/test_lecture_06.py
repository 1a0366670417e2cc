"""What lecture 06 runs: priced and simulated steps, buckets, orders, scaling, history."""

import math
from dataclasses import replace
from functools import partial

import pytest

from course_lib import networks
from course_lib.lectures import lecture_06
from course_lib.measure import one_step
from course_lib.models.published import PUBLISHED, LayerSize
from course_lib.models.stand_in import StandIn
from course_lib.schemes import data_parallel

THREE = [LayerSize(name, 500_000, flops=3e9) for name in ("L1", "L2", "L3")]
FAST = networks.Network("1 GB/s", 0.0, 1e9, flops_per_s=1e12)


def points_of(picture):
    return {
        line["name"]: dict(zip(line["x"], line["y"], strict=True))
        for line in picture.chart["lines"]
    }


@pytest.mark.parametrize("workers", [2, 3, 4, 8])
@pytest.mark.parametrize("bucket_bytes", [0, 3e6, math.inf])
def test_a_priced_step_is_the_simulated_one(workers, bucket_bytes):
    layers = [LayerSize("L1", 300_000, 2e9), *THREE[1:], LayerSize("L4", 900_000, 1e9)]
    slow = replace(FAST, latency_s=1e-4)
    priced = lecture_06.step_s(layers, workers, 2, slow, bucket_bytes)
    there = {"workers": workers, "batch": 2 * workers, "network": slow}
    scheme = lecture_06.in_turn
    simulated = one_step(scheme, layers, bucket_bytes=bucket_bytes, **there).seconds
    assert priced == pytest.approx(simulated, rel=2e-3)
    other = math.inf if bucket_bytes == 0 else 0  # what is priced must not be the wrong bucket
    assert priced != pytest.approx(lecture_06.step_s(layers, workers, 2, slow, other), rel=2e-3)


def test_nothing_travels_before_its_layer_is_ready():
    heavy_first = [THREE[0]._replace(n_parameters=1_500_000), *(
        layer._replace(n_parameters=0) for layer in THREE[1:])]  # fmt: skip
    took_s = [lecture_06.step_s(heavy_first, 4, 1, FAST, size) for size in (0, math.inf)]
    assert took_s == [pytest.approx(0.018)] * 2, "what the first layer weighs cannot be hidden"


def test_networks_are_compared_with_and_without_overlap():
    bars = {name: value for name, value, *_ in lecture_06.networks_chart(10, 64).chart["bars"]}
    assert bars["AlexNet, at the end"] == pytest.approx(16.0, abs=0.2)
    assert bars["VGG-16, layer by layer"] > 99
    assert len(bars) == 8


def test_the_best_bucket_is_neither_the_smallest_nor_the_largest():
    picture = lecture_06.bucket_chart("GoogLeNet", 200)
    took = points_of(picture)["a step"]
    best = min(took, key=took.get)
    assert best == 10
    assert f"Best are buckets of {best:.3g} MB" in picture.chart["said"]


def test_the_planned_order_is_the_best_of_the_six():
    slower = replace(FAST, bandwidth_bytes_per_s=6e8)
    assert lecture_06.planned(THREE, 4, 1, slower) == [2, 0, 1]
    titles = [
        name
        for order in ("L3, L1, L2", "L1, L3, L2")
        for name in lecture_06.in_order(THREE, slower, order).names
    ]
    assert titles == [
        "waits for all: 20 ms a step", "by need: 19 ms a step",
        "waits for all: 20 ms a step", "by need: 23 ms a step",
    ]  # fmt: skip


def test_the_fastest_number_of_workers_is_said_with_the_formulas():
    picture = lecture_06.step_chart(10, 1024)
    assert "Fastest with 342 of up to 1,024 workers (the formula says 391)" in picture.chart["said"]
    took = points_of(picture)["a step"]
    assert min(took, key=took.get) in (256, 512)
    assert "stay alone" in lecture_06.step_chart(1, 64).chart["said"]


def test_a_server_is_forty_to_fifty_percent_efficient_with_four_workers_only():
    curve = points_of(lecture_06.efficiency_chart("weak: 64 each", 10))["server"]
    assert [P for P, part in curve.items() if 0.4 < part < 0.5] == [4]


def test_two_workers_pay_or_none_do():
    verdicts = [lecture_06.worth(case)["pays from"] for case in lecture_06.CASES]
    assert verdicts == ["never", "2 workers", "never", "2 workers", "never", "2 workers"]


@pytest.mark.parametrize("name", ["Intel", "Amazon"])
def test_an_allreduce_of_a_short_vector_takes_what_the_whole_one_does(name):
    each = lecture_06.REPORTED[name]._replace(workers=16)
    scheme = partial(data_parallel, allreduce=each.allreduce)
    share = lecture_06.efficiency(scheme, each.sizes, 16, each.each, each.network)
    assert lecture_06.possible(lecture_06.ratio(each))[0] == pytest.approx(share, rel=2e-3)
    twice = lecture_06.allreduce_s(each, 2.0) / lecture_06.allreduce_s(each)
    assert 0.49 < twice < 0.55, "bytes take half the time, latency the same"


def test_what_is_possible():
    assert lecture_06.possible(0.5) == (pytest.approx(1 / 3), pytest.approx(1 / (1 + 4 / 3)))
    assert lecture_06.possible(1.6)[1] == 1.0, "at most two thirds of the computing hide it"
    assert lecture_06.REPORTED["Berkeley"].efficiency == pytest.approx(0.367, abs=1e-3)
    assert set(PUBLISHED) >= set(lecture_06.SHOWN)


def test_a_step_begins_where_the_first_worker_computes():
    alike = StandIn.of({"L1": 250_000, "L2": 250_000, "L3": 250_000}, flops_per_example=9e9)
    trace = lecture_06.one_step_of(lecture_06.in_turn, alike, FAST)
    assert min(span.start_s for span in trace.computes) == 0
    assert trace.n_messages == 3 * 4 * 6
    assert {message.n_bytes for message in trace.messages} == {500_000}
    whole_s = lecture_06.step_s(THREE, 4, 1, FAST, 0)
    assert trace.end_s == pytest.approx(whole_s, rel=0.06), "and the update"
