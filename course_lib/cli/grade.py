"""The command line: ``python -m course_lib grade``."""

import argparse
import os
import sys
from pathlib import Path
from secrets import randbits

from course_lib.checks import SETS
from course_lib.console.files import check_file, write
from course_lib.console.options import Parser, number, whole
from course_lib.console.outputs import say, tell
from course_lib.console.progress import Progress
from course_lib.grading.examiner import Order
from course_lib.grading.hall import Graded, grade, submissions
from course_lib.grading.table import as_csv, as_tables

__all__ = ["main"]

_NOT_PROTECTED = """
What it does not protect from. Each answer runs in a process of its own, with limits on time and
memory, and the verdict is made elsewhere, by this computer's own checks: a notebook's outputs, a
replaced `checks`, a printed PASSED count for nothing. But it is no sandbox. An answer runs as the
user who grades, the rules are kept by Python alone, and it could look up the right results in the
check that runs it. Who knows how to leave Python can read your files, reach the network, and forge
a verdict. So grade strangers' work in a container that has no network, no secrets, and nothing you
would miss, and read what has been handed in: that it was copied from solutions/ no program sees.
"""


def main(words: list[str]) -> int:
    """Grade submissions and print a table of the class.

    Parameters
    ----------
    words : list of str
        The command line after ``grade``.

    Returns
    -------
    int
        The exit status: 0, or 1 if a submission could not be examined, or 130 after Ctrl-C.
    """
    parser = _parser()
    try:
        chosen = parser.parse_args(words)
        order, jobs = _order(chosen)
        files = submissions(chosen.submissions)
        _check_place(chosen.submissions)
    except ValueError as error:
        parser.error(str(error))
    graded: list[Graded] = []
    status = 0
    many = "submission" if len(files) == 1 else "submissions"
    tell(f"{len(files)} {many}; the random cases are those of --secret {order.secret}")
    with Progress(True) as progress:
        progress.expect(len(files))
        grading = grade(files, order, jobs, lambda n, name: _show(progress, n, len(files), name))
        try:
            graded.extend(grading)
        except KeyboardInterrupt:
            grading.close()
            status = 130
    known = {one.name for one in graded}
    graded += [
        Graded(name, order.number, note="stopped before it was examined")
        for name, _ in files
        if name not in known
    ]
    say(as_tables(graded))
    if chosen.csv is not None:
        content = as_csv(graded).encode("utf-8-sig")  # by which a spreadsheet knows it is UTF-8
        status = write("the table", "the table written to", chosen.csv, content) or status
    if chosen.reports:
        say("\n\n".join(_reports(graded)))
    if status == 130:
        tell("stopped")
    return status or int(any(one.note for one in graded))


def _check_place(given: list[Path]) -> None:
    """Refuse to be in a folder that is graded: Python has begun to import from there."""
    if sys.flags.safe_path:
        return
    here = Path.cwd().resolve()
    for path in map(Path.resolve, given):
        is_within = path.parent == here if path.is_file() else path in (here, *here.parents)
        if is_within:
            raise ValueError(
                f"the current folder, {here}, lies in what is graded, and Python imports from the "
                "current folder first: a typing.py or course_lib.py that is handed in would run as "
                "you do. Go to another folder, or say python -P -m course_lib grade"
            )


def _show(progress: Progress, n_done: int, n_files: int, name: str) -> None:
    progress.step(f"{n_done} of {n_files}: {name}")


def _reports(graded: list[Graded]) -> list[str]:
    return [
        f"{one.name}: {verdict.report}"
        for one in graded
        for verdict in one.verdicts.values()
        if verdict.status == "failed"
    ]


def _parser() -> Parser:
    parser = Parser(
        prog="python -m course_lib grade",
        description="Run the answers of submitted exercise notebooks against the checks of this "
        "course, and print a table: a row a submission, a column a task. Each notebook is read "
        "from its top to the last check of a function; the last definition before it counts.",
        epilog=_NOT_PROTECTED,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("submissions", nargs="+", type=Path, metavar="FOLDER_OR_NOTEBOOK",
        help="notebooks, or folders of them, at any depth")  # fmt: skip
    add("--set", metavar="NN", default="",
        help="which exercises; left out, each notebook's functions tell")  # fmt: skip
    add("--csv", type=Path, metavar="FILE", help="also write the table for a spreadsheet")
    add("--secret", metavar="SEED",
        help="of the random cases, 1 or more; a new one if left out")  # fmt: skip
    add("--reports", action="store_true", help="also print what each failed check says")
    add("--time-limit", default="30", metavar="S", help="wall seconds an answer; 30 if left out")
    add("--memory", default="2048", metavar="MB", help="memory an answer; 2048 if left out")
    usual = max(1, (os.cpu_count() or 1) // 2)
    add("--jobs", default=str(usual), metavar="N", help=f"submissions at a time; here {usual}")
    return parser


def _order(chosen: argparse.Namespace) -> tuple[Order, int]:
    """Turn words into what an examiner is told, or raise a sentence."""
    exercises = chosen.set.zfill(2) if chosen.set else ""
    if exercises and f"lecture_{exercises}" not in SETS:
        there = ", ".join(name.removeprefix("lecture_") for name in SETS)
        raise ValueError(f"--set takes one of {there}; not {chosen.set!r}")
    # Seed 0 is that of the cases which are always the same: nothing would be random with it.
    secret = 1 + randbits(40) if chosen.secret is None else whole("--secret", chosen.secret)
    time_limit_s = number("--time-limit", chosen.time_limit)
    if time_limit_s < 1:
        raise ValueError(f"--time-limit takes seconds from 1, got {time_limit_s:g}")
    memory = whole("--memory", chosen.memory, least=64)
    check_file("--csv", chosen.csv, ".csv")
    return Order("", exercises, secret, time_limit_s, memory * 2**20), whole("--jobs", chosen.jobs)
