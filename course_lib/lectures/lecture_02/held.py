"""How much of a table a rank has in its memory, while it loads its rows and afterwards."""

import tracemalloc
from collections.abc import Callable
from typing import Any

from course_lib.comm.communicator import Communicator

__all__ = ["held"]


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
