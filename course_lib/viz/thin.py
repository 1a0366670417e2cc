"""Which events of a long trace are drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from course_lib.viz.scene import Flight, Span

__all__ = ["MAX_EVENTS", "thin"]

Event = TypeVar("Event")

MAX_EVENTS = 2500
"""Enough for 100 steps of MapReduce on 4 workers; more is a blur, and a heavy page."""

_GOLDEN = 0.6180339887498949


def thin(
    flights: list["Flight"], spans: list["Span"], max_events: int
) -> tuple[list["Flight"], list["Span"], str]:
    """Keep at most ``max_events`` events, spread evenly over the run.

    Neighbouring spans of one rank that do the same and nearly touch are joined, which the eye does
    anyway. Messages are picked by the golden ratio, so that no regular pattern of senders comes up.

    Parameters
    ----------
    flights : list of Flight
        All messages.
    spans : list of Span
        All spans.
    max_events : int
        The most to keep of both together.

    Returns
    -------
    flights, spans : list
        What is kept.
    text : str
        What is left out, in words, or an empty string.
    """
    if len(flights) + len(spans) <= max_events:
        return flights, spans, ""
    end = max([span.end for span in spans] + [flight.posted for flight in flights])
    room = max(max_events // 2, max_events - len(flights))
    joined, gap = spans, max(1, end // 4000)
    while len(joined) > room and gap <= end:
        joined = _join(spans, gap)
        gap *= 2
    joined = _pick(joined, room)
    kept = _pick(flights, max_events - len(joined))
    text = "" if len(kept) == len(flights) else (
        f"drawn: {len(kept):,} of {len(flights):,} messages; totals count all"
    )  # fmt: skip
    return kept, joined, text or "neighbouring short spans are drawn as one"


def _pick(events: Sequence[Event], count: int) -> list[Event]:
    if len(events) <= count:
        return list(events)
    order = sorted(range(len(events)), key=lambda index: (index * _GOLDEN) % 1.0)
    return [events[index] for index in sorted(order[:count])]


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
