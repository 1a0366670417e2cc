"""Whatever a function returns, the verdict is a sentence: no hint may fail over a strange value."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from course_lib.checks import sandbox, verdict
from course_lib.checks.check import pack_call
from course_lib.checks.diagnosis import Diagnosis
from course_lib.checks.plain import plain
from course_lib.checks.task import Task
from tests.exercises.answers import RIGHT_ANSWERS, TASKS, load
from tests.exercises.test_answers import task_of

N_TRIES = 7


def strange(right: Any, rng: random.Random) -> Any:
    """Make something else of a right value, or leave it."""
    values = [None, True, 3, 2.5, float("nan"), "x", object(), [1, 2], {"a": 1}, {}, right, right]
    values += [np.array(3.0), np.zeros(0), np.zeros((2, 2)), [right]]
    if isinstance(right, np.ndarray) and right.ndim:
        values += [right + 1, -right - 1, right[::-1].copy(), np.concatenate([right, right])]
        values += [right.astype(kind) for kind in (complex, bool, np.float16)]
        values += [np.full(right.shape, special, float) for special in (np.nan, np.inf, -1e300)]
    if isinstance(right, dict):
        values += [dict.fromkeys(right, wrong) for wrong in (None, "x", np.nan, -1, 0)]
    return plain(rng.choice(values))


@pytest.mark.parametrize("name", TASKS)
def test_strange_results_are_judged(name: str) -> None:
    task: Task = task_of(name)
    answer = next(path for path in RIGHT_ANSWERS if path.parent.name == name)
    cases, rng = list(task.cases(5))[:2], random.Random(name)
    packed = pack_call(load(answer), ())
    seen = [sandbox.observe(packed, task, case) for case in cases]
    verdicts = []
    for case, right in zip(cases, seen, strict=True):
        for _ in range(N_TRIES):
            with np.errstate(over="ignore"):  # float16 cannot hold everything
                values = [[strange(value, rng) for value in call] for call in right.values]
            verdicts.append(verdict.judge(task, case, replace(right, values=values)))
    told = [verdict for verdict in verdicts if isinstance(verdict, Diagnosis)]
    assert len(told) > len(verdicts) / 2
    assert all(fault.says and fault.hint.text for fault in told)
