"""What happens in a simulated world, written down in the order in which it happens.

One log for all ranks: since the loop goes by virtual time, it is all but sorted, and the two halves
of a message, the sender's and the receiver's, have the same number. Messages have a log of their
own in each communicator.

Messages and waits, of which there may be millions, are written into columns of plain numbers. That
keeps them small, and nothing there is that Python's garbage collector would look through.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.messages import Envelope
from course_lib.trace.events import Collective, Compute, Fault, Message, Note, Wait
from course_lib.trace.table import Table
from course_lib.trace.trace import Trace

__all__ = ["Log", "Mail", "Waits"]

_NOBODY = -1
_NEVER = math.nan
_ROOM = 16  # rows that a log begins with


class Mail:
    """The messages of one communicator, by number.

    Attributes
    ----------
    comm : str
        Its name.
    n : int
        How many there are. The columns are longer: what comes after is room for more.
    src, dst : array of int
        Ranks of the whole run.
    sent : list of Envelope
        What each message says about itself; those of like messages are one object.
    n_bytes : array of int
        Its size.
    posted_s, sent_s, arrived_s, received_s : array of float
        The times of a ``Message``; ``received_s`` is no number while nobody has received it.
    """

    __slots__ = (
        "arrived_s", "comm", "dst", "n", "n_bytes", "posted_s", "received_s", "sent", "sent_s",
        "src",
    )  # fmt: skip

    def __init__(self, comm: str) -> None:
        self.comm = comm
        self.n = 0
        self.src, self.dst, self.n_bytes = _integers(), _integers(), _integers()
        self.sent: list[Any] = [None] * _ROOM
        self.posted_s, self.sent_s = _seconds(), _seconds()
        self.arrived_s, self.received_s = _seconds(), _seconds()

    def add(
        self, src: int, dst: int, sent: Envelope, n_bytes: int,
        posted_s: float, sent_s: float, arrived_s: float,
    ) -> int:  # fmt: skip
        """Write down a message that has started, and return its number."""
        number = self.n
        if number == len(self.src):
            _double(
                self.src, self.dst, self.n_bytes, self.sent,
                self.posted_s, self.sent_s, self.arrived_s, self.received_s,
            )  # fmt: skip
        self.src[number] = src
        self.dst[number] = dst
        self.sent[number] = sent
        self.n_bytes[number] = n_bytes
        self.posted_s[number] = posted_s
        self.sent_s[number] = sent_s
        self.arrived_s[number] = arrived_s
        self.received_s[number] = _NEVER
        self.n = number + 1  # the last thing: an interrupt may have come in between
        return number

    def count(self, src: int, dst: int) -> int:
        """Count the messages from one rank to another."""
        pairs = zip(self.src[: self.n], self.dst[: self.n], strict=True)
        return sum(pair == (src, dst) for pair in pairs)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the fields of ``Message``; what nobody received has not arrived either."""
        sent = self.sent[: self.n]
        received_s = np.array(self.received_s[: self.n])
        unread = np.isnan(received_s)
        return {
            "src": np.array(self.src[: self.n]),
            "dst": np.array(self.dst[: self.n]),
            "tag": _objects(sent, "tag"),
            "dtype": _objects(sent, "dtype"),
            "shape": _objects(sent, "shape"),
            "n_bytes": np.array(self.n_bytes[: self.n]),
            "posted_s": np.array(self.posted_s[: self.n]),
            "sent_s": np.array(self.sent_s[: self.n]),
            "arrived_s": _none_where(unread, np.array(self.arrived_s[: self.n])),
            "received_s": _none_where(unread, received_s),
            "comm": np.full(self.n, self.comm, object),
        }


class Waits:
    """The waits of all ranks: the fields of ``Wait``, where a ``peer`` of -1 is nobody."""

    __slots__ = ("comm", "end_s", "n", "peer", "rank", "start_s", "verb")

    def __init__(self) -> None:
        self.n = 0
        self.rank, self.peer = _integers(), _integers()
        self.verb, self.comm = [""] * _ROOM, [""] * _ROOM
        self.start_s, self.end_s = _seconds(), _seconds()

    def add(
        self, rank: int, verb: str, peer: int | None, start_s: float, end_s: float, comm: str
    ) -> None:
        """Write down a wait that is over."""
        number = self.n
        if number == len(self.rank):
            _double(self.rank, self.verb, self.peer, self.start_s, self.end_s, self.comm)
        self.rank[number] = rank
        self.verb[number] = verb
        self.peer[number] = _NOBODY if peer is None else peer
        self.start_s[number] = start_s
        self.end_s[number] = end_s
        self.comm[number] = comm
        self.n = number + 1

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the fields of ``Wait``."""
        peer = np.array(self.peer[: self.n])
        return {
            "rank": np.array(self.rank[: self.n]),
            "verb": np.array(self.verb[: self.n], object),
            "peer": _none_where(peer == _NOBODY, peer),
            "start_s": np.array(self.start_s[: self.n]),
            "end_s": np.array(self.end_s[: self.n]),
            "comm": np.array(self.comm[: self.n], object),
        }


@dataclass
class Log:
    """The events of all ranks, which become a trace at the end.

    Attributes
    ----------
    mail : list of Mail
        The messages of each communicator.
    waits : Waits
        The waits of all ranks.
    computes, notes, collectives : list of tuple
        The fields of the event.
    """

    mail: list[Mail] = field(default_factory=list)
    waits: Waits = field(default_factory=Waits)
    computes: list[tuple[Any, ...]] = field(default_factory=list)
    notes: list[tuple[Any, ...]] = field(default_factory=list)
    collectives: list[tuple[Any, ...]] = field(default_factory=list)

    def open_mail(self, comm: str) -> Mail:
        """Begin the messages of one more communicator."""
        self.mail.append(Mail(comm))
        return self.mail[-1]

    def n_events(self) -> int:
        """Count what has been written down; another thread may ask."""
        n_messages = sum(mail.n for mail in list(self.mail))
        return n_messages + len(self.computes) + len(self.notes) + len(self.collectives)

    def trace(self, size: int, faults: Sequence[Fault]) -> Trace:
        """Make a trace of it, sorted by time and then rank."""
        return Trace(
            backend="simulated",
            clock="virtual",
            size=size,
            messages=_table(Message, [mail.columns() for mail in self.mail], "posted_s", "src"),
            waits=_table(Wait, [self.waits.columns()], "start_s", "rank"),
            computes=_sorted(Compute, self.computes, "start_s", "rank"),
            notes=_sorted(Note, self.notes, "time_s", "rank"),
            collectives=_sorted(Collective, self.collectives, "entered_s", "rank"),
            faults=list(faults),
        )


def _table(kind: Any, parts: list[dict[str, NDArray[Any]]], time: str, rank: str) -> Table[Any]:
    """Put the parts' rows below each other and sort them; what is equal stays in its order."""
    whole = {name: np.concatenate([part.pop(name) for part in parts]) for name in kind._fields}
    order = np.lexsort((whole[rank], whole[time]))
    for name in kind._fields:  # one after the other, so that only one is there twice
        whole[name] = whole[name][order]
    return Table(kind, whole)


def _sorted(kind: Any, rows: list[Any], time: str, rank: str) -> list[Any]:
    rows.sort(key=itemgetter(kind._fields.index(time), kind._fields.index(rank)))
    return list(map(kind._make, rows))


def _integers() -> "array[int]":
    return array("q", [0]) * _ROOM


def _seconds() -> "array[float]":
    return array("d", [0.0]) * _ROOM


def _double(*columns: Any) -> None:
    """Make room for as many rows again: seldom, while ``append`` moves an array ever so often."""
    for column in columns:
        column *= 2


def _objects(envelopes: Iterable[Envelope], name: str) -> NDArray[Any]:
    return np.fromiter(map(attrgetter(name), envelopes), object)


def _none_where(missing: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return the values with None in some places; as numbers where there is no such place."""
    if missing.any():
        values = values.astype(object)
        values[missing] = None
    return values
