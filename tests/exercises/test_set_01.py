"""Exercises 01: one truth in notebook, check and library; luck fails no right answer."""

import ast
from typing import Any

import numpy as np
import pytest

from authoring.scripts import read_script
from course_lib import checks
from course_lib.checks.lecture_01.minibatches import TASK as MINIBATCHES
from course_lib.checks.lecture_01.predict_batch_size import TASK as PREDICT
from course_lib.checks.task import Case
from course_lib.models.landscape import gradient_spread
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import train
from course_lib.training import Plan
from tests.exercises.answers import SETS, handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_01", solved=True)


def test_an_epoch_of_the_solutions_is_an_epoch_of_the_library(solutions: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(23, 2)), rng.normal(size=23)
    order = np.random.default_rng([7, 0]).permutation(23)
    mine = solutions["sgd_epoch"](np.zeros(3), order, X, y, 5, 0.1)
    ours = train(LinearRegression(2), X, y, Plan(0.1, batch_size=5, seed=7)).w
    assert np.abs(mine - ours).max() < 1e-14
    step = solutions["gradient_step"](np.zeros(3), X, y, 0.1)
    one = train(LinearRegression(2), X, y, Plan(0.1, batch_size=23)).w
    assert np.abs(step - one).max() < 1e-14
    assert np.abs(step - mine).max() > 1e-3


def test_noise_scale_is_the_librarys_spread_over_the_squared_length(
    solutions: dict[str, Any],
) -> None:
    rng = np.random.default_rng(4)
    batch = rng.normal(size=(30, 2)), rng.normal(size=30)
    rows, spread = gradient_spread(LinearRegression(2), np.ones(3), batch)
    mean = rows.mean(axis=0)
    assert solutions["noise_scale"](rows) == pytest.approx(spread / (mean @ mean), rel=1e-12)


def test_the_colleagues_bugs_are_told_one_after_the_other() -> None:
    cell = next(cell for cell in read_script(SETS["lecture_01"]) if cell.id == "colleague")
    tree = ast.parse(cell.source)
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    space: dict[str, Any] = {"np": np}
    exec(compile(tree, "<colleague>", "exec"), space)
    assert checks.sgd_epoch(space["colleague"]).hint_id == "sum"
    source = ast.unparse(tree).replace("error.sum()", "error.mean()")
    fixed = source.replace("X[rows].T @ error", "X[rows].T @ error / batch_size")
    exec(compile(fixed, "<half fixed>", "exec"), space)
    assert checks.sgd_epoch(space["colleague"]).hint_id == "rest-lost"


@pytest.mark.parametrize("numbers", [(180, 4, 40, 20), (6, 1, 10, 1), (12, 1, 10, 1), (1, 1, 1, 1)])
def test_both_of_two_equally_fast_sizes_are_right(numbers: tuple[int, ...]) -> None:
    step, example, fewest, critical = numbers
    times = {
        size: fewest * (1 + critical / size) * (step + example * size) for size in range(1, 100)
    }
    least = min(times.values())
    case = Case(1, "", alone=True, settings={"numbers": numbers})
    for size, time_us in times.items():
        answer = {"best_size": size, "steps": fewest * (1 + critical / size), "time_us": time_us}
        wrong = PREDICT.compare(case, [numbers], [answer])
        assert (wrong is None) == (time_us < least * (1 + 1e-12)), size


def test_random_orders_are_never_called_unshuffled() -> None:
    for secret in range(300):
        for case in MINIBATCHES.cases(secret):
            right = MINIBATCHES.expected(case, [MINIBATCHES.arguments(case, 0, 0)])
            assert MINIBATCHES.compare(case, [], right) is None
