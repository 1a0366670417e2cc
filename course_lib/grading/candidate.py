"""The process in which an answer runs: ``python -m course_lib.grading.candidate``.

It hears on its standard input what to do, and ends when that is closed, because whoever wanted to
know has gone. What is seen goes into a file, and is judged elsewhere.
"""

import importlib
import io
import os
import pickle
import sys
import sysconfig
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from course_lib.checks import task_named
from course_lib.checks.room import Limits, sit
from course_lib.checks.task import Case
from course_lib.grading.house import limit, refuse_the_outside

__all__ = ["DONE", "READY", "Job", "main"]

DONE = 78
"""The exit status after all that was to be done; any other is the answer's doing."""

READY = "ready"
"""A file beside the book, from the moment on in which the answer may run."""

_ASKED_NOT_USED = 2**30


class Job(NamedTuple):
    """What is to be run.

    Attributes
    ----------
    task : str
        The task's name.
    packed : bytes
        The answer, as ``pack_call`` made it.
    cases : tuple of Case
        What it is run over.
    limits : Limits
        How long, and with how much memory.
    book : Path
        The file to write to, in a folder of the process's own.
    modules : list of str
        What the answer imports, of what it may.
    """

    task: str
    packed: bytes
    cases: tuple[Case, ...]
    limits: Limits
    book: Path
    modules: list[str]


def main() -> None:
    """Run an answer over its cases, and end the process."""
    line = os.dup(0)
    n_bytes = int.from_bytes(_exactly(line, 8))
    job: Job = pickle.loads(_exactly(line, n_bytes))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    threading.Thread(target=_end_with, args=(line,), name="line", daemon=True).start()
    task = task_named(job.task)
    from course_lib.comm.simulated import launcher  # noqa: F401 - before files are refused

    for name in job.modules:  # torch reaches for libraries of the system while it is loaded
        with suppress(Exception):  # the answer will hear of it, and its report will say so
            importlib.import_module(name)

    own = job.book.parent
    package = Path(__file__).resolve().parents[1]
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    readable = [package, *map(Path, {*paths, sys.prefix, sys.base_prefix})]
    refuse_the_outside(own, readable)
    limit(2 * job.limits.end_s, job.limits.more_bytes + _ASKED_NOT_USED)
    (own / READY).touch()
    sit(None, job.packed, task, job.cases, job.limits, job.book, to_the_end=True)  # type: ignore[arg-type]
    os._exit(DONE)


def _exactly(line: int, n_bytes: int) -> bytes:
    data = io.BytesIO()
    while data.tell() < n_bytes:
        part = os.read(line, n_bytes - data.tell())
        if not part:
            os._exit(1)
        data.write(part)
    return data.getvalue()


def _end_with(line: int) -> None:
    """End this process with the one that has started it, whatever the answer does meanwhile."""
    os.read(line, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
