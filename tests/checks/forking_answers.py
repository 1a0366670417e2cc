"""A program that checks answers which copy their process, with no more than three copies each.

It is run by a test, in a session of its own, whose processes are all killed at the end. No limit of
the system stands between a copy that is not ended and the next: the only ways to make copies here
count them in a folder that all share.
"""

import ctypes
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

from course_lib import checks, run

MOST_COPIES = 3
FOLDER = Path(sys.argv[1])
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def capped(folder: Path, fork: Callable[[], Any]) -> Any:
    """Copy the process, unless it has been copied often enough."""
    for number in range(MOST_COPIES):
        try:
            (folder / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        return fork()
    return None


def compiled_fork() -> int:
    return int(ctypes.CDLL(None).fork())  # past every hook of Python


def note(folder: Path, what: str) -> None:
    with (folder / what).open("a") as file:
        file.write(f"{os.getpid()}\n")


def pids(folder: Path, what: str) -> set[str]:
    path = folder / what
    return set(path.read_text().split()) if path.exists() else set()


def right(comm: Any, x: Any) -> Any:
    if comm.size == 1:
        return x.copy()
    return comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)


def folder_for(name: str) -> Path:
    folder = FOLDER / name
    folder.mkdir()
    return folder


def check_refuses(name: str, fork: Callable[[], Any]) -> None:
    folder = folder_for(name)

    def shift_right(comm: Any, x: Any) -> Any:
        note(folder, "called")
        capped(folder, fork)
        return right(comm, x)

    report = checks.shift_right(shift_right)
    assert report.hint_id == "starts-workers", report
    assert f"{name} was called in the function" in repr(report), report
    assert len(pids(folder, "called")) == 1, "a copy went on with the check"


def check_ends_copies_of_compiled_code() -> None:
    folder = folder_for("compiled")

    def shift_right(comm: Any, x: Any) -> Any:
        capped(folder, compiled_fork)
        note(folder, "returns")
        return right(comm, x)

    report = checks.shift_right(shift_right)
    assert report.passed, report
    lines = (folder / "returns").read_text().split()
    others = len(lines) - max(map(lines.count, lines))
    assert others <= MOST_COPIES, "a copy went on with the check"


def simulated_run_ends_copies() -> None:
    folder = folder_for("simulated")

    def f(comm: Any) -> int:
        capped(folder, os.fork)
        note(folder, "goes on")
        return int(comm.rank)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run(f, workers=4, backend="simulated").values == [0, 1, 2, 3]
    assert pids(folder, "goes on") == {str(os.getpid())}
    assert "a simulated rank called os.fork" in str(caught[0].message)


def worker_reports_once() -> None:
    folder = folder_for("processes")

    def f(comm: Any) -> int:
        if capped(folder, os.fork) == 0:
            try:
                comm.barrier()
            except RuntimeError as error:
                note(folder, "refused" if "a copy of rank" in str(error) else "otherwise")
            return 99
        comm.barrier()
        return int(comm.rank)

    assert run(f, workers=2, backend="processes").values == [0, 1]
    assert not pids(folder, "otherwise")


if __name__ == "__main__":
    me = os.getpid()
    check_refuses("os.fork", os.fork)
    check_refuses("os.forkpty", os.forkpty)
    check_ends_copies_of_compiled_code()
    simulated_run_ends_copies()
    worker_reports_once()
    assert os.getpid() == me
    print("all is well", flush=True)
