"""The chain of messages that a run had to wait for: had one of them been faster, so had the run."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict

from course_lib.trace.events import Message
from course_lib.trace.trace import Trace

__all__ = ["critical_path"]

_RECEIVING = ("recv", "recv_any", "sendrecv")
_POSTED = "irecv"


def critical_path(trace: Trace) -> list[Message]:
    """Follow the run back from its last event: who was waited for, and whom did that one wait for.

    Beginning with the rank that ends last, one goes back to the last message that it had to wait
    for, from there to its sender at the time of sending, and so on. Between two messages of the
    chain a rank works through what it has; messages that were there already when they were asked
    for held nobody up.

    Parameters
    ----------
    trace : Trace
        What happened.

    Returns
    -------
    list of Message
        In order of time; empty where no rank ever waited for a message.
    """
    received = _waited_for(trace)
    rank, time_s = _last(trace)
    chain: list[Message] = []
    while True:
        times, messages = received[rank]
        index = bisect_right(times, time_s) - 1
        # Without latency a message may arrive in the instant it is posted: never the same twice.
        while index >= 0 and chain and messages[index].posted_s >= chain[-1].posted_s:
            index -= 1
        if index < 0:
            return chain[::-1]
        chain.append(messages[index])
        rank, time_s = messages[index].src, messages[index].posted_s


def _waited_for(trace: Trace) -> dict[int, tuple[list[float], list[Message]]]:
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
    found: dict[int, tuple[list[float], list[Message]]] = defaultdict(lambda: ([], []))
    for received_s, _, arrived_s, m in sorted(received):
        ends = posted[m.dst, m.src]
        index = bisect_left(ends, (received_s, -math.inf))
        if index < len(ends) and ends[index][1] < arrived_s:
            found[m.dst][0].append(received_s)
            found[m.dst][1].append(m)
            before_s[m.dst, m.src] = before_s[m.dst, None] = received_s
            continue
        for whom in ((m.dst, m.src), (m.dst, None)):
            index = bisect_right(waits[whom], (received_s, math.inf)) - 1
            if index >= 0 and waits[whom][index][0] > before_s[whom]:
                if waits[whom][index][1] < arrived_s:
                    found[m.dst][0].append(received_s)
                    found[m.dst][1].append(m)
                break
        before_s[m.dst, m.src] = before_s[m.dst, None] = received_s
    return found


def _last(trace: Trace) -> tuple[int, float]:
    """Find the rank that ends last, and when."""
    ends = [(span.end_s, -span.rank) for span in trace.computes]
    ends += [(m.received_s, -m.dst) for m in trace.messages if m.received_s is not None]
    time_s, rank = max(ends, default=(0.0, 0))
    return -rank, time_s
