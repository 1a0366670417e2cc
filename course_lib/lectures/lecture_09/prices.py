"""What a gradient costs: those who wait for all, for some, for nobody, side by side."""

from collections.abc import Callable
from functools import partial
from typing import Any

from course_lib.lectures.lecture_09.bowl import RETURNED, ages, on_bowl, pace
from course_lib.schemes import backup_workers, bounded_staleness, downpour, parameter_server
from course_lib.viz import Table, table

__all__ = ["price_sheet"]

_GRADIENTS = 240
_SCHEMES: dict[str, tuple[Callable[..., Any], int]] = {  # how many gradients an update is of
    "waits for all": (parameter_server, 4),
    "waits for 3 of 4": (partial(backup_workers, backups=1), 3),
    "at most 1 batch ahead": (partial(bounded_staleness, bound=1), 1),
    "Downpour": (downpour, 1),
    "Downpour, a push returns": (RETURNED, 1),
}


def price_sheet() -> Table:
    """Lay out what schemes with a server and four replicas do in the same virtual second.

    Returns
    -------
    Table
        For each scheme and each kind of times, the gradients applied a second until the last
        update; the messages that a gradient needs at the server, and how old it is where one
        replica is a straggler.
    """
    rows = {}
    for name, (scheme, each) in _SCHEMES.items():
        row: dict[str, Any] = {}
        for times in ("equal", "random", "straggler"):
            trace = on_bowl(scheme, 4, _GRADIENTS, pace(4, times), waits=each > 1).trace
            ends_s = [span.end_s for span in trace.computes if span.label == "update"]
            row[f"a second, {times}"] = round(each * len(ends_s) / max(ends_s), 2)
        old = ages(trace)
        row["messages a gradient, straggler"] = round(trace.n_messages / (each * len(ends_s)), 1)
        row["mean age, straggler"] = round(sum(old) / len(old), 2) if old else 0.0
        rows[name] = row
    return table(rows)
