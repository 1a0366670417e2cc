"""A part of a trace on a clock of its own."""

from collections.abc import Mapping
from typing import Any

__all__ = ["later"]

_BEGINS = {
    "messages": "posted_s", "computes": "start_s", "waits": "start_s", "notes": "time_s",
    "faults": "time_s", "collectives": "entered_s",
}  # fmt: skip


def later(events: Mapping[str, Any], start_s: float) -> dict[str, list[Any]]:
    """Take what began at a moment or after it, counting from there.

    Parameters
    ----------
    events : mapping of str to sequence
        All events of a trace, by the names of its fields.
    start_s : float
        The moment.

    Returns
    -------
    dict of str to list
        The events that are left, each with all its times earlier by that much.
    """
    return {
        name: [_moved(event, start_s) for event in events[name] if getattr(event, begin) >= start_s]
        for name, begin in _BEGINS.items()
    }


def _moved(event: Any, start_s: float) -> Any:
    times = {
        name: time_s - start_s
        for name, time_s in event._asdict().items()
        if name.endswith("_s") and time_s is not None
    }
    return event._replace(**times)
