"""Exercises 03: training on paper is training, and every log shows its own mistake only."""

from typing import Any

import numpy as np
import pytest

from course_lib import checks, run
from course_lib.checks.check import check
from course_lib.checks.lecture_03 import data
from course_lib.checks.lecture_03.average_every import AverageEvery
from course_lib.checks.lecture_03.data_parallel import DataParallel
from course_lib.checks.lecture_03.predict_rates import TASK as RATES
from course_lib.checks.lecture_03.weighted_mean import WeightedMean
from course_lib.checks.lecture_03.what_is_wrong import TASK as WRONG
from course_lib.checks.task import Task
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import data_parallel
from course_lib.training import Plan
from tests.exercises.answers import MUTANTS, load


def accepts(task: Task, mutant: str) -> bool:
    path = next(p for p in MUTANTS if p.parent.name == task.name and p.stem == mutant)
    return check(task, load(path), secrets=[3]).passed


@pytest.mark.parametrize("size", [1, 3, 4])
def test_training_on_paper_is_the_librarys_training(size: int) -> None:
    rng, plan = np.random.default_rng(size), Plan(learning_rate=0.1, batch_size=7)
    X, y = data.random_examples(rng, 23, 3)
    batches = [[s.examples for s in step] for step in zip(
        *(plan.shares(23, rank, size) for rank in range(size)), strict=True
    )]  # fmt: skip

    def weighed(grads: list[Any], counts: list[int]) -> list[Any]:
        whole = sum(n * grad for grad, n in zip(grads, counts, strict=True)) / sum(counts)
        return [whole] * size

    model = LinearRegression(3)
    ours = run(data_parallel, model, X, y, plan, workers=size, backend="simulated").values
    paper = data.simulate([model.initial()] * size, batches, X, y, weighed, 0.1)
    for w, training in zip(paper, ours, strict=True):
        np.testing.assert_allclose(w, training.w, rtol=0, atol=1e-13)


def test_each_log_shows_the_mistake_that_it_is_named_after_and_no_other() -> None:
    for case in WRONG.cases(5):
        weights, rows = WRONG.arguments(case, 0, 0)
        wrong = case.settings["wrong"]
        n_steps, size, n_rows = rows.shape[0], rows.shape[1], rows.size
        assert weights.shape == (n_steps + 1, size, 2)
        apart = np.abs(weights - weights[:, :1]).max(axis=(1, 2))
        assert (apart[0] > 0) == (wrong == "no broadcast")
        assert (apart.max() > 0) == (wrong in ("no broadcast", "no all-reduce"))
        who = case.settings["who"]
        rounds_off = "bit" in who and "at the end" not in who
        assert (apart[-1] > 0) == (apart.max() > 0 and "again" not in who and not rounds_off)
        twice = wrong == "other shuffles" or "as well" in who
        assert (len(np.unique(rows)) < n_rows) == twice
        if wrong == "no broadcast" and "last bit" not in who:
            np.testing.assert_allclose(apart, apart[0], rtol=1e-3)  # and they stay apart


@pytest.mark.parametrize(
    ("before", "after", "factors"), [(2, 4, [1, 0.5, 2, 1]), (12, 1, [1, 12, 1 / 12, 1])]
)
def test_measured_rates_are_those_that_the_text_derives(
    before: int, after: int, factors: list[float]
) -> None:
    assert list(RATES.measure(before, after).values()) == pytest.approx(factors, rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_budget_holds_for_a_ring_and_not_for_everybody_telling_all(size: int) -> None:
    ring, budget = data.reference(size, (100,), 100), data.most(size, (100,), 100)
    for spent, allowed in zip(ring[:3], budget[:3], strict=True):
        assert spent <= allowed
    if size > 2:
        assert 8 * 100 * size * (size - 1) > data.most(size, (100,)).n_bytes


def test_without_unequal_parts_a_mean_of_means_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    equal = [c for c in WeightedMean().cases(3) if len(set(c.settings["counts"])) == 1]
    monkeypatch.setattr(WeightedMean, "cases", lambda self, secret: iter(equal))
    assert accepts(WeightedMean(), "m01_mean_of_means")


def test_without_other_starts_a_forgotten_broadcast_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alike = [c for c in DataParallel().cases(3) if c.settings["alike"]]
    monkeypatch.setattr(DataParallel, "cases", lambda self, secret: iter(alike))
    monkeypatch.setattr(DataParallel, "price", lambda self, case: data.reference(1, ()))
    assert accepts(DataParallel(), "m01_no_broadcast")


def test_without_steps_beyond_the_last_turn_the_last_average_may_be_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = [c for c in AverageEvery().cases(3) if c.settings["n_rows"] % c.settings["every"] == 0]
    monkeypatch.setattr(AverageEvery, "cases", lambda self, secret: iter(full))
    assert accepts(AverageEvery(), "m01_last_average_forgotten")


def test_the_librarys_all_reduces_stay_forbidden_in_other_sets() -> None:
    report = checks.combine(load(next(p for p in MUTANTS if p.stem == "m19_library_allreduce")))
    assert (report.status, report.hint_id) == ("failed", "library-answer")
