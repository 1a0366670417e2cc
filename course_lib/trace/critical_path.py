"""The chain of messages that a run had to wait for: had one of them been faster, so had the run."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import NamedTuple

from course_lib.trace.events import Message
from course_lib.trace.trace import Trace

__all__ = ["Hop", "critical_path", "hops"]

_RECEIVING = ("recv", "recv_any", "sendrecv")
_POSTED = "irecv"
_SAME = 1e-9  # of a duration: rounding, in virtual time

_Found = dict[int, tuple[list[float], list["Hop"]]]


class Hop(NamedTuple):
    """A message of the critical path.

    Attributes
    ----------
    message : Message
        Which.
    start_s : float
        When it could leave: when it was sent or, by the rendezvous protocol, when its receive was
        posted, if that was later.
    held_by : int
        Whom it waited for until then: its sender, or the rank that posted the receive.
    """

    message: Message
    start_s: float
    held_by: int


def critical_path(trace: Trace) -> list[Message]:
    """Follow the run back from its last event: who was waited for, and whom did that one wait for.

    Beginning with the rank that ends last, one goes back to the last message that it had to wait
    for, from there to the rank that the message itself waited for, and so on. That is its sender;
    or its receiver, where a large message had to wait until the receive was posted. Between two
    messages of the chain a rank works through what it has; messages that were there already when
    they were asked for held nobody up.

    Parameters
    ----------
    trace : Trace
        What happened.

    Returns
    -------
    list of Message
        In order of time; empty where no rank ever waited for a message.
    """
    return [hop.message for hop in hops(trace)]


def hops(trace: Trace) -> list[Hop]:
    """Return the critical path with the times at which its messages could leave.

    Parameters
    ----------
    trace : Trace
        What happened.

    Returns
    -------
    list of Hop
        In order of time. Only of virtual time it is known who held a message up: elsewhere every
        ``held_by`` is the sender.
    """
    waited = _waited_for(trace)
    rank, time_s = _last(trace)
    chain: list[Hop] = []
    while True:
        times, found = waited[rank]
        index = bisect_right(times, time_s) - 1
        # Without latency a message may arrive in the instant it is posted: never the same twice.
        while index >= 0 and chain and found[index].start_s >= chain[-1].start_s:
            index -= 1
        if index < 0:
            return chain[::-1]
        chain.append(found[index])
        rank, time_s = found[index].held_by, found[index].start_s


def _waited_for(trace: Trace) -> _Found:
    """List by rank the messages that it waited for, with the times at which it had them.

    A rank waited for a message if, since the one before from the same rank (or from anybody, where
    it waited for anybody), it was in a receiving verb that it entered before the message arrived.
    What ``irecv`` has begun is received whenever it comes; the rank waited for it if it came while
    the rank was in the ``wait`` of one from the same rank.
    """
    waits: dict[tuple[int, int | None], list[tuple[float, float]]] = defaultdict(list)
    posted: dict[tuple[int, int | None], list[tuple[float, float]]] = defaultdict(list)
    for wait in trace.waits:
        if wait.verb in _RECEIVING:
            waits[wait.rank, wait.peer].append((wait.end_s, wait.start_s))
        elif wait.verb == _POSTED:
            posted[wait.rank, wait.peer].append((wait.end_s, wait.start_s))
    for ends in (*waits.values(), *posted.values()):
        ends.sort()
    received = [
        (m.received_s, number, m.arrived_s, m)
        for number, m in enumerate(trace.messages)
        if m.received_s is not None and m.arrived_s is not None
    ]
    before_s: dict[tuple[int, int | None], float] = defaultdict(lambda: -1.0)
    found: _Found = defaultdict(lambda: ([], []))
    entered: list[tuple[Message, float]] = []  # with the times at which their receives were posted
    for received_s, _, arrived_s, m in sorted(received):
        ends = posted[m.dst, m.src]
        index = bisect_left(ends, (received_s, -math.inf))
        if index < len(ends) and ends[index][1] < arrived_s:
            found[m.dst][0].append(received_s)
            found[m.dst][1].append(Hop(m, m.posted_s, m.src))
            before_s[m.dst, m.src] = before_s[m.dst, None] = received_s
            continue
        for whom in ((m.dst, m.src), (m.dst, None)):
            index = bisect_right(waits[whom], (received_s, math.inf)) - 1
            if index >= 0 and waits[whom][index][0] > before_s[whom]:
                if waits[whom][index][1] < arrived_s:
                    found[m.dst][0].append(received_s)
                    found[m.dst][1].append(Hop(m, m.posted_s, m.src))
                    entered.append((m, waits[whom][index][1]))
                break
        before_s[m.dst, m.src] = before_s[m.dst, None] = received_s
    if trace.clock == "virtual":
        _see_who_held(found, entered)
    return found


def _see_who_held(found: _Found, entered: list[tuple[Message, float]]) -> None:
    """Say of messages that left when their receives were posted that the receivers held them.

    How long a message of a size takes to leave is seen where its receive was posted in time. One
    that took just so long since its receive was posted, and longer since it was sent, was held.
    """
    usual_s: dict[int, set[float]] = defaultdict(set)
    for m, entered_s in entered:
        if entered_s <= m.posted_s:
            usual_s[m.n_bytes].add(m.sent_s - m.posted_s)

    def is_usual(m: Message, since_s: float) -> bool:
        took_s = m.sent_s - since_s
        return any(math.isclose(took_s, s, rel_tol=_SAME, abs_tol=0) for s in usual_s[m.n_bytes])

    held = {
        id(m): entered_s
        for m, entered_s in entered
        if m.posted_s < entered_s < m.sent_s
        and is_usual(m, entered_s) and not is_usual(m, m.posted_s)
    }  # fmt: skip
    for _, of_rank in found.values():
        of_rank[:] = [
            Hop(hop.message, held[id(hop.message)], hop.message.dst)
            if id(hop.message) in held else hop
            for hop in of_rank
        ]  # fmt: skip


def _last(trace: Trace) -> tuple[int, float]:
    """Find the rank that ends last, and when."""
    ends = [(span.end_s, -span.rank) for span in trace.computes]
    ends += [(m.received_s, -m.dst) for m in trace.messages if m.received_s is not None]
    time_s, rank = max(ends, default=(0.0, 0))
    return -rank, time_s
