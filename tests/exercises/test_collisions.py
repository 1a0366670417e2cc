"""Who makes one of the usual mistakes is told of this one, in the first case where it shows."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from course_lib.checks.comparator import difference
from course_lib.checks.lecture_06.answers import ChoiceTask
from course_lib.checks.prediction import PredictTask
from course_lib.checks.task import Case
from tests.exercises.answers import TASKS
from tests.exercises.test_answers import task_of

Results = dict[tuple[str, ...], Any]
"""What each mistake gives in one case, by its hint's id and a number, in the order of asking."""

MOST_CASES = 12
TWO_IN_ONE = {
    ("sgd_epoch", "sum-and-rest", "sum"),  # of two mistakes, one is told first
    ("map_reduce", "one-step-less", "no-step"),  # of one step; the text has both
    ("hidden_seconds", "one-by-one", "none"),  # the text is the same
    ("gradient_step", "one-for-all-features", "not-all-divided"),  # of one feature
    ("early_answers", "some-gradients", "other-moments"),  # the text has both
    ("resume_faults", "to-the-bit", "nan-is-itself"),  # of two mistakes, one is told first
    ("resume_faults", "dtype", "nan-is-itself"),
    ("cheapest_grid", "nearest", "extremes-only"),  # the nearer divisor is an extreme there
    ("cheapest_grid", "ends-too", "every-divisor"),  # without 1 they are the even ones there
}
"""Task, mistake, and the hint that is right for it as well, in a case in which it shows first."""


def numbered(found: Iterator[tuple[tuple[str, ...], Any]]) -> Results:
    counts: Counter[tuple[str, ...]] = Counter()
    results: Results = {}
    for name, value in found:
        results[*name, str(counts[name])] = value
        counts[name] += 1
    return results


def mistakes(task: Any, case: Case) -> tuple[dict[str, Any], Results]:
    """Give the right results of a case, by the number that is asked for, and the wrong ones."""
    if isinstance(task, PredictTask):
        numbers = tuple(case.settings["numbers"])
        right = task.expected(case, [numbers])[0]
        if isinstance(task, ChoiceTask):
            wrong = (((h, ""), found) for h, _, found in task.wrong_answers(*numbers))
            return {"": right}, numbered(wrong)
        told = task.alternatives(*numbers)
        return right, numbered(
            ((hint, name), number) for name in told for hint, _, number in told[name]
        )
    arguments = [task.arguments(case, rank, 0) for rank in range(case.workers)]
    expected = list(task.expected(case, arguments))
    made = task.mistakes(case, arguments)
    return {"": expected}, numbered(((m.id, ""), list(m.values)) for m in made)


def misled(task: Any, secret: int) -> list[str]:
    """List mistakes that another one's hint is given to."""
    most = 3 if isinstance(task, PredictTask) else MOST_CASES  # they run what is predicted
    cases = [*islice(task.cases(secret), most)]
    told = [mistakes(task, case) for case in cases]
    found = []
    for key in dict.fromkeys(key for _, wrong in told for key in wrong):
        for case, (right, wrong) in zip(cases, told, strict=True):
            value = wrong.get(key)
            if value is None or difference(right[key[1]], value, may_be_empty=True) is None:
                continue
            same = (
                other for other in wrong
                if other[1] == key[1] and difference(wrong[other], value, may_be_empty=True) is None
            )  # fmt: skip
            first = next(same, key)
            if first[0] != key[0] and (task.name, key[0], first[0]) not in TWO_IN_ONE:
                found.append(f"{key[0]} is taken for {first[0]} ({case})")
            break
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_usual_mistake_is_told_from_the_others_where_it_shows_first(name: str) -> None:
    assert misled(task_of(name), secret=1) == []
