"""``check``: examine a learner's function and report what was seen.

The learner's function runs in a process of its own, on simulated workers: whatever it does there
(waits for ever, exits, copies itself, overwrites ``len``), the notebook and the verdict stay whole,
and the verdict comes within ten seconds (of a computer whose processors are not all taken by other
programs). It is made here, from plain copies of what was returned
and from the trace of the messages.

This is honest feedback, not an exam. What it does not defend against: code in the notebook that
replaces ``course_lib.checks`` or NumPy in the notebook's own process, a forged report, reading the
files of ``solutions/``, and a function that searches the examining process's memory for the task.
Grading other people's work needs a fresh process that the work itself did not start.
"""

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import randbits
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from course_lib.checks.cells import cell_of, newer_cell, with_cells
from course_lib.checks.cost import measured_price
from course_lib.checks.diagnosis import Diagnosis, mishap_fault, slow_fault, was_starved
from course_lib.checks.habits import explained
from course_lib.checks.plain import plain
from course_lib.checks.report import FAILED, PASSED, UNWRITTEN, Report, price_rows
from course_lib.checks.room import Limits, read_book, sit
from course_lib.checks.sandbox import CASE_LIMIT_S, Mishap, Observation, mishap_of
from course_lib.checks.shown import show
from course_lib.checks.starved import starved_s
from course_lib.checks.task import Case, Hint, Task
from course_lib.checks.verdict import judge
from course_lib.comm.errors import LaunchTimeout, RunError
from course_lib.comm.frames import AGAIN
from course_lib.comm.launch import run
from course_lib.comm.shipping import pack_call

__all__ = ["check", "report_on"]

LIMITS = Limits(case_s=CASE_LIMIT_S, begin_s=5.0, end_s=8.5)
"""A solution takes a third of a second for all cases of a task, or less."""

_MOST_GIVEN = 500  # letters
_MOST_SITTINGS = 6
_WHERE = re.compile(r"^  rank 0 is running, at (.*)$", re.MULTILINE)


def check(task: Task, fn: Callable[..., Any], secrets: Sequence[int] | None = None) -> Report:
    """Run a learner's function over all cases of a task.

    Parameters
    ----------
    task : Task
        What it should do.
    fn : callable
        The learner's function; it may be defined in a notebook cell.
    secrets : sequence of int or None, default: None
        The seeds of the random cases, 1 or more; None draws a new one.

    Returns
    -------
    Report
        The verdict with the first failing case. Nothing is raised for a wrong answer, an
        exception, a deadlock, an exit or an endless loop in ``fn``.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; a notebook shows a sentence, without our own lines.
    """
    try:
        report = _report(task, fn, secrets)
    except KeyboardInterrupt as interrupt:
        text = f"KeyboardInterrupt: the check of {task.name} was stopped before its verdict"
        vars(interrupt)["_render_traceback_"] = lambda: [text]
        raise
    if not callable(fn):
        return report
    return replace(report, cell=cell_of(fn), newer_cell=newer_cell(fn))


def _report(task: Task, fn: Callable[..., Any], secrets: Sequence[int] | None) -> Report:
    seeds = [1 + randbits(62)] if secrets is None else secrets
    cases = [case for seed in seeds for case in task.all_cases(seed)]
    if not callable(fn):
        return _failed(task, _not_a_function(task, fn))
    try:
        observations, end = _examined(task, fn, cases, _limits(len(seeds)))
    except RunError as error:
        return _failed(task, mishap_fault(task, None, mishap_of(error)), n_cases=len(cases))
    return report_on(task, fn, cases, observations, end)


def report_on(
    task: Task, fn: Callable[..., Any], cases: Sequence[Case], observations: Sequence[Observation],
    end: Mishap | None,
) -> Report:  # fmt: skip
    """Make the report on what was seen of a function; it is not run here.

    Parameters
    ----------
    task : Task
        What it should do.
    fn : callable
        The function, whose text may show why it is wrong.
    cases : sequence of Case
        What it was to be run over.
    observations : sequence of Observation
        What was seen, of as many cases as were run.
    end : Mishap or None
        How the run ended before its end; None if it did not.

    Returns
    -------
    Report
        The verdict with the first failing case.
    """
    if observations and _is_unwritten(observations[0].mishap):
        return Report(task.name, task.title, UNWRITTEN)
    for case, seen in zip(cases, observations, strict=False):
        fault = judge(task, case, seen)
        if fault is not None:
            return _failed(task, explained(task, fault, fn), case, seen, len(cases))
    if end is not None:
        case = cases[min(len(observations), len(cases) - 1)]
        return _failed(task, mishap_fault(task, case, end), case, n_cases=len(cases))
    if len(observations) < len(cases):
        return _failed(task, slow_fault(observations, len(cases)), n_cases=len(cases))
    return Report(
        task.name, task.title, PASSED, len(cases), prices=_prices(task, cases[0], observations[0])
    )


def _limits(n_seeds: int) -> Limits:
    return LIMITS._replace(begin_s=LIMITS.begin_s * n_seeds, end_s=LIMITS.end_s * n_seeds)


def _examined(
    task: Task, fn: Callable[..., Any], cases: list[Case], limits: Limits
) -> tuple[list[Observation], Mishap | None]:
    """Return what was seen of the cases, and how the examination ended before its end.

    Where other programs have the processors time is up before all cases have been run, whatever the
    function does. Then the examination is adjourned, and goes on with the next case.

    After a wrong case no other is run. But one may only have seemed wrong, in a room whose
    functions the learner's has replaced: then all cases are run, in what is left of the time.
    """
    packed = pack_call(fn, ())
    seen: list[Observation] = []
    for _ in range(_MOST_SITTINGS):
        began_s, delayed_s = monotonic(), -starved_s()
        more, end, stopped = _sitting(packed, task, cases[len(seen) :], limits)
        seen, delayed_s = _undisturbed([*seen, *more], limits), delayed_s + starved_s()
        if end is not None and (end.kind != "LaunchTimeout" or delayed_s < limits.end_s / 4):
            break
        is_over = stopped or len(seen) == len(cases) or (seen and seen[-1].mishap is not None)
        if is_over or not was_starved(seen):
            break
    if stopped and seen and judge(task, cases[len(seen) - 1], seen[-1]) is None:
        used_s = monotonic() - began_s
        begin_s, end_s = max(1.0, limits.begin_s - used_s), max(1.0, limits.end_s - used_s)
        left = limits._replace(begin_s=begin_s, end_s=end_s)
        seen, end, _ = _sitting(packed, task, cases, left, to_the_end=True)
    return [with_cells(one) for one in seen], end


def _undisturbed(seen: list[Observation], limits: Limits) -> list[Observation]:
    """Leave out a last case whose time was up because other programs had the processor."""
    last = seen[-1] if seen else Observation()
    is_late = last.mishap is not None and last.mishap.kind in ("LaunchTimeout", "SimulationError")
    was_short = last.wall_s < limits.case_s / 10 and last.starved_s > last.wall_s
    return seen[:-1] if is_late and was_short else seen


def _sitting(
    packed: bytes, task: Task, cases: list[Case], limits: Limits, to_the_end: bool = False
) -> tuple[list[Observation], Mishap | None, bool]:
    """Return what was seen, how it ended before its end, and whether for a value that is wrong."""
    error, stopped = None, False
    with TemporaryDirectory(prefix="check-", ignore_cleanup_errors=True) as folder:
        book = Path(folder) / "book"
        try:
            result = run(
                sit, packed, task, cases, limits, book, to_the_end,
                workers=1, backend="processes", trace=False, time_limit_s=limits.end_s,
            )  # fmt: skip
            stopped = result.values[0]
        except RunError as raised:
            error = raised
        loading_s, seen = read_book(book)
    if error is None:
        return seen, None, stopped
    took_s = sum(one.wall_s + one.starved_s for one in seen)
    used_s = None if loading_s is None else loading_s + took_s
    return seen, _end_of(error, limits, used_s), False


def _end_of(error: RunError, limits: Limits, used_s: float | None) -> Mishap:
    """Tell how the process ended in which the function ran; it is none of the simulated ranks."""
    mishap = mishap_of(error)
    text = mishap.text.replace("rank 0 ", "the process in which the function ran ", 1)
    text = text.replace("\n\nStack of rank 0 (", "\n\nStack (", 1)
    if isinstance(error, LaunchTimeout):
        found = _WHERE.search(mishap.text)
        where = f"; it was at {found[1]}" if found else ""
        done = "returned" if used_s is not None else "been loaded, with all that it imports,"
        text = f"the function had not {done} when the {limits.end_s:g} s of the check were over"
        if f"\n{AGAIN}" in mishap.text:  # too deep for Python to look up, or to come back from
            return Mishap("RankFailed", text + where, "RecursionError")
        if used_s is not None and limits.end_s - used_s > limits.case_s + 1:
            where += ", in an operation of compiled code that cannot be interrupted"
        text += where
    return replace(mishap, text=text, rank=None)


def _is_unwritten(mishap: Mishap | None) -> bool:
    return mishap is not None and mishap.original == "NotImplementedError"


def _not_a_function(task: Task, fn: Any) -> Diagnosis:
    return Diagnosis(
        f"the check takes the function itself, got {type(fn).__name__}",
        Hint("not-callable", f"write checks.{task.name}({task.name}), without calling it"),
        expected="a function",
        got=type(fn).__name__,
    )


def _failed(
    task: Task, fault: Diagnosis, case: Case | None = None, seen: Observation | None = None,
    n_cases: int = 0,
) -> Report:  # fmt: skip
    report = Report(task.name, task.title, FAILED, n_cases, str(case or ""), fault)
    if case is not None and task.shows_arguments:
        report = replace(report, given=_given(task, case))
    if case is None or seen is None:
        return report
    other = None
    with contextlib.suppress(Exception):  # whatever it is, the verdict stands without it
        # Not in a handout: right runs are solutions, too.
        from course_lib.checks.right_runs import first_other_step

        other = first_other_step(task, case, seen)
    return replace(
        report,
        prices=() if seen.mishap else _prices(task, case, seen),
        trace=seen.trace,
        other=other,
        mishap=seen.mishap,
        printed=seen.printed,
        layout=task.layout,
        roles=task.roles,
    )


def _given(task: Task, case: Case) -> str:
    """Write the arguments of a case, if that is short: who is to work it out by hand needs them."""
    values = task.arguments(case, 0, 0)
    told = ", ".join(f"{name}={show(plain(value))}"
                     for name, value in zip(task.takes, values, strict=True))  # fmt: skip
    return told if len(told) <= _MOST_GIVEN else ""


def _prices(task: Task, case: Case, seen: Observation) -> tuple[Any, ...]:
    if not task.talks:
        return ()
    return price_rows(measured_price(seen, case.calls), task.budget(case), task.price(case))
