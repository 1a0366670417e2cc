"""Run a function that may deadlock, and show how far it came."""

from collections.abc import Callable
from typing import Any

from course_lib import run
from course_lib.comm.errors import DeadlockError
from course_lib.viz import Player, player
from course_lib.words.units import in_seconds

__all__ = ["attempt"]


def attempt(fn: Callable[..., Any], *args: Any, workers: int = 4) -> Player:
    """Play a simulated run: to its end, or to the moment in which no rank can go on.

    Parameters
    ----------
    fn : callable
        Called with ``comm`` and the arguments.
    *args
        The same for every rank.
    workers : int, default: 4
        How many ranks.

    Returns
    -------
    Player
        Its title says how long the run took, or who waits for whom.

    Raises
    ------
    RunError
        If the run fails otherwise than by a deadlock.

    Examples
    --------
    >>> def each_waits(comm):
    ...     return comm.recv(src=1 - comm.rank)
    >>> attempt(each_waits, workers=2).title
    'deadlock: 0 → 1 → 0, each waits for the next'
    """
    try:
        result = run(fn, *args, workers=workers, backend="simulated")
        trace, title = result.trace, f"all are done after {in_seconds(result.elapsed_s)}"
    except DeadlockError as error:
        circle = " → ".join(map(str, [*error.cycle, error.cycle[0]]))
        trace, title = error.trace, f"deadlock: {circle}, each waits for the next"
    assert trace is not None, "the simulator keeps what it has recorded"
    return player(trace, "ring", title=title)
