"""Processes that workers have started themselves, which must not outlive the run."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

__all__ = ["descendants", "end_processes"]


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
    try:
        import psutil  # only where a run is cut short: it takes a while to load

        for process in psutil.process_iter():
            with suppress(psutil.Error):
                children[process.ppid()].append(process)
    except (OSError, ImportError):
        return []
    found = []
    open_pids = list(pids)
    while open_pids:
        below = children.pop(open_pids.pop(), [])
        found += below
        open_pids += [process.pid for process in below]
    return found


def end_processes(processes: Iterable[Any]) -> None:
    """Kill processes; those that are gone already do no harm."""
    for process in processes:
        with suppress(Exception):  # psutil's own kinds; there is nothing more to be done
            process.kill()
