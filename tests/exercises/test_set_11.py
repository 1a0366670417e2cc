"""Exercises 11: clocks and fronts of real runs, formulas that agree with races, unfair records."""

from typing import Any

import numpy as np
import pytest

from course_lib.checks.lecture_11.predict_winner import TASK as WINNER
from course_lib.checks.lecture_11.what_is_unfair import REASONS
from course_lib.checks.lecture_11.what_is_unfair import TASK as UNFAIR
from course_lib.costs import TwoSites
from course_lib.lectures import lecture_11
from tests.exercises.answers import handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_11", solved=True)


def test_an_average_of_two_sites_is_that_of_the_library(solutions: dict[str, Any]) -> None:
    for latency_s, beta, n_bytes in ((0.1, 8e-9, 19_280), (1e-3, 1e-7, 1_000_000)):
        sites = TwoSites(1, 0.0, 0.0, latency_s, beta)
        exchange_s = float(sites.exchange_s(n_bytes))
        for step_s, part in ((0.01, 0.5), (0.3, 0.9)):
            found = solutions["steps_between"](latency_s, beta, n_bytes, step_s, part)
            assert found == lecture_11.least_every(exchange_s, step_s, part)
            assert found != lecture_11.least_every(exchange_s / 2, step_s, part) or found == 1


def test_the_front_is_the_one_that_the_lecture_draws(solutions: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    places = {f"s{k}": tuple(place) for k, place in enumerate(rng.integers(1, 9, (12, 2)).tolist())}
    assert solutions["pareto_front"](places) == lecture_11.on_the_front(places)


@pytest.mark.parametrize("numbers", [(4, 320, 60, 10, 100, 650), (3, 50, 1000, 4, 100, 180)])
def test_what_is_raced_is_what_the_formula_says(
    numbers: tuple[int, ...], solutions: dict[str, Any]
) -> None:
    found, told = WINNER.measure(*numbers), solutions["predict_winner"](*numbers)
    assert found["nobody_us"] == pytest.approx(told["nobody_us"], rel=1e-12)
    assert {**found, "nobody_us": 0} == {**told, "nobody_us": 0}
    without = solutions["predict_winner"](numbers[0], numbers[1], 0, *numbers[3:])
    assert abs(without["all_us"] / found["all_us"] - 1) > 0.03, "messages are to be seen"


def test_each_scheme_wins_somewhere(solutions: dict[str, Any]) -> None:
    winners = {solutions["predict_winner"](*numbers)["first"] for numbers in WINNER.tried()}
    assert winners >= {0, 1, 2}


NEARLY = {
    **dict.fromkeys(("not best", "at the end", "at the smallest", "at the largest"), "untuned"),
    **dict.fromkeys(("never there", "alone", "one of two"), "untuned"),
    **dict.fromkeys(("a bit late", "a bit early"), "another clock"),
    "a bit warm": "warm start", "a bit easier": "easier target",
}  # fmt: skip


@pytest.mark.parametrize("secret", range(10))
def test_what_is_planted_in_a_record_is_what_the_rules_find(secret: int) -> None:
    for case in UNFAIR.cases(secret):
        (records,) = UNFAIR.arguments(case, 0, 0)
        told = UNFAIR.expected(case, [(records,)])[0]
        for record, plants in zip(records, case.settings["plants"], strict=True):
            due = {NEARLY.get(plant, plant) for plant in plants} & set(REASONS)
            everywhere = {p for p in ("warm start", "easier target")
                          if all(p in others for others in case.settings["plants"])}  # fmt: skip
            assert set(told.get(record["scheme"], [])) == due - everywhere


def test_what_was_sent_in_is_unfair_in_every_way(solutions: dict[str, Any]) -> None:
    found = solutions["what_is_unfair"](lecture_11.sent_in())
    assert found == {
        "all-reduce": ["untuned"],
        "Downpour": ["warm start", "another clock"],
        "local SGD": ["untuned", "easier target"],
    }
