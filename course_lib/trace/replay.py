"""Two questions about who was when: how long every computation took, and when something was noted.

The times are what an asynchronous run depends on. So a run can be kept as data, played again and
changed: ``network.with_service_times`` of the simulator takes them.
"""

import math

from course_lib.trace.events import Note
from course_lib.trace.trace import Trace

__all__ = ["find_note", "service_times"]


def service_times(trace: Trace) -> dict[int, list[float | None]]:
    """Read off how long each computation of each rank took.

    Parameters
    ----------
    trace : Trace
        What happened, on any clock.

    Returns
    -------
    dict of int to list of float
        By rank, in seconds, in the order in which it began them. In virtual time the same program
        in the same network gives the same trace again, to the bit, where nobody has crashed and no
        rank began two computations in the same instant beside each other.

    Examples
    --------
    >>> from course_lib import networks, run
    >>> def work(comm):
    ...     with comm.compute("work", flops=1e10 * (1 + comm.rank)):
    ...         pass
    >>> service_times(run(work, workers=2, backend="simulated").trace)
    {0: [1.0], 1: [2.0]}
    """
    found: dict[int, list[float | None]] = {rank: [] for rank in range(trace.size)}
    for span in trace.computes:
        found[span.rank].append(_lasting(span.start_s, span.end_s))
    return found


def find_note(trace: Trace, name: str, least: float | None = None, number: int = 0) -> Note | None:
    """Find the moment at which a rank noted something: its time, and what it noted.

    The k-th update and its staleness is ``find_note(trace, "staleness", number=k)``, the first one
    of a gradient that is 3 updates old ``find_note(trace, "staleness", least=3)``, the first update
    that another has overwritten ``find_note(trace, "lost_update")``, the first straggler that was
    left out ``find_note(trace, "dropped", least=1)``.

    Parameters
    ----------
    trace : Trace
        What happened.
    name : str
        What the ranks called it.
    least : float or None, default: None
        Only notes of this value or more; None takes any.
    number : int, default: 0
        Which of these, in the order of their times, then by rank.

    Returns
    -------
    Note or None
        With ``rank``, ``value`` and ``time_s``; None where there is none.
    """
    notes = (note for note in trace.notes_named(name) if least is None or note.value >= least)
    return next((note for k, note in enumerate(notes) if k == number), None)


def _lasting(start_s: float, end_s: float) -> float:
    """Return a time that, added to the start, gives the end to the bit.

    There is one, since the end was made so; but the difference is rounded and may be beside it.
    """
    near = end_s - start_s
    tried = (near, math.nextafter(near, math.inf), math.nextafter(near, 0.0))
    return next((time_s for time_s in tried if start_s + time_s == end_s), near)
