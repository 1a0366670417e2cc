"""What happens in a simulated world, written down in the order in which it happens.

One list for all ranks: since the loop goes by virtual time, the lists are all but sorted, and the
two halves of a message, the sender's and the receiver's, have the same number.
"""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from course_lib.trace.events import Collective, Compute, Fault, Message, Note, Wait
from course_lib.trace.trace import Trace

__all__ = ["Log"]


@dataclass
class Log:
    """The events of all ranks, as plain tuples that become a trace at the end.

    Attributes
    ----------
    messages : list of tuple
        The fields of a ``Message`` from ``src`` to ``arrived_s``, by number.
    received_s : list of (float or None)
        When the message of that number was received.
    waits, computes, notes, collectives : list of tuple
        The fields of the event.
    """

    messages: list[tuple[Any, ...]] = field(default_factory=list)
    received_s: list[float | None] = field(default_factory=list)
    waits: list[tuple[Any, ...]] = field(default_factory=list)
    computes: list[tuple[Any, ...]] = field(default_factory=list)
    notes: list[tuple[Any, ...]] = field(default_factory=list)
    collectives: list[tuple[Any, ...]] = field(default_factory=list)

    def trace(self, size: int, faults: Sequence[Fault]) -> Trace:
        """Make a trace of it, sorted by time and then rank."""
        collecting = gc.isenabled()
        gc.disable()  # millions of new tuples, not one circle among them: nothing to be found
        try:
            return Trace(
                backend="simulated",
                clock="virtual",
                size=size,
                messages=_sorted(Message, self._whole_messages(), "posted_s", "src"),
                waits=_sorted(Wait, self.waits, "start_s", "rank"),
                computes=_sorted(Compute, self.computes, "start_s", "rank"),
                notes=_sorted(Note, self.notes, "time_s", "rank"),
                collectives=_sorted(Collective, self.collectives, "entered_s", "rank"),
                faults=list(faults),
            )
        finally:
            if collecting:
                gc.enable()

    def _whole_messages(self) -> list[tuple[Any, ...]]:
        return [
            (*row, received_s, "world")
            if received_s is not None
            else (*row[:-1], None, None, "world")  # what nobody received has not arrived either
            for row, received_s in zip(self.messages, self.received_s, strict=True)
        ]


def _sorted(kind: Any, rows: list[Any], time: str, rank: str) -> list[Any]:
    rows.sort(key=itemgetter(kind._fields.index(time), kind._fields.index(rank)))
    return list(map(kind._make, rows))
