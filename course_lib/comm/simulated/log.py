"""What happens in a simulated world, written down in the order in which it happens.

One log for all ranks: since the loop goes by virtual time, it is all but sorted, and the two halves
of a message, the sender's and the receiver's, have the same number. Messages have a log of their
own in each communicator.

Messages and waits, of which there may be millions, are written as rows of plain numbers. That keeps
them small, and nothing there is that Python's garbage collector would look through.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from struct import Struct
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
_MESSAGE, _WAIT = "qqqddd", "qqdd"  # the kinds of numbers in a row
_MESSAGE_FIELDS = np.dtype({
    "names": ["src", "dst", "n_bytes", "posted_s", "sent_s", "arrived_s"],
    "formats": list(_MESSAGE),
})  # fmt: skip
_WAIT_FIELDS = np.dtype({"names": ["rank", "peer", "start_s", "end_s"], "formats": list(_WAIT)})
_MESSAGE_BYTES, _WAIT_BYTES = _MESSAGE_FIELDS.itemsize, _WAIT_FIELDS.itemsize
_write_message, _write_wait = Struct(f"={_MESSAGE}").pack_into, Struct(f"={_WAIT}").pack_into


class Mail:
    """The messages of one communicator, by number.

    Attributes
    ----------
    comm : str
        Its name.
    n : int
        How many there are. The rows are more: what comes after is room.
    rows : bytearray
        Of each: src and dst, ranks of the whole run; n_bytes; posted_s, sent_s and arrived_s.
    sent : list of Envelope
        What each message says about itself; those of like messages are one object.
    received_s : array of float
        No number while nobody has received it.
    """

    __slots__ = ("comm", "n", "received_s", "rows", "sent")

    def __init__(self, comm: str) -> None:
        self.comm = comm
        self.n = 0
        self.rows = bytearray(_ROOM * _MESSAGE_BYTES)
        self.sent: list[Any] = [None] * _ROOM
        self.received_s = array("d", [_NEVER]) * _ROOM

    def add(
        self, src: int, dst: int, sent: Envelope, n_bytes: int,
        posted_s: float, sent_s: float, arrived_s: float,
    ) -> int:  # fmt: skip
        """Write down a message that has started, and return its number."""
        number = self.n
        if number == len(self.sent):
            _double(self.rows, self.received_s, self.sent)
        _write_message(
            self.rows, number * _MESSAGE_BYTES, src, dst, n_bytes, posted_s, sent_s, arrived_s
        )
        self.sent[number] = sent
        self.received_s[number] = _NEVER
        self.n = number + 1  # the last thing: an interrupt may have come in between
        return number

    def count(self, src: int, dst: int) -> int:
        """Count the messages from one rank to another."""
        rows = self._table()
        return int(np.count_nonzero((rows["src"] == src) & (rows["dst"] == dst)))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the fields of ``Message``; what nobody received has not arrived either."""
        rows, sent = self._table(), self.sent[: self.n]
        received_s = np.array(self.received_s[: self.n])
        unread = np.isnan(received_s)
        return {
            "src": rows["src"],
            "dst": rows["dst"],
            "tag": _objects(sent, "tag"),
            "dtype": _objects(sent, "dtype"),
            "shape": _objects(sent, "shape"),
            "n_bytes": rows["n_bytes"],
            "posted_s": rows["posted_s"],
            "sent_s": rows["sent_s"],
            "arrived_s": _none_where(unread, rows["arrived_s"]),
            "received_s": _none_where(unread, received_s),
            "comm": np.full(self.n, self.comm, object),
        }

    def _table(self) -> NDArray[Any]:
        return np.frombuffer(bytes(self.rows), _MESSAGE_FIELDS, self.n)


class Waits:
    """The waits of all ranks: a row has rank, peer (-1 is nobody), start_s and end_s."""

    __slots__ = ("comm", "n", "rows", "verb")

    def __init__(self) -> None:
        self.n = 0
        self.rows = bytearray(_ROOM * _WAIT_BYTES)
        self.verb, self.comm = [""] * _ROOM, [""] * _ROOM

    def add(
        self, rank: int, verb: str, peer: int | None, start_s: float, end_s: float, comm: str
    ) -> None:
        """Write down a wait that is over."""
        number = self.n
        if number == len(self.verb):
            _double(self.rows, self.verb, self.comm)
        _write_wait(
            self.rows, number * _WAIT_BYTES, rank, _NOBODY if peer is None else peer, start_s, end_s
        )
        self.verb[number] = verb
        self.comm[number] = comm
        self.n = number + 1

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the fields of ``Wait``."""
        rows = np.frombuffer(bytes(self.rows), _WAIT_FIELDS, self.n)
        return {
            "rank": rows["rank"],
            "verb": np.array(self.verb[: self.n], object),
            "peer": _none_where(rows["peer"] == _NOBODY, rows["peer"]),
            "start_s": rows["start_s"],
            "end_s": rows["end_s"],
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
