"""Exercises 12: what the checks measure, and that each case tells something apart."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from authoring.build import ROOT
from course_lib.checks.lecture_12 import choose_scheme
from course_lib.checks.lecture_12.predict_bound import TASK as BOUND
from course_lib.checks.lecture_12.resume_faults import TASK as FAULTS
from course_lib.checks.lecture_12.steps_done import TASK as STEPS
from course_lib.lectures import lecture_12
from tests.exercises.answers import handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_12", solved=True)


@pytest.mark.parametrize("numbers", [(2, 100, 8, 1000, 100), (5, 33, 7, 900, 61)])
def test_a_step_that_runs_takes_what_the_formulas_say(
    numbers: tuple[int, ...], solutions: dict[str, Any]
) -> None:
    measured, told = BOUND.measure(*numbers), solutions["predict_bound"](*numbers)
    assert measured == pytest.approx(told, rel=1e-9)
    workers, chunk, _, flops_per_us, bytes_per_us = numbers
    per_example_us = 6 * workers * chunk / flops_per_us
    exchange_us = measured["sent_bytes"] / bytes_per_us
    least = measured["least_batch"]
    assert (least - 1) * per_example_us < exchange_us <= least * per_example_us


def test_the_batches_of_the_devices_are_seven_quarters_of_the_lectures(
    solutions: dict[str, Any],
) -> None:
    book = json.loads((ROOT / "solutions/12_beyond_one_machine.ipynb").read_text(encoding="utf-8"))
    (cell,) = [cell for cell in book["cells"] if "rows[name][nic] =" in "".join(cell["source"])]
    shown = "".join(cell["outputs"][0]["data"]["text/plain"])
    for name, device in lecture_12.DEVICES.items():
        for nic in ("1 Gbit/s", "100 Gbit/s"):
            speeds = round(device.flops_per_s / 1e6), round(lecture_12.NICS[nic] / 1e6)
            least = solutions["predict_bound"](8, 10**6, 1, *speeds)["least_batch"]
            assert least == pytest.approx(7 / 4 * lecture_12.least_batch(name, nic), abs=2)
            assert f"{least:,}" in shown


@pytest.mark.parametrize("secret", range(6))
def test_the_rounds_that_run_choose_as_the_formulas_do(
    secret: int, solutions: dict[str, Any]
) -> None:
    for case in choose_scheme.TASK.cases(secret):
        arguments = choose_scheme.TASK.arguments(case, 0, 0)
        (right,) = choose_scheme.TASK.expected(case, [arguments])
        assert solutions["choose_scheme"](*arguments) == right


def test_the_choices_may_be_an_array() -> None:
    case = next(iter(choose_scheme.TASK.cases(0)))
    arguments = [choose_scheme.TASK.arguments(case, 0, 0)]
    (right,) = choose_scheme.TASK.expected(case, arguments)
    assert choose_scheme.TASK.compare(case, arguments, [np.array(right)]) is None
    wrong = [np.array([int(best == 0) for best in right])]
    found = choose_scheme.TASK.compare(case, arguments, wrong)
    assert found is not None
    hint = choose_scheme.TASK.explain(case, arguments, wrong, found)
    assert hint is not None
    assert hint.id == "planner"


def test_the_first_cases_of_the_capstone_tell_all_mistakes_apart() -> None:
    met = set()
    for case in choose_scheme.TASK.cases(0):
        if case.label != "drawn at random":
            arguments = [choose_scheme.TASK.arguments(case, 0, 0)]
            right = choose_scheme.TASK.expected(case, arguments)
            met |= {one.id for one in choose_scheme.TASK.mistakes(case, arguments)
                    if list(one.values) != right}  # fmt: skip
    everything = {one.id for one in choose_scheme.TASK.mistakes(case, arguments)}
    assert met == everything


@pytest.mark.parametrize(("n", "n_bytes_us"), [(800, 100), (3200, 7)])
def test_a_round_takes_what_a_ring_and_a_server_take(n: int, n_bytes_us: int) -> None:
    ring, server = (lecture_12.Way(kind, 4, 64, 1) for kind in ("ring", "server"))
    vector_us = 4 * n / n_bytes_us
    told = [16 * 20 + 6 * (50 + vector_us / 4), 16 * 20 + 2 * 50 + 6 * vector_us]
    took = [lecture_12.round_us(way, n, 20, 50, n_bytes_us) for way in (ring, server)]
    assert took == pytest.approx(told, rel=1e-6)


def test_a_training_that_dies_takes_every_step_and_ends() -> None:
    for case in STEPS.cases(5):
        (steps,) = STEPS.expected(case, [STEPS.arguments(case, 0, 0)])
        n_steps, every, deaths = case.settings["numbers"]
        assert set(steps) == set(range(1, n_steps + 1))
        assert len(steps) <= n_steps + sum(deaths)
        for before, after in pairwise(steps):
            assert after == before + 1 or (after - 1) % every == 0


def test_each_label_of_the_faults_is_what_it_says() -> None:
    found = {case.label: FAULTS.expected(case, [FAULTS.arguments(case, 0, 0)])[0]
             for case in FAULTS.cases(0) if len(case.settings["faults"]) <= 1}  # fmt: skip
    assert found.pop("all is well") == []
    assert all(len(names) == 1 for names in found.values())
    assert found["one that nobody saved"] == ["generator"]
