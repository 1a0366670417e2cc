"""What lecture 03 runs: one bug at a time, and the signature of each."""

import numpy as np
import pytest

from course_lib import run
from course_lib.data.digits import load_digits
from course_lib.lectures.lecture_03 import BUGS, broken, diagnose, epochs_to
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
    assert runs["sum for mean"].values[0].last != runs[None].values[0].last


def test_the_diagnosis_says_yes_to_the_bug_alone(runs):
    assert set(CASES.values()) == set(BUGS) == set(SIGNS)
    for case, bug in CASES.items():
        said = {answer: diagnose(case, answer, runs, runs[None]).chart["said"] for answer in BUGS}
        assert [answer for answer, text in said.items() if text.startswith("Yes")] == [bug]
        assert bug not in diagnose(case, "?", runs, runs[None]).chart["said"]


def test_an_unknown_bug_is_refused():
    with pytest.raises(Exception, match="bug must be None or one of no broadcast"):
        run(broken, MODEL, X, Y, PLAN, "no luck", workers=2, backend="simulated")


def test_parts_are_disjoint_and_complete():
    parts = unequal_parts(np.arange(64))
    assert [len(part) for part in parts] == [4, 4, 4, 52]
    assert np.array_equal(np.concatenate(parts), np.arange(64))


@pytest.mark.parametrize(("rate", "found"), [(0.5, True), (1e-4, False), (50.0, False)])
def test_epochs_are_counted_until_the_target_or_given_up(rate, found):
    plan = Plan(learning_rate=rate, batch_size=32, epochs=12)
    epochs = epochs_to(MODEL, X, Y, plan, target=1.5)
    assert (epochs is not None) == found
    if found:
        losses = np.array(train(MODEL, X, Y, plan).losses).reshape(12, -1).mean(axis=1)
        assert losses[epochs - 1] < 1.5 <= losses[epochs - 2]
