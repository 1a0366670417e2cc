"""The mistakes that a task knows, recognised in what the ranks have returned."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference, difference, first_difference
from course_lib.checks.task import Case, Given, Hint, Task

__all__ = ["FLOAT", "is_finite", "known_mistake", "mistake_of_one", "right_but_floats"]

FLOAT = (
    "the number is right, but it is a float: / makes one even where nothing is left over; divide "
    "with //, or make it whole with int()"
)
"""What to say to a float where a whole number is asked for."""


def known_mistake(task: Task, case: Case, arguments: Given, got: Sequence[Any]) -> Hint | None:
    """Recognise a mistake by what all ranks have returned.

    Parameters
    ----------
    task : Task
        Knows the mistakes.
    case : Case
        What was run.
    arguments : sequence of tuple
        What each rank was given.
    got : sequence
        What each returned.

    Returns
    -------
    Hint or None
        None if it is none that is known.
    """
    for mistake in task.mistakes(case, arguments):
        if not all(map(is_finite, mistake.values)):
            continue  # NaN is like any other NaN: it tells nothing about where it comes from
        same = first_difference(
            mistake.values,
            got,
            n_terms=task.rounding_terms,
            scale=task.scale(case, arguments),
            may_be_empty=task.empty_results,
        )
        if same is None:
            return Hint(mistake.id, mistake.text)
    return None


def mistake_of_one(
    task: Task, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
) -> tuple[Hint, Difference] | None:
    """Recognise a mistake by the one rank that is to return something, if others do so, too.

    Then two things are wrong, and the sentence names both.

    Parameters
    ----------
    task : Task
        Knows the mistakes.
    case : Case
        What was run.
    arguments : sequence of tuple
        What each rank was given.
    got : sequence
        What each returned.
    wrong : Difference
        The first thing that is wrong.

    Returns
    -------
    tuple of (Hint, Difference), or None
        What was recognised, and the sentence.
    """
    options: dict[str, Any] = {"n_terms": task.rounding_terms, "scale": task.scale(case, arguments)}
    for mistake in task.mistakes(case, arguments):
        returning = [rank for rank, value in enumerate(mistake.values) if value is not None]
        if case.workers == 1 or returning != [wrong.rank] or len(got) != case.workers:
            continue
        (rank,) = returning
        if difference(mistake.values[rank], got[rank], **options) is None:
            others = [None if k == rank else got[k] for k in range(case.workers)]
            second = first_difference([None] * case.workers, others)
            says = f"{wrong.says}; {second.says}" if second else wrong.says
            return Hint(mistake.id, mistake.text), wrong._replace(says=says)
    return None


def right_but_floats(task: Task, case: Case, arguments: Given, got: Sequence[Any]) -> Hint | None:
    """Notice results that would be right if their floats were the whole numbers that they are.

    Parameters
    ----------
    task : Task
        Knows the right values.
    case : Case
        What was run.
    arguments : sequence of tuple
        What each rank was given.
    got : sequence
        What each returned.

    Returns
    -------
    Hint or None
        None if something else is wrong.
    """
    made_whole = [_made_whole(value) for value in got]
    return Hint("float", FLOAT) if task.compare(case, arguments, made_whole) is None else None


def _made_whole(value: Any) -> Any:
    if isinstance(value, list):
        return type(value)(map(_made_whole, value))
    if isinstance(value, dict):
        return {name: _made_whole(one) for name, one in value.items()}
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_finite(value: Any) -> bool:
    """Tell whether a value has neither NaN nor infinity.

    Parameters
    ----------
    value : object
        What ``plain`` gives.

    Returns
    -------
    bool
        True for what is no floating-point number.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return bool(np.isfinite(value).all())
    return not isinstance(value, float) or math.isfinite(value)
