"""Exercises 06: papers that agree with runs, and the numbers that the texts name."""

import math
from typing import Any

import pytest

from course_lib import checks
from course_lib.checks.cost import measured_price
from course_lib.checks.lecture_06.best_workers import TASK as WORKERS
from course_lib.checks.lecture_06.critical_path import TASK as STEP
from course_lib.checks.lecture_06.exchange_layerwise import TASK as LAYERWISE
from course_lib.checks.lecture_06.hidden_seconds import TASK as HIDDEN
from course_lib.checks.lecture_06.predict_bucket import TASK as BUCKET
from course_lib.checks.lecture_06.predict_bucket import run_buckets, step_on_paper
from course_lib.checks.lecture_06.steps import in_turn_s, run_step
from course_lib.checks.task import ALL_SIZES
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import Network
from course_lib.measure.training_step import one_step
from course_lib.models.published import LayerSize
from course_lib.schemes import data_parallel, layerwise_bucketed
from tests.exercises.answers import handed_in

MANY = 100  # workers


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_06", solved=True)


@pytest.mark.parametrize("numbers", STEP.tried(), ids=STEP.told)
def test_the_critical_path_on_paper_is_what_a_run_takes(numbers: Any) -> None:
    forward, backward, exchange = numbers
    overlapped_s = sum(forward) + in_turn_s(backward, exchange)
    assert run_step(*numbers, True) == pytest.approx(overlapped_s, rel=1e-12)
    assert run_step(*numbers, False) == pytest.approx(sum(map(sum, numbers)), rel=1e-12)


def test_the_texts_name_the_right_times() -> None:
    ms = 1e-3
    assert run_step((ms,) * 3, (2 * ms,) * 3, (3 * ms,) * 3, True) == pytest.approx(14 * ms)
    heavy_first = run_step((ms,) * 3, (2 * ms,) * 3, (5 * ms, ms, ms), True)
    heavy_last = run_step((ms,) * 3, (2 * ms,) * 3, (ms, ms, 5 * ms), True)
    assert (heavy_first, heavy_last) == pytest.approx((14 * ms, 12 * ms))


@pytest.mark.parametrize("numbers", BUCKET.tried(), ids=BUCKET.told)
def test_every_size_of_bucket_takes_on_paper_what_it_takes_in_a_run(numbers: Any) -> None:
    on_paper = step_on_paper(*numbers)
    for layers in range(1, numbers[0] + 1):
        assert run_buckets(layers, *numbers) == pytest.approx(on_paper(layers), rel=1e-9)


def test_the_library_s_scheme_takes_what_the_bucket_s_paper_says() -> None:
    n_layers, layer_bytes, backward_s, size, latency_s, bandwidth = BUCKET.tried()[0]
    network = Network("unknown", latency_s, bandwidth, flops_per_s=1e12)
    flops = backward_s * 1.5e12  # a backward pass is two thirds
    layers = [LayerSize(f"L{k}", layer_bytes // 4, flops) for k in range(n_layers)]
    best = BUCKET.measure(*BUCKET.tried()[0])
    took_s = one_step(
        layerwise_bucketed, layers, workers=size, network=network,
        bucket_bytes=best["layers"] * layer_bytes,
    ).seconds  # fmt: skip
    assert took_s - n_layers * backward_s / 2 == pytest.approx(best["seconds"], rel=1e-4)


def test_the_first_bucket_to_choose_is_neither_one_layer_nor_all_nor_a_divisor() -> None:
    n_layers = BUCKET.tried()[0][0]
    best = BUCKET.measure(*BUCKET.tried()[0])["layers"]
    assert 1 < best < n_layers
    assert n_layers % best


@pytest.mark.parametrize("numbers", WORKERS.tried(), ids=WORKERS.told)
def test_the_best_number_of_workers_takes_its_time_in_a_run(numbers: Any) -> None:
    batch, example_s, n_bytes, latency_s, bandwidth = numbers
    best = WORKERS.measure(*numbers)
    network = Network("unknown", latency_s, bandwidth, flops_per_s=1e12)
    whole = [LayerSize("all", n_bytes // 4, flops=example_s * 1e12)]

    def took_s(workers: int) -> float:
        return one_step(
            data_parallel, whole, workers=workers, batch=batch, network=network, steps=(1, 2)
        ).seconds

    assert took_s(best["workers"]) == pytest.approx(best["seconds"], rel=1e-4)
    if best["workers"] > MANY:
        return  # 222,000 messages a step, which take seconds: once is enough
    for other in {max(1, best["workers"] - 1), min(batch, best["workers"] + 1)}:
        assert took_s(other) >= took_s(best["workers"])


@pytest.mark.parametrize("size", ALL_SIZES)
def test_reference_price_is_what_the_solution_costs(size: int, solutions: dict[str, Any]) -> None:
    case = next(c for c in LAYERWISE.cases(3) if c.workers == size and c.calls == 1)

    def one_call(comm: Any) -> Any:
        arguments = LAYERWISE.arguments(case, comm.rank, 0)
        return LAYERWISE.call(solutions["exchange_layerwise"], comm, arguments)

    cost = measured_price(run(one_call, workers=size, backend="simulated"), 1)  # type: ignore[arg-type]
    price = LAYERWISE.price(case)
    assert cost.seconds == pytest.approx(price.seconds, rel=1e-12)
    assert cost._replace(seconds=None, rounds=None) == price._replace(seconds=None)


def test_the_colleague_s_exchange_is_right_but_too_slow(solutions: dict[str, Any]) -> None:
    report = checks.exchange_layerwise(solutions["slow_exchange"])
    assert report.hint_id == "too-long"
    assert "the result is right" in repr(report)


def test_hidden_seconds_of_the_lecture_s_three_layers() -> None:
    hidden = {
        case.label.split(":")[0]: HIDDEN.expected(case, [HIDDEN.arguments(case, 0, 0)])[0]
        for case in HIDDEN.cases(0)
    }
    assert hidden["three layers, one after the other on the network"] == 4.0
    assert hidden["three layers, each waited for at once"] == 0.0
    assert hidden["two exchanges at the same time"] == 2.0
    assert not math.isnan(hidden["nothing is computed"])
