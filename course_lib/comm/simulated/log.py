"""What happens in a simulated world, written down in the order in which it happens.

One list for all ranks: since the loop goes by virtual time, the lists are all but sorted, and the
two halves of a message, the sender's and the receiver's, have the same number. Messages have one
such list in each communicator.
"""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from course_lib.comm.messages import Envelope
from course_lib.trace.events import Collective, Compute, Fault, Message, Note, Wait
from course_lib.trace.trace import Trace

__all__ = ["Log", "Mail"]


@dataclass
class Mail:
    """The messages of one communicator.

    Attributes
    ----------
    comm : str
        Its name.
    messages : list of tuple
        The fields of a ``Message`` from ``src`` to ``arrived_s``, by number.
    received_s : list of (float or None)
        When the message of that number was received.
    """

    comm: str
    messages: list[tuple[Any, ...]] = field(default_factory=list)
    received_s: list[float | None] = field(default_factory=list)

    def add(
        self, src: int, dst: int, sent: Envelope, n_bytes: int,
        posted_s: float, sent_s: float, arrived_s: float,
    ) -> int:  # fmt: skip
        """Write down a message that has started, and return its number."""
        self.messages.append(
            (src, dst, sent.tag, sent.dtype, sent.shape, n_bytes, posted_s, sent_s, arrived_s)
        )
        self.received_s.append(None)
        return len(self.messages) - 1

    def whole(self) -> list[tuple[Any, ...]]:
        """List all fields of all messages; what nobody received has not arrived either."""
        return [
            (*row, received_s, self.comm)
            if received_s is not None
            else (*row[:-1], None, None, self.comm)
            for row, received_s in zip(self.messages, self.received_s, strict=True)
        ]


@dataclass
class Log:
    """The events of all ranks, as plain tuples that become a trace at the end.

    Attributes
    ----------
    mail : list of Mail
        The messages of each communicator.
    waits, computes, notes, collectives : list of tuple
        The fields of the event.
    """

    mail: list[Mail] = field(default_factory=list)
    waits: list[tuple[Any, ...]] = field(default_factory=list)
    computes: list[tuple[Any, ...]] = field(default_factory=list)
    notes: list[tuple[Any, ...]] = field(default_factory=list)
    collectives: list[tuple[Any, ...]] = field(default_factory=list)

    def open_mail(self, comm: str) -> Mail:
        """Begin the messages of one more communicator."""
        self.mail.append(Mail(comm))
        return self.mail[-1]

    def n_events(self) -> int:
        """Count what has been written down; another thread may ask."""
        n_messages = sum(len(mail.received_s) for mail in self.mail)
        return n_messages + len(self.computes) + len(self.notes) + len(self.collectives)

    def trace(self, size: int, faults: Sequence[Fault]) -> Trace:
        """Make a trace of it, sorted by time and then rank."""
        collecting = gc.isenabled()
        gc.disable()  # millions of new tuples, not one circle among them: nothing to be found
        try:
            messages = [row for mail in self.mail for row in mail.whole()]
            return Trace(
                backend="simulated",
                clock="virtual",
                size=size,
                messages=_sorted(Message, messages, "posted_s", "src"),
                waits=_sorted(Wait, self.waits, "start_s", "rank"),
                computes=_sorted(Compute, self.computes, "start_s", "rank"),
                notes=_sorted(Note, self.notes, "time_s", "rank"),
                collectives=_sorted(Collective, self.collectives, "entered_s", "rank"),
                faults=list(faults),
            )
        finally:
            if collecting:
                gc.enable()


def _sorted(kind: Any, rows: list[Any], time: str, rank: str) -> list[Any]:
    rows.sort(key=itemgetter(kind._fields.index(time), kind._fields.index(rank)))
    return list(map(kind._make, rows))
