"""Solutions pass, stubs are not written yet, every planted wrong answer meets its hint."""

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from course_lib import checks
from course_lib.checks.check import check
from course_lib.checks.prediction import PredictTask
from course_lib.checks.task import LocalTask, Task
from tests.exercises.answers import (
    MUTANTS,
    RIGHT_ANSWERS,
    SETS,
    TASKS,
    handed_in,
    header,
    load,
    name_of,
)

WHOLE_ALGORITHMS = {
    *("combine", "map_reduce", "data_parallel", "parameter_server"),
    *("allreduce_tree", "allreduce_butterfly", "reduce_scatter_ring", "allreduce_ring"),
    *("exchange_layerwise", "order_1f1b", "run_order"),
    *("asynchronous_server", "column_row", "lock_free", "place_nodes", "asha_next"),
}


def task_of(name: str) -> Task:
    return checks.task_named(name)


def defined(*, solved: bool) -> dict[str, object]:
    """Return what the sets define, but not what they import: it may be called as a task is."""
    return {
        name: fn
        for set_name in SETS
        for name, fn in handed_in(set_name, solved=solved).items()
        if getattr(fn, "__module__", None) == "__main__"
    }


@pytest.fixture(scope="module")
def solutions() -> dict[str, object]:
    return defined(solved=True)


@pytest.fixture(scope="module")
def stubs() -> dict[str, object]:
    return defined(solved=False)


@pytest.mark.parametrize("name", TASKS)
def test_solution_passes_and_costs_what_the_reference_column_says(
    name: str, solutions: dict[str, object]
) -> None:
    # Another seed for each; right answers are checked with many (below).
    report = check(task_of(name), solutions[name], secrets=[1 + TASKS.index(name) % 3])
    assert report.passed, report
    assert bool(report.prices) == task_of(name).talks
    for row in report.prices:
        assert row.yours == row.reference, row


@pytest.mark.parametrize("name", [name for name in TASKS if isinstance(task_of(name), LocalTask)])
def test_what_is_right_in_its_first_call_only_is_rejected(
    name: str, solutions: dict[str, object]
) -> None:
    solution: Any = solutions[name]
    kept: list[Any] = []

    def answer(*arguments: Any) -> Any:
        kept.append(solution(*arguments))
        return kept[0] if len(kept) == 1 else "once more"

    report = check(task_of(name), answer, secrets=[1])
    assert report.status == "failed"
    assert report.hint_id == "stale" or report.fault.step.startswith("call 2 of 2"), report


def floats(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(floats, value))
    if isinstance(value, dict):
        return {name: floats(one) for name, one in value.items()}
    return float(value) if type(value) is int else value


@pytest.mark.parametrize("name", [name for name in TASKS if isinstance(task_of(name), LocalTask)])
def test_right_numbers_that_are_floats_are_told_as_that(
    name: str, solutions: dict[str, object]
) -> None:
    solution: Any = solutions[name]
    report = check(task_of(name), lambda *arguments: floats(solution(*arguments)), secrets=[1])
    assert report.passed or report.hint_id == "float", report


@pytest.mark.parametrize("name", TASKS)
def test_stub_is_not_written_yet(
    name: str, stubs: dict[str, object], capfd: pytest.CaptureFixture[str]
) -> None:
    report = getattr(checks, name)(stubs[name])
    assert report.status == "not written yet"
    assert not report.passed
    assert repr(report).startswith(f"{name}: not written yet.")
    assert "Traceback" not in repr(report) + report._html() + "".join(capfd.readouterr())


@pytest.mark.parametrize("name", TASKS)
def test_task_knows_the_names_of_the_arguments(name: str, stubs: dict[str, object]) -> None:
    stub: Any = stubs[name]
    task = task_of(name)
    names = tuple(key for key in inspect.signature(stub).parameters if key != "comm")
    assert names == (task.questions if isinstance(task, PredictTask) else task.takes)


@pytest.mark.parametrize("path", MUTANTS, ids=name_of)
def test_wrong_answer_is_rejected_with_the_right_hint(path: Path) -> None:
    report = getattr(checks, path.parent.name)(load(path))
    assert report.status == "failed", report
    assert report.hint_id == header(path, "hint"), report
    assert len(repr(report).splitlines()) <= 30
    assert report.fault is not None
    assert report.fault.says
    assert report.fault.hint.text


@pytest.mark.parametrize("path", RIGHT_ANSWERS, ids=name_of)
def test_right_answer_is_accepted(path: Path) -> None:
    # Another seed for each: whichever it is, all of a task must be accepted (below, for many).
    seed = 100 + RIGHT_ANSWERS.index(path) % 3
    report = check(task_of(path.parent.name), load(path), secrets=[seed])
    assert report.passed, report


@pytest.mark.soak
@pytest.mark.parametrize("path", RIGHT_ANSWERS, ids=name_of)
def test_right_answer_is_accepted_for_many_seeds(path: Path) -> None:
    for start in range(1, 201, 5):
        task = task_of(path.parent.name)
        assert check(task, load(path), secrets=range(start, start + 5)).passed


def test_no_two_sets_have_a_task_of_the_same_name() -> None:
    names = Counter(name for tasks in checks.SETS.values() for name in tasks)
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("name", TASKS)
def test_there_are_enough_planted_answers(name: str) -> None:
    whole = name in WHOLE_ALGORITHMS
    wrong = [path for path in MUTANTS if path.parent.name == name]
    right = [path for path in RIGHT_ANSWERS if path.parent.name == name]
    assert len(wrong) >= (12 if whole else 6)
    assert len(right) >= (3 if whole else 2)
    assert len({header(path, "hint") for path in wrong}) >= 5


def test_every_class_of_cheat_and_mistake_that_applies_is_planted() -> None:
    classes = Counter(header(path, "class") for path in MUTANTS)
    needed = {f"A{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12)}
    needed |= {f"B{number}" for number in (1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 17)}
    needed |= {f"C{number}" for number in (1, 2, 3, 4, 6, 7, 9)}
    assert needed <= set(classes)
