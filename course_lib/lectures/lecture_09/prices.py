"""What a gradient costs: those who wait for all, for some, for nobody, side by side."""

from collections.abc import Callable
from functools import partial
from typing import Any

from course_lib.lectures.lecture_09.bowl import RETURNED, ages, on_bowl, pace
from course_lib.schemes import backup_workers, bounded_staleness, downpour, parameter_server
from course_lib.viz import Table, table

__all__ = ["price_sheet"]

_GRADIENTS = 240
_SCHEMES: dict[str, tuple[Callable[..., Any], bool]] = {
    "waits for all": (parameter_server, True),
    "waits for 3 of 4": (partial(backup_workers, backups=1), True),
    "at most 1 batch ahead": (partial(bounded_staleness, bound=1), False),
    "Downpour": (downpour, False),
    "Downpour, a push returns": (RETURNED, False),
}


def price_sheet(workers: int = 4) -> Table:
    """Lay out what schemes with a server do in the same virtual second.

    Parameters
    ----------
    workers : int, default: 4
        How many replicas.

    Returns
    -------
    Table
        For each scheme and each kind of times, the gradients applied a second; the messages that a
        gradient needs at the server, and how old it is where one replica is a straggler.
    """
    rows = {}
    for name, (scheme, waits) in _SCHEMES.items():
        row: dict[str, Any] = {}
        for times in ("equal", "random", "straggler"):
            trace = on_bowl(scheme, workers, _GRADIENTS, pace(workers, times), waits=waits).trace
            dropped = sum(int(note.value) for note in trace.notes_named("dropped"))
            pushed = sum(message.tag == "gradient" for message in trace.messages)
            row[f"a second, {times}"] = round((pushed - dropped) / trace.end_s, 2)
        old = ages(trace)
        row["messages a gradient"] = round(trace.n_messages / (pushed - dropped), 1)
        row["mean age"] = round(sum(old) / len(old), 2) if old else 0.0
        rows[name] = row
    return table(rows)
