"""What a run gives back, and how a worker is known: what every world imports of ``run``."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from course_lib.trace.trace import Trace

__all__ = [
    "THREADS_OF_RANKS",
    "WORKER_VARIABLE",
    "Lost",
    "Result",
    "become_worker",
    "inside_worker",
    "is_worker",
    "runs_ranks",
]

WORKER_VARIABLE = "COURSE_LIB_WORKER"
"""The environment variable of a worker process; its value is the rank. Programs inherit it that a
worker starts, which are none themselves."""

THREADS_OF_RANKS: "WeakSet[threading.Thread]" = WeakSet()
"""What simulated ranks have started in the run that is under way."""

_here = threading.local()
_is_worker = False


@dataclass(frozen=True)
class Lost:
    """Stands in the place of what a rank would have returned that was lost; see ``run``.

    Attributes
    ----------
    reason : str
        How it was lost, the last time.
    """

    reason: str


@dataclass(frozen=True)
class Result:
    """What a run gave back.

    Attributes
    ----------
    values : list
        What each rank's function returned, by rank; ``Lost`` of one that was lost.
    elapsed_s : float
        How long it took: wall seconds, or virtual seconds on the simulator.
    backend : str
        The world it ran in.
    recorded : Trace or None
        The trace, or None where the run was made with ``trace=False``.
    is_whole : bool, default: True
        Whether all ranks' values and events are in it. Of the programs that torchrun has started
        the first has them; each other one has its own, and None for the rest.
    """

    values: list[Any]
    elapsed_s: float
    backend: str
    recorded: Trace | None
    is_whole: bool = True

    @property
    def trace(self) -> Trace:
        """Messages and compute spans of all ranks, on one clock.

        Raises
        ------
        ValueError
            If the run was made with ``trace=False``.
        """
        if self.recorded is None:
            raise ValueError("this run was made with trace=False: run it again with trace=True")
        return self.recorded

    def __repr__(self) -> str:
        """Summarise without any time, so that two runs of the same code print the same."""
        traffic = "" if self.recorded is None else f": {self.recorded.traffic}"
        n_lost = sum(isinstance(value, Lost) for value in self.values)
        lost = f", {n_lost} lost" if n_lost else ""
        return f"Result({len(self.values)} ranks{lost}, {self.backend}{traffic})"


def become_worker(rank: int) -> None:
    """Mark this process, and its copies, as the worker that is a rank.

    Parameters
    ----------
    rank : int
        That rank.
    """
    global _is_worker
    _is_worker = True
    os.environ[WORKER_VARIABLE] = str(rank)


def is_worker() -> bool:
    """Tell whether this process is a worker, or a copy of one."""
    return _is_worker


@contextmanager
def inside_worker(rank: int) -> Iterator[None]:
    """Mark this thread as running workers, so that a nested ``run`` is refused.

    Parameters
    ----------
    rank : int
        A rank that runs in this thread.

    Yields
    ------
    None
        While the workers run.
    """
    _here.rank = rank
    try:
        yield
    finally:
        _here.rank = None


def runs_ranks() -> bool:
    """Tell whether this thread is running simulated ranks, or has been started by one."""
    return (
        getattr(_here, "rank", None) is not None or threading.current_thread() in THREADS_OF_RANKS
    )
