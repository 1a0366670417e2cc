"""One submission: ``python -m course_lib.grading.examiner``, a process for each.

It reads the notebook as data, has each answer run by a candidate's process, and judges what was
seen there. No line of the submission is run here. What it finds it prints, a JSON line a task.
"""

import contextlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, cast

import psutil

from course_lib.checks import SETS, task_named
from course_lib.checks.check import report_on
from course_lib.checks.diagnosis import Diagnosis
from course_lib.checks.report import FAILED, UNWRITTEN, Report
from course_lib.checks.room import Limits
from course_lib.checks.sandbox import Mishap, Observation
from course_lib.checks.task import Case, Hint, Task
from course_lib.comm.shipping import pack_call
from course_lib.grading.answer import Answer, uncalled
from course_lib.grading.book import UnreadableError, read
from course_lib.grading.candidate import DONE, READY, Job
from course_lib.grading.house import environ_in
from course_lib.grading.means import foreign_means, imported
from course_lib.grading.picking import answer_in, answer_with_deeds_in
from course_lib.grading.submission import Cell, NotANotebookError, read_cells, set_of, shown_in

__all__ = ["START_S", "Order", "examine", "main"]

START_S = 30.0
"""How long a candidate's process may take to start, besides the time of the answer."""

_FOR_GOOD = {"syntax-error", "too-slow"}
_SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER
_folders: list[Path] = []  # of candidates' processes, while they are there
_changing = threading.Lock()


class NotStartedError(RuntimeError):
    """This computer is at fault, not the answer: there is no verdict."""


@dataclass(frozen=True)
class Order:
    """What an examiner is to do.

    Attributes
    ----------
    file : str
        The submission.
    number : str
        Which exercises, ``"02"``; empty to find out.
    secret : int
        The seed of the random cases.
    time_limit_s : float
        How long one answer may take, over all cases.
    more_bytes : int
        How much memory it may take.
    """

    file: str
    number: str
    secret: int
    time_limit_s: float
    more_bytes: int

    @property
    def limits(self) -> Limits:
        """Return the limits of a candidate's process."""
        end_s = self.time_limit_s
        return Limits(end_s / 3, end_s * 0.6, end_s, self.more_bytes)


def examine(order: Order) -> Iterator[dict[str, str]]:
    """Examine a submission.

    Parameters
    ----------
    order : Order
        Which, and how.

    Yields
    ------
    dict of str to str
        First ``{"set": "02"}``, then ``{"task", "status", "hint", "report"}`` for each task; or
        ``{"note": ...}`` alone, where the file cannot be graded.
    """
    try:
        cells = read_cells(Path(order.file))
        number = order.number or set_of(cells, Path(order.file).name)
        if number is None:
            raise NotANotebookError(_of_no_set(cells))
    except NotANotebookError as refusal:
        yield {"note": str(refusal)}
        return
    yield {"set": number}
    shown = shown_in(number)
    for name in SETS[f"lecture_{number}"]:
        try:
            report = _report(task_named(name), cells, shown, order)
        except NotStartedError as error:
            yield {"note": f"{name} could not be examined: {error}"}
            continue
        yield {
            "task": name,
            "status": report.status,
            "hint": report.hint_id,
            "report": repr(report),
        }


def _of_no_set(cells: Sequence[Cell]) -> str:
    """Say why nobody can tell which exercises a notebook answers."""
    said = "none of the exercises: it defines no function of a task"
    unread = [cell for cell in cells if cell.tree is None]
    if not unread:
        return said
    return f"{said}, and Python cannot read code cell {unread[0].number}, {unread[0].fault}"


def _report(task: Task, cells: Sequence[Cell], shown: set[str], order: Order) -> Report:
    try:
        answer = answer_in(cells, task.name, shown)
    except (RecursionError, ValueError) as error:
        return _refused(task, f"it could not be picked out: {type(error).__name__}", "unreadable",
                        "look at it yourself")  # fmt: skip
    if not answer.is_written:
        return Report(task.name, task.title, UNWRITTEN)
    report = _judged(task, answer, order)
    if report.passed or report.hint_id in _FOR_GOOD:
        return report
    # What it needs may not all have been picked out.
    more = answer_with_deeds_in(cells, task.name, type(task).__module__, shown)
    again = report if more is None else _judged(task, more, order)
    return again if again.passed else report


def _judged(task: Task, answer: Answer, order: Order) -> Report:
    if answer.fault:
        return _refused(task, f"Python cannot read {answer.fault}", "syntax-error",
                        "run the cell: Python shows where in the line it stops")  # fmt: skip
    means = foreign_means(answer, type(task).__module__)
    if means:
        return _refused(task, f"it uses {means}", "looks-outside",
                        "no task needs that: what is needed is in the arguments")  # fmt: skip
    cases = tuple(task.all_cases(order.secret))
    try:
        seen, end = _sitting(task, answer, cases, order)
        if end is None and not seen:
            return _refused(task, "its process ended before a case was seen", "unreadable",
                            "an answer returns, and never ends the process")  # fmt: skip
        return report_on(task, uncalled(answer), cases, seen, end)
    except UnreadableError as error:
        return _refused(task, f"what was seen of it is not whole: {error}", "unreadable",
                        "leave the check's own files alone")  # fmt: skip
    except NotStartedError:
        raise
    except Exception as error:  # of what a stranger has written: no verdict in its favour
        return _refused(task, f"it could not be judged: {type(error).__name__}", "unreadable",
                        "look at it yourself")  # fmt: skip


def _refused(task: Task, says: str, hint: str, text: str) -> Report:
    return Report(task.name, task.title, FAILED, fault=Diagnosis(says, Hint(hint, text)))


def _sitting(
    task: Task, answer: Answer, cases: tuple[Case, ...], order: Order
) -> tuple[list[Observation], Mishap | None]:
    """Have an answer run; return what was seen, and how its process ended before its end."""
    with _own_folder() as folder:
        book = folder / "book"
        packed = pack_call(cast(Any, answer), ())
        job = pickle.dumps(Job(task.name, packed, cases, order.limits, book, imported(answer)))
        process = subprocess.Popen(
            [sys.executable, "-m", "course_lib.grading.candidate"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=folder, env=environ_in(folder), start_new_session=True,
        )  # fmt: skip
        try:
            end = _wait(process, job, book, order.limits)
        finally:
            _end(process)
        if not (folder / READY).exists():
            raise NotStartedError(f"its process did not start (status {process.returncode})")
        _, seen = read(book)
    whole = process.returncode == DONE or (seen and seen[-1].mishap is not None)
    return seen, end if end is not None or whole else _early_end(process.returncode)


@contextlib.contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a folder for a candidate's process; it goes with the block, or with the examiner."""
    with _changing:
        folder = Path(tempfile.mkdtemp(prefix="grade-")).resolve()
        _folders.append(folder)
    try:
        yield folder
    finally:
        with _changing:
            shutil.rmtree(folder, ignore_errors=True)
            _folders.remove(folder)


def _wait(
    process: subprocess.Popen[bytes], job: bytes, book: Path, limits: Limits
) -> Mishap | None:
    began_s, start_s = monotonic(), START_S
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # it has ended already, and its status says how
        process.stdin.write(len(job).to_bytes(8) + job)
        process.stdin.flush()
    while process.poll() is None:
        if start_s == START_S and book.exists() and book.stat().st_size:  # the function is loaded
            start_s = monotonic() - began_s
        if monotonic() - began_s > start_s + limits.end_s:
            text = f"the function had not returned when the {limits.end_s:g} s were over"
            return Mishap("LaunchTimeout", text)
        threading.Event().wait(0.02)
    return None


def _early_end(status: int) -> Mishap:
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        return Mishap("WorkerKilled", f"the process in which it ran was ended by {name}")
    return Mishap("WorkerExited", f"the process in which it ran exited with code {status}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a candidate's process and all that has come of it."""
    everybody = psutil.Process().children(recursive=True)  # orphans come to us
    for one in everybody:
        with contextlib.suppress(psutil.Error):
            one.kill()
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    psutil.wait_procs(everybody, timeout=5)


def _adopt_orphans() -> None:
    """Have what a candidate starts, and leaves alone, become ours to end."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _end_with_the_hall() -> None:
    """End all when nobody waits for us any more, however the hall has ended."""
    os.read(0, 1)
    with _changing:
        everybody = psutil.Process().children(recursive=True)
        for one in everybody:
            with contextlib.suppress(psutil.Error):
                one.kill()
        psutil.wait_procs(everybody, timeout=5)  # while one lives, it may write
        for folder in _folders:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)


def main() -> None:
    """Examine what the first line of the standard input says."""
    data = bytearray()
    while not data.endswith(b"\n"):
        part = os.read(0, 1)
        if not part:
            return
        data += part
    order = Order(**json.loads(data))
    threading.Thread(target=_end_with_the_hall, daemon=True).start()
    _adopt_orphans()
    for row in examine(order):
        _print(row)
    _print({"end": "all"})


def _print(row: Mapping[str, Any]) -> None:
    os.write(1, json.dumps(row).encode() + b"\n")


if __name__ == "__main__":
    main()
