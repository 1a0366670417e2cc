"""Which events of a long trace are drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from course_lib.viz.animation.scene import Flight, Span

__all__ = ["MAX_EVENTS", "pick", "thin"]

Event = TypeVar("Event")

MAX_EVENTS = 2500
"""Enough for 100 steps of MapReduce on 4 workers; more is a blur, and a heavy page."""

_GOLDEN = 0.6180339887498949


def thin(
    flights: list["Flight"], spans: list["Span"], max_events: int, n_messages: int
) -> tuple[list["Flight"], list["Span"], str]:
    """Keep at most ``max_events`` events, spread evenly over the run.

    Neighbouring spans of one rank that do the same and nearly touch are joined, which the eye does
    anyway; of the messages some are picked.

    Parameters
    ----------
    flights : list of Flight
        The messages.
    spans : list of Span
        The spans.
    max_events : int
        The most to keep of both together.
    n_messages : int
        How many messages the run had, of which ``flights`` may be a part already.

    Returns
    -------
    flights, spans : list
        What is kept.
    text : str
        What is left out, in words, or an empty string.
    """
    if n_messages + len(spans) <= max_events:
        return flights, spans, ""
    end = max([span.end for span in spans] + [flight.posted for flight in flights])
    room = max(max_events // 2, max_events - len(flights))
    joined, gap = spans, max(1, end // 4000)
    while len(joined) > room and gap <= end:
        joined = _join(spans, gap)
        gap *= 2
    joined = pick(joined, room)
    kept = pick(flights, max_events - len(joined))
    if len(kept) == n_messages:
        return kept, joined, "neighbouring short spans are drawn as one"
    return kept, joined, f"drawn: {len(kept):,} of {n_messages:,} messages; totals count all"


def pick(events: Sequence[Event], count: int) -> list[Event]:
    """Pick events by the golden ratio: evenly, and in step with no pattern of senders.

    Parameters
    ----------
    events : sequence
        What to pick from.
    count : int
        The most to pick.

    Returns
    -------
    list
        The picked events in their order; all, where there are no more than ``count``.
    """
    if len(events) <= count:
        return list(events)
    place = np.arange(len(events)) * _GOLDEN % 1.0
    chosen = np.flatnonzero(place < count / len(events))[:count]
    return [events[index] for index in chosen.tolist()]


def _join(spans: list["Span"], gap: int) -> list["Span"]:
    """Join a rank's spans of the same doing that are at most ``gap`` ticks apart."""
    joined: list[Span] = []
    last: dict[int, int] = {}
    for span in spans:
        index = last.get(span.rank)
        before = joined[index] if index is not None else None
        if before and before.doing == span.doing and span.start - before.end <= gap:
            joined[last[span.rank]] = before._replace(end=max(before.end, span.end))
        else:
            last[span.rank] = len(joined)
            joined.append(span)
    return joined
