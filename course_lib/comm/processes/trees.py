"""Processes that workers have started themselves, which must not outlive the run."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

__all__ = ["descendants", "end_processes"]


def descendants(pids: Iterable[int]) -> list[Any]:
    """List the processes below the given ones, as ``psutil`` processes."""
    import psutil  # only where a run is cut short: it takes a while to load

    children: dict[int, list[Any]] = defaultdict(list)
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            children[process.ppid()].append(process)
    found = []
    open_pids = list(pids)
    while open_pids:
        below = children.pop(open_pids.pop(), [])
        found += below
        open_pids += [process.pid for process in below]
    return found


def end_processes(processes: Iterable[Any]) -> None:
    """Kill processes; those that are gone already do no harm."""
    import psutil

    for process in processes:
        with suppress(psutil.Error):
            process.kill()
