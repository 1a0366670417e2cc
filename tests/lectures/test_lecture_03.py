"""What lecture 03 runs: one bug at a time, and the signature of each."""

import dataclasses

import numpy as np
import pytest

from course_lib import run
from course_lib.data.digits import load_digits
from course_lib.lectures.lecture_03 import (
    BUGS,
    broken,
    diagnose,
    rates_chart,
    steps_chart,
    steps_to,
)  # fmt: skip
from course_lib.lectures.lecture_03.broken import CASES, SIGNS, unequal_parts
from course_lib.models.mlp import mlp
from course_lib.schemes import train
from course_lib.training import Plan

DIGITS = load_digits()
X, Y = DIGITS.X_train[:256], DIGITS.y_train[:256]
MODEL = mlp(64, 8, 10)
PLAN = Plan(learning_rate=0.5, batch_size=64, epochs=1)


@pytest.fixture(scope="module")
def runs():
    return {
        bug: run(broken, MODEL, X, Y, PLAN, bug, workers=4, backend="simulated")
        for bug in (None, *BUGS)
    }


def test_without_a_bug_it_is_one_machines_training(runs):
    alone = train(MODEL, X, Y, PLAN)
    losses = np.mean([seen.losses for seen in runs[None].values], axis=0)
    assert losses == pytest.approx(alone.losses, abs=1e-12)
    last = [seen.last for seen in runs[None].values]
    assert last == pytest.approx([alone.w.sum()] * len(last), abs=1e-9)


def test_each_bug_shows_where_its_sign_says(runs):
    firsts, lasts, images = (
        {bug: len({look(seen) for seen in made.values}) for bug, made in runs.items()}
        for look in (
            lambda seen: seen.first, lambda seen: seen.last, lambda seen: tuple(seen.images)
        )
    )  # fmt: skip
    assert {bug for bug, n in firsts.items() if n > 1} == {"no broadcast"}
    assert {bug for bug, n in lasts.items() if n > 1} == {"no broadcast", "no all-reduce"}
    assert {bug for bug, n in images.items() if n == 1} == {"one shard for all"}
    unequal = runs["unequal parts, equal weights"].values
    assert [len(seen.images) for seen in unequal] == [16, 16, 16, 208]
    first_steps = {bug: made.values[0].step for bug, made in runs.items()}
    assert first_steps["sum for mean"] == pytest.approx(4 * first_steps[None])
    alone = run(broken, MODEL, X, Y, PLAN, workers=1, backend="simulated").values[0]
    assert alone.step == pytest.approx(first_steps[None])


def test_the_diagnosis_says_yes_to_the_bug_alone(runs):
    alone = run(broken, MODEL, X, Y, PLAN, workers=1, backend="simulated")
    assert set(CASES.values()) == set(BUGS) == set(SIGNS)
    for case, bug in CASES.items():
        said = {answer: diagnose(case, answer, runs, alone).chart["said"] for answer in BUGS}
        assert [answer for answer, text in said.items() if text.startswith("Yes")] == [bug]
        assert bug not in diagnose(case, "?", runs, alone).chart["said"]


def test_an_unknown_bug_is_refused():
    with pytest.raises(Exception, match="bug must be None or one of no broadcast"):
        run(broken, MODEL, X, Y, PLAN, "no luck", workers=2, backend="simulated")


def test_parts_are_disjoint_and_complete():
    parts = unequal_parts(np.arange(64))
    assert [len(part) for part in parts] == [4, 4, 4, 52]
    assert np.array_equal(np.concatenate(parts), np.arange(64))


@pytest.mark.parametrize(("rate", "found"), [(0.5, True), (1e-4, False), (50.0, False)])
def test_steps_are_counted_until_the_target_or_given_up(rate, found):
    plan = Plan(learning_rate=rate, batch_size=32, epochs=8)
    steps = steps_to(MODEL, (X, Y), (X, Y), plan, target=1.5, most=60)
    assert np.isfinite(steps) == found
    if found:
        # All rows as one batch: an epoch is a step, and a serial training may stop after any.
        many = dataclasses.replace(plan, batch_size=len(Y))
        steps = steps_to(MODEL, (X, Y), (X, Y), many, target=1.5, most=60)
        upto = [
            train(MODEL, X, Y, dataclasses.replace(many, epochs=int(n))) for n in (steps - 1, steps)
        ]
        assert MODEL.loss(upto[1].w, (X, Y)) < 1.5 <= MODEL.loss(upto[0].w, (X, Y))


def test_the_charts_leave_out_what_was_not_reached_and_name_the_best():
    of_rate = {0.1: [50.0, 60.0, 40.0], 0.4: [20.0, 30.0, 25.0], 1.6: [np.inf, 30.0, np.inf]}
    drawn = rates_chart(of_rate, 32).chart
    assert drawn["lines"][0]["x"] == [0.1, 0.4]
    assert drawn["points"] == [["best: 0.4", 0.4, 25.0]]
    assert "25 steps at its best rate, 0.4; most seeds never get there at 1.6" in drawn["said"]
    both = steps_chart({8: [100.0, 120.0], 32: [50.0, 60.0]}, {32: [200.0, 240.0]}).chart
    told = {line["name"]: line["y"] for line in both["lines"] if not line["faint"]}
    assert told["each batch at its best rate"] == [110, 55]
    assert told["twice the batch, half of the steps"] == [110, 27.5]
