"""How much of a table a rank has in its memory, while it loads its rows and afterwards."""

import tracemalloc
from collections.abc import Callable
from typing import Any

from course_lib import run
from course_lib.comm.communicator import Communicator

__all__ = ["held", "who_holds"]


def held(comm: Communicator, load: Callable[[Communicator], Any]) -> tuple[int, int]:
    """Load rows, and measure what that allocates.

    Real processes only: simulated ranks share one interpreter, and one memory. The first load
    warms up what Python keeps (imports, buffers); the second one is measured.

    Parameters
    ----------
    comm : Communicator
        The ranks; all must call.
    load : callable
        Called with ``comm``; returns what this rank keeps.

    Returns
    -------
    kept : int
        The bytes that are still allocated when ``load`` has returned, because of what it returned.
    peak : int
        The most bytes that were allocated at any time while it ran.
    """
    load(comm)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        rows = load(comm)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del rows
    return after - before, peak - before


def who_holds(
    load: Callable[[Communicator], Any], n_bytes: int, workers: int = 4
) -> dict[str, int]:
    """Count, on real processes, the ranks that have a whole table in their memory.

    Parameters
    ----------
    load : callable
        Called with a communicator; returns the rows that a rank keeps.
    n_bytes : int
        The size of the table. It should be well above the few kilobytes that Python itself
        allocates while it loads.
    workers : int, default: 4
        How many ranks.

    Returns
    -------
    dict of str to int
        The bytes that all ranks together send, how many ranks hold the table at some time, and how
        many still do when ``load`` has returned.
    """
    measured = run(held, load, workers=workers).values
    return {
        "bytes sent": run(load, workers=workers).trace.n_bytes,
        "ranks that once held all": sum(peak >= n_bytes for _, peak in measured),
        "ranks that hold all afterwards": sum(kept >= n_bytes for kept, _ in measured),
    }
