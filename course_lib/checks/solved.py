"""Which tasks are solved: kept in the learner's workbook by the checks, and shown as a table.

Each solved task has a small file of its own, which is there as a whole or not at all: notebooks may
keep what they like at the same moment, and Ctrl-C leaves nothing that is half written. A file that
cannot be read, or is none of ours, does not count; the check makes it anew.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from course_lib.checks import SETS
from course_lib.words.plain_file import put, read_plain
from course_lib.words.tables import as_html
from course_lib.words.workbook import WORKBOOK, workbook_around

__all__ = ["Progress", "keep_solved", "progress"]

_FOLDER = "solved"
_MOST_BYTES = 1_000
_HEAD = ("exercises", "solved", "still to do")


@dataclass(frozen=True)
class Progress:
    """What is solved and what is still to do; it draws itself as text and as a table.

    Attributes
    ----------
    sets : mapping of str to sequence of str
        The names of the tasks, by the number of their exercises, ``"00"``.
    solved : frozenset of str
        Those that are solved.
    workbook : Path or None
        Where that is kept; None if there is no workbook.
    """

    sets: Mapping[str, Sequence[str]]
    solved: frozenset[str]
    workbook: Path | None

    def __repr__(self) -> str:
        """Align the table, and say what comes next."""
        lines = [
            f"{name:<10} {solved:<7} {to_do}" for name, solved, to_do in (_HEAD, *self._rows())
        ]
        return "\n".join([*lines, "", self._summary()])

    def _repr_html_(self) -> str:
        return as_html(_HEAD, self._rows(), self._summary())

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for number, tasks in self.sets.items():
            to_do = [task for task in tasks if task not in self.solved]
            told = "all" if len(to_do) == len(tasks) else ", ".join(to_do)
            rows.append((number, f"{len(tasks) - len(to_do)} of {len(tasks)}", told))
        return rows

    def _summary(self) -> str:
        tasks = [(number, task) for number, names in self.sets.items() for task in names]
        to_do = [(number, task) for number, task in tasks if task not in self.solved]
        said = f"{len(tasks) - len(to_do)} of {len(tasks)} tasks are solved."
        if self.workbook is None:
            return f"{said} (There is no workbook here, so nothing is kept.)"
        if not to_do:
            return f"{said} That was the last one."
        number, task = to_do[0]
        return f"{said} Next: {task}, in exercises {number}."


def keep_solved(task: str, folder: Path | None = None) -> None:
    """Keep that a task is solved; outside of a workbook, or where nothing can be written, do not.

    Parameters
    ----------
    task : str
        Its name.
    folder : Path or None, default: None
        Where the notebook lies; None takes the current folder.
    """
    with suppress(OSError):  # no folder any more, no right to write, no room
        workbook = workbook_around(folder)
        if workbook is None or _is_kept(workbook, task):
            return
        (workbook / _FOLDER).mkdir(exist_ok=True)
        content = {"task": task, "solved_on": date.today().isoformat()}
        put(_file(workbook, task), json.dumps(content).encode() + b"\n")


def progress(workbook: Path | None = None) -> Progress:
    """Read what is solved.

    Parameters
    ----------
    workbook : Path or None, default: None
        The workbook; None takes the one that the current folder lies in, if it does.

    Returns
    -------
    Progress
        A table of all exercises.
    """
    with suppress(OSError):
        workbook = workbook or workbook_around()
    sets = {name.removeprefix("lecture_"): tasks for name, tasks in SETS.items()}
    solved = frozenset(
        task
        for tasks in SETS.values()
        for task in tasks
        if workbook is not None and _is_kept(workbook, task)
    )
    return Progress(sets, solved, workbook)


def find_workbook() -> Path | None:
    """Find the workbook that the current folder lies in, or else that of this course."""
    with suppress(OSError):
        around = workbook_around()
        if around is not None:
            return around
    beside = Path(__file__).resolve().parents[2] / WORKBOOK
    return beside if beside.is_dir() else None


def _is_kept(workbook: Path, task: str) -> bool:
    try:
        content = json.loads(read_plain(_file(workbook, task), _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("task") == task


def _file(workbook: Path, task: str) -> Path:
    return workbook / _FOLDER / f"{task}.json"
