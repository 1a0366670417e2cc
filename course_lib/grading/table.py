"""The table for a class: as text, and as a file for a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from course_lib.grading.hall import Graded, Verdict
from course_lib.words.tables import as_text

__all__ = ["as_csv", "as_tables", "cell"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_UNKNOWN = Verdict("not examined")


def cell(verdict: Verdict) -> str:
    """Say in a cell what was found.

    Parameters
    ----------
    verdict : Verdict
        Of one task.

    Returns
    -------
    str
        ``"passed"``, ``"failed: returns-own"``, ``"not written"`` or ``"not examined"``.
    """
    if verdict.hint:
        return f"{verdict.status}: {verdict.hint}"
    return verdict.status.removesuffix(" yet")


def as_tables(graded: Sequence[Graded]) -> str:
    """Lay out a table for each set of exercises, and below them what could not be graded.

    Parameters
    ----------
    graded : sequence of Graded
        The rows.

    Returns
    -------
    str
        Text for a terminal.
    """
    parts = []
    for number in sorted({one.number for one in graded if one.number}):
        rows = [one for one in graded if one.number == number]
        head = ["exercises " + number, *rows[0].tasks, "sum"]
        lines = [[one.name, *_cells(one, one.tasks), _sum(one)] for one in rows]
        parts.append(as_text(head, lines))
    notes = [f"{one.name}: {one.note}" for one in graded if one.note]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def as_csv(graded: Sequence[Graded]) -> str:
    """Write the same for a spreadsheet: a row a submission, a column a task.

    Parameters
    ----------
    graded : sequence of Graded
        The rows, of one set or of several.

    Returns
    -------
    str
        Comma-separated values. A cell that a spreadsheet would take for a formula begins with an
        apostrophe: who hands in a file chooses its name.
    """
    tasks = list(dict.fromkeys(task for one in _by_set(graded) for task in one.tasks))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["submission", "exercises", *tasks, "passed", "of", "note"])
    for one in graded:
        cells = [one.name, one.number, *_cells(one, tasks)]
        cells += [str(one.n_passed), str(len(one.tasks)), one.note]
        writer.writerow([f"'{text}" if text.startswith(_FORMULA) else text for text in cells])
    return text.getvalue()


def _by_set(graded: Sequence[Graded]) -> Iterable[Graded]:
    return sorted(graded, key=lambda one: one.number)


def _cells(one: Graded, tasks: Iterable[str]) -> Iterator[str]:
    for task in tasks:
        yield cell(one.verdicts.get(task, _UNKNOWN)) if task in one.tasks else ""


def _sum(one: Graded) -> str:
    return f"{one.n_passed} of {len(one.tasks)}"
