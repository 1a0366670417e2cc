"""Runs to watch: what each rank has received, and how far a function comes that may deadlock."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import run
from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import DeadlockError
from course_lib.comm.result import Result
from course_lib.trace.events import Note, Wait
from course_lib.trace.trace import Trace
from course_lib.viz import Player, player
from course_lib.words.units import in_seconds

__all__ = ["attempt", "with_received"]

_DRAWN_S = 80e-6
"""How much of a wait without end is drawn: as long as four small messages take."""


def with_received(result: Result) -> Trace:
    """Note on a run's trace which number each rank has received, from when on.

    Parameters
    ----------
    result : Result
        Of a function that returns the last array that it has received.

    Returns
    -------
    Trace
        With a note ``"holds"`` for each rank that has received, the first number of what it
        returned; players show it beside the rank.
    """
    times: dict[int, float] = {}
    for message in result.trace.messages:
        if message.received_s is not None:
            times[message.dst] = max(times.get(message.dst, 0.0), message.received_s)
    notes = [
        Note(rank, "holds", float(result.values[rank].flat[0]), time_s)
        for rank, time_s in sorted(times.items())
    ]
    return replace(result.trace, notes=notes)


def attempt(
    order: Callable[[Communicator, NDArray[np.float64]], Any], n_bytes: int, workers: int = 4
) -> Player:
    """Play a simulated run: to its end, or to the moment in which no rank can go on.

    Parameters
    ----------
    order : callable
        In which order a rank sends and receives: called with ``comm`` and an array that is filled
        with the rank; returns what it received.
    n_bytes : int
        The size of that array, a multiple of 8.
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
    >>> def each_waits(comm, x):
    ...     return comm.recv(src=1 - comm.rank)
    >>> attempt(each_waits, 8, workers=2).title
    'deadlock: 0 → 1 → 0, each waits for the next'
    """

    def own_numbers(comm: Communicator) -> Any:
        return order(comm, np.full(n_bytes // 8, float(comm.rank)))

    try:
        result = run(own_numbers, workers=workers, backend="simulated")
    except DeadlockError as error:
        circle = " → ".join(map(str, [*error.cycle, error.cycle[0]]))
        trace, title = _waiting(error), f"deadlock: {circle}, each waits for the next"
    else:
        trace = with_received(result)
        title = f"all are done after {in_seconds(result.elapsed_s)}"
    return player(trace, "ring", title=title)


def _waiting(error: DeadlockError) -> Trace:
    """Draw the waits in which a run has hung, which a trace ends without, some way on."""
    trace = error.trace
    assert trace is not None, "the simulator keeps what it has recorded"
    now_s = max(fault.time_s for fault in trace.faults)
    waits = [
        Wait(rank, call.partition("(")[0], peer, now_s, now_s + _DRAWN_S, "world")
        for rank, peer, call, _ in error.graph
    ]
    return replace(trace, waits=[*trace.waits, *waits], faults=[])
