"""Processes that workers have started themselves, which must not outlive the run.

Three ways lead to them. Those below a worker that still runs are found by their parents. Where the
worker has died by itself, or a program between has ended, they have none any more; then a program
is known by an environment variable which it has inherited, and a copy of the worker (``os.fork``)
ends by itself: it watches the line that breaks when the launcher lets go of the worker.
"""

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import multiprocess
from multiprocess import connection

from course_lib.comm.processes.rank.flow import NO_THREAD, Flow

__all__ = [
    "RUN_VARIABLE",
    "cleans_up",
    "descendants",
    "end_processes",
    "had_children",
    "let_forks_end_with_the_run",
    "marked",
]

RUN_VARIABLE = "COURSE_LIB_RUN"
"""The environment variable that names the run a process belongs to."""

_CLEANERS = (
    "multiprocessing.resource_tracker",
    "multiprocess.resource_tracker",
    "torch_shm_manager",
)
_CLEANING_S, _LOOK_EVERY_S = 3.0, 0.01  # torch's takes two


def descendants(pids: Iterable[int]) -> list[Any]:
    """List the processes below the given ones, as ``psutil`` processes.

    Parameters
    ----------
    pids : iterable of int
        The processes whose children, and theirs, are wanted.

    Returns
    -------
    list of psutil.Process
        None of them where the system has no room to look (no more files may be opened).
    """
    children: dict[int, list[Any]] = defaultdict(list)
    for process, parent in _all("ppid"):
        children[parent].append(process)
    found = []
    open_pids = list(pids)
    while open_pids:
        below = children.pop(open_pids.pop(), [])
        found += below
        open_pids += [process.pid for process in below]
    return found


def marked(run: str) -> list[Any]:
    """List the processes, as ``psutil`` processes, whose environment names this run."""
    return [
        process for process, environment in _all("environ") if environment.get(RUN_VARIABLE) == run
    ]


def end_processes(processes: Iterable[Any]) -> None:
    """Kill processes; those that are gone already do no harm.

    Who removes what others leave in shared memory ends by itself, when nobody is left for whom it
    would; it is killed if it does not.
    """
    cleaners = []
    for process in processes:
        if cleans_up(process):
            cleaners.append(process)
        else:
            _kill(process)
    until_s = time.monotonic() + _CLEANING_S
    while any(map(_is_at_work, cleaners)) and time.monotonic() < until_s:
        time.sleep(_LOOK_EVERY_S)
    for process in cleaners:
        _kill(process)


def _kill(process: Any) -> None:
    with suppress(Exception):  # psutil's own kinds; there is nothing more to be done
        process.kill()


def _is_at_work(process: Any) -> bool:
    with suppress(Exception):
        return str(process.status()) != "zombie"  # whom nobody waits for: its parent has ended
    return False


def cleans_up(process: Any) -> bool:
    """Tell whether a process, of psutil, removes what others leave in shared memory."""
    with suppress(Exception):
        return any(name in word for word in process.cmdline() for name in _CLEANERS)
    return False


def had_children() -> bool:
    """Tell whether this process has, or had, a child: then what that has started may be left.

    Returns
    -------
    bool
        True also where the system does not say. On POSIX it costs two calls of the system: what
        children took that have been waited for, and whether there are others.
    """
    if sys.platform == "win32":
        return True
    import resource  # of POSIX alone

    took = resource.getrusage(resource.RUSAGE_CHILDREN)
    if took.ru_minflt or took.ru_majflt or took.ru_utime or took.ru_stime:
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def let_forks_end_with_the_run(flows: dict[int, Flow]) -> None:
    """In a worker: have the copies that it makes of itself end when the run does.

    Until then they may compute, but they are no rank: no message is theirs to send or to receive.

    Parameters
    ----------
    flows : dict of Flow
        What runs in the worker, when it is copied.
    """
    if not hasattr(os, "register_at_fork"):  # Windows, where no process can be copied
        return
    sentinel = multiprocess.parent_process().sentinel

    def watch() -> None:
        for flow in flows.values():
            flow.thread = NO_THREAD
        threading.Thread(target=_end_with, args=(sentinel,), daemon=True).start()

    os.register_at_fork(after_in_child=watch)


def _end_with(sentinel: int) -> None:
    with suppress(OSError, ValueError):  # the learner may have closed all files
        connection.wait([sentinel])
        os._exit(1)


def _all(what: str) -> Iterator[tuple[Any, Any]]:
    with suppress(OSError, ImportError):
        import psutil  # only where a run is cut short: it takes a while to load

        for process in psutil.process_iter():
            with suppress(psutil.Error):
                yield process, getattr(process, what)()
