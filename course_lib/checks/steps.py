"""The first step at which a run is not as a right one would be: where its picture begins.

Before that step both runs are alike, so that their virtual clocks may be compared. What a message
carries is compared by two sums over its numbers, which rounding hardly changes.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.trace.events import Message
from course_lib.trace.table import column
from course_lib.trace.trace import Trace

__all__ = ["Step", "Weights", "excerpt", "first_other_message", "n_first_alike", "weigh"]

Pair = tuple[str, int, int]
"""A communicator's name, a sender, a receiver."""

Weight = tuple[float, float, float]
"""The sum of an array's numbers, the same with each number times its place, and its scale."""

Weights = dict[Pair, list[Weight]]
"""What was in the messages, in the order in which they were sent."""

_MOST_DRAWN = 200
_BEFORE = 40
_ROUNDING = 1e-5  # of float32, too; a wrong chunk is off by far more


class Step(NamedTuple):
    """Something that one run does and another does not, and when, in virtual seconds."""

    time_s: float
    says: str


def weigh(weights: Weights, src: int, name: str, dst: int, data: NDArray[Any]) -> None:
    """Note what a message carries; whatever cannot be added up weighs nothing."""
    weight = (0.0, 0.0, 0.0)
    if data.dtype.kind in "biuf" and data.size:
        numbers = np.asarray(data, dtype=np.float64).ravel()
        places = np.arange(1, numbers.size + 1)
        with np.errstate(all="ignore"):
            scale = float(np.abs(numbers).max()) * numbers.size
            weight = float(numbers.sum()), float((numbers * places).sum()) / numbers.size, scale
    weights.setdefault((name, src, dst), []).append(weight)


def first_other_message(
    trace: Trace, weights: Weights, right: Trace, right_weights: Weights
) -> Step | None:
    """Find the first message that is not as in a right run.

    Parameters
    ----------
    trace : Trace
        The run.
    weights : dict
        What its messages carried.
    right : Trace
        A right run.
    right_weights : dict
        What the messages of that carried.

    Returns
    -------
    Step or None
        None where all messages are alike, whatever was made of them.
    """
    ours, theirs = _by_pair(trace), _by_pair(right)
    steps = []
    for pair in {**ours, **theirs}:
        sent, known = ours.get(pair, []), theirs.get(pair, [])
        carried = weights.get(pair, []), right_weights.get(pair, [])
        if (len(carried[0]), len(carried[1])) != (len(sent), len(known)):
            carried = [], []  # something was sent that was not weighed
        steps += list(islice(_others(pair, sent, known, *carried), 1))
    if not steps:
        return None
    first = min(steps)
    return first._replace(time_s=min(first.time_s, trace.end_s))


def n_first_alike(
    trace: Trace, weights: Weights, right: Trace, right_weights: Weights
) -> tuple[int, int]:
    """Count the messages before the first other one, between all pairs of ranks together.

    Parameters
    ----------
    trace : Trace
        The run.
    weights : dict
        What its messages carried.
    right : Trace
        A right run.
    right_weights : dict
        What the messages of that carried.

    Returns
    -------
    tuple of int
        How many are as long, and how many of these also weigh the same.
    """
    ours, theirs = _by_pair(trace), _by_pair(right)
    as_long = as_heavy = 0
    for pair in ours.keys() & theirs.keys():
        lengths = [[n_bytes for _, n_bytes in sent[pair]] for sent in (ours, theirs)]
        same = list(takewhile(lambda both: both[0] == both[1], zip(*lengths, strict=False)))
        carried = zip(weights.get(pair, []), right_weights.get(pair, []), strict=False)
        as_long += len(same)
        as_heavy += sum(1 for _ in takewhile(lambda both: _same(*both), islice(carried, len(same))))
    return as_long, as_heavy


def _by_pair(trace: Trace) -> dict[Pair, list[tuple[float, int]]]:
    """List when each message was sent and how long it is, by who sends to whom."""
    names = ("comm", "src", "dst", "posted_s", "n_bytes")
    sent: dict[Pair, list[tuple[float, int]]] = {}
    for comm, src, dst, posted_s, n_bytes in zip(
        *(column(trace.messages, name) for name in names), strict=True
    ):
        sent.setdefault((comm, src, dst), []).append((posted_s, n_bytes))
    return sent


def _others(
    pair: Pair,
    sent: list[tuple[float, int]],
    known: list[tuple[float, int]],
    weights: list[Weight],
    right_weights: list[Weight],
) -> Iterator[Step]:
    """Go through the messages between two ranks, in both runs side by side."""
    _, src, dst = pair
    for number, ((time_s, n_bytes), (_, right_bytes)) in enumerate(zip(sent, known, strict=False)):
        which = f"message {number + 1} from rank {src} to rank {dst}"
        if n_bytes != right_bytes:
            yield Step(time_s, f"{which} has {n_bytes:,} bytes, in a right run {right_bytes:,}")
        elif weights and not _same(weights[number], right_weights[number]):
            yield Step(time_s, f"{which} carries other numbers than in a right run")
    if len(sent) > len(known):
        says = f"rank {src} sends to rank {dst}; in a right run it never does"
        if known:
            says = f"rank {src} sends more to rank {dst} than the {_n(known)} of a right run"
        yield Step(sent[len(known)][0], says)
    elif len(known) > len(sent):
        count = _n(sent) if sent else "nothing"
        says = f"rank {src} sends {count} to rank {dst}, in a right run {_n(known)}"
        yield Step(known[len(sent)][0], says)


def _n(messages: list[tuple[float, int]]) -> str:
    return "1 message" if len(messages) == 1 else f"{len(messages):,} messages"


def _same(one: Weight, two: Weight) -> bool:
    if not np.isfinite([*one, *two]).all():
        return str(one) == str(two)
    scale = max(one[2], two[2])
    return all(abs(a - b) <= _ROUNDING * scale for a, b in zip(one[:2], two[:2], strict=True))


def excerpt(trace: Trace, time_s: float) -> tuple[Trace, float]:
    """Cut the part out of a long run in which something happens.

    Parameters
    ----------
    trace : Trace
        The run.
    time_s : float
        When.

    Returns
    -------
    trace : Trace
        At most 200 messages; the clock begins with the first of them.
    begin_s : float
        When that was; 0 for a run that is short enough as it is.
    """
    posted_s = np.asarray(column(trace.messages, "posted_s"), dtype=np.float64)
    if len(posted_s) + len(trace.waits) <= 5 * _MOST_DRAWN:
        return trace, 0.0
    order = np.argsort(posted_s, kind="stable")
    first = max(0, int(np.searchsorted(posted_s[order], time_s)) - _BEFORE)
    chosen = [trace.messages[index] for index in order[first : first + _MOST_DRAWN].tolist()]
    begin_s = min((m.posted_s for m in chosen), default=0.0) if first else 0.0
    end_s = max((m.posted_s if m.received_s is None else m.received_s for m in chosen), default=0.0)
    starts = np.asarray(column(trace.waits, "start_s"), dtype=np.float64)
    within = np.flatnonzero((starts >= begin_s) & (starts < end_s))[: 2 * _MOST_DRAWN]
    waits = [trace.waits[index] for index in within.tolist()]
    part = replace(
        trace,
        messages=[_moved(message, begin_s) for message in chosen],
        waits=[w._replace(start_s=w.start_s - begin_s, end_s=min(w.end_s, end_s) - begin_s)
               for w in waits],
        computes=[c._replace(start_s=c.start_s - begin_s, end_s=c.end_s - begin_s)
                  for c in trace.computes if begin_s <= c.start_s and c.end_s <= end_s],
        notes=[], faults=[], collectives=[],
    )  # fmt: skip
    return part, begin_s


def _moved(message: Message, begin_s: float) -> Message:
    def since(time_s: float) -> float:
        return max(0.0, time_s - begin_s)

    arrived_s, received_s = message.arrived_s, message.received_s
    return message._replace(
        posted_s=since(message.posted_s),
        sent_s=since(message.sent_s),
        arrived_s=None if arrived_s is None else since(arrived_s),
        received_s=None if received_s is None else since(received_s),
    )
