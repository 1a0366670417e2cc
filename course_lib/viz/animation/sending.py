"""Which part of a send is waiting.

A trace says when a rank entered ``send`` and when it came back. In virtual time the rest can be
told from the receiver: from its ``recv`` on, the message leaves, and the sender sends.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from course_lib.trace.events import Wait

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["SENDING", "without_sending"]

SENDING = ("send", "isend")
_RECEIVING = ("recv", "recv_any", "sendrecv")

_Pair = tuple[int, int | None]


def without_sending(trace: "Trace", waits: Iterable[Wait]) -> Iterator[Wait]:
    """Shorten the waits of senders to the time in which the receiver had not called ``recv``.

    An eager message leaves at once: nothing is left of its wait. A large one waits for its receive,
    and so does one that nobody received. On measured clocks, which do not agree to the
    microsecond, and where the receiver called ``irecv``, whose time no event has, waits stay as
    they are.

    Parameters
    ----------
    trace : Trace
        What happened.
    waits : iterable of Wait
        Some of its waits.

    Yields
    ------
    Wait
        The same, in order, but for those of which nothing is left.
    """
    waits = list(waits)
    is_known = trace.clock == "virtual" and any(wait.verb in SENDING for wait in waits)
    received = {(m.src, m.dst, m.sent_s): m.received_s for m in trace.messages} if is_known else {}
    receiving, with_irecv = _receiving(trace) if is_known else ({}, set())
    for wait in waits:
        peer = wait.peer
        if wait.verb not in SENDING or peer is None:
            yield wait
            continue
        received_s = received.get((wait.rank, peer, wait.end_s))
        if received_s is None:
            yield wait
            continue
        called_s = min(
            _called_s(receiving.get((peer, src), []), received_s) for src in (wait.rank, None)
        )
        if wait.start_s < called_s < wait.end_s:
            yield wait._replace(end_s=called_s)
        elif called_s == math.inf and peer in with_irecv:
            yield wait


def _receiving(trace: "Trace") -> tuple[dict[_Pair, list[tuple[float, float]]], set[int]]:
    """List when each rank waited to receive, end and start; and the ranks that waited in irecv."""
    found: dict[_Pair, list[tuple[float, float]]] = defaultdict(list)
    with_irecv = set()
    for wait in trace.waits:
        if wait.verb in _RECEIVING:
            found[wait.rank, wait.peer].append((wait.end_s, wait.start_s))
        elif wait.verb == "irecv":
            with_irecv.add(wait.rank)
    for ends in found.values():
        ends.sort()
    return found, with_irecv


def _called_s(ends: list[tuple[float, float]], received_s: float) -> float:
    """Return when the rank entered the wait in which it received; infinity if it did not wait."""
    index = bisect_left(ends, (received_s, -math.inf))
    if index < len(ends) and ends[index][1] < received_s:
        return ends[index][1]
    return math.inf
