"""Curves that run under the player's clock: notes of a trace, and lists of (time, value)."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Curve", "check_curves", "loss_curve", "pack_curves"]

Curve = Sequence[tuple[float, float]]

_MOST_POINTS = 400


def loss_curve(trace: "Trace", name: str = "loss_partial") -> list[tuple[float, float]]:
    """Add up the notes of one name over the ranks, step by step.

    The k-th note of each rank belongs to step k; its sum exists once the last rank has noted it.
    Where nobody waits a straggler notes late that it has no part in a step: then let one rank note
    what is to be drawn.

    Parameters
    ----------
    trace : Trace
        A run in which ranks called ``comm.note(name, value)`` once a step.
    name : str, default: "loss_partial"
        The notes' name. Ranks that never noted it do not count.

    Returns
    -------
    list of (float, float)
        Seconds and sum for every step that all noting ranks finished.

    Raises
    ------
    ValueError
        If the trace has no such notes.

    Examples
    --------
    >>> from course_lib.trace.events import Note
    >>> from course_lib.trace.trace import Trace
    >>> notes = [Note(0, "loss", 1.0, 0.1), Note(1, "loss", 2.0, 0.3)]
    >>> loss_curve(Trace("simulated", "virtual", 2, notes=notes), "loss")
    [(0.3, 3.0)]
    """
    by_rank = defaultdict(list)
    for note in trace.notes_named(name):
        by_rank[note.rank].append((note.time_s, float(note.value)))
    if not by_rank:
        known = sorted({note.name for note in trace.notes}) or "none at all"
        raise ValueError(f"name must be the name of notes on the trace ({known}), got {name!r}")
    return [
        (max(time_s for time_s, _ in step), math.fsum(value for _, value in step))
        for step in zip(*by_rank.values(), strict=False)
    ]


def check_curves(curves: Mapping[str, Curve] | None) -> dict[str, list[tuple[float, float]]]:
    """Copy curves with finite points only, or say what is wrong with them.

    Parameters
    ----------
    curves : dict of str to sequence of (float, float) or None
        Seconds and value of each point, by the curve's name.

    Returns
    -------
    dict of str to list of (float, float)
        The curves in order of time; points that are not finite are left out.

    Raises
    ------
    TypeError
        If ``curves`` is no dictionary of lists of pairs.
    """
    if curves is None:
        return {}
    if not isinstance(curves, Mapping):
        raise TypeError(
            'curves must be a dict like {"loss": [(0.0, 2.5), (0.1, 1.9)]}, '
            f"got {type(curves).__name__}"
        )
    checked = {}
    for name, points in curves.items():
        try:
            pairs = sorted((float(time_s), float(value)) for time_s, value in points)
        except (TypeError, ValueError):
            raise TypeError(
                f"curves[{name!r}] must be a list of (time in seconds, value), got {points!r:.80}"
            ) from None
        checked[str(name)] = [pair for pair in pairs if all(map(math.isfinite, pair))]
    return checked


def pack_curves(curves: Mapping[str, Curve] | None, tick_s: float) -> list[dict[str, Any]]:
    """Write curves as ticks and values for the player, at most 400 points each.

    Parameters
    ----------
    curves : dict of str to sequence of (float, float) or None
        Seconds and value of each point, by the curve's name.
    tick_s : float
        The length of a tick, in seconds.

    Returns
    -------
    list of dict
        ``name``, ``t`` (ticks) and ``v`` (five digits) of each curve.
    """
    packed = []
    for name, points in check_curves(curves).items():
        stride = max(1, -(-len(points) // _MOST_POINTS))
        kept = points[::stride] + (points[-1:] if (len(points) - 1) % stride else [])
        packed.append(
            {
                "name": name,
                "t": [round(time_s / tick_s) for time_s, _ in kept],
                "v": [float(f"{value:.5g}") for _, value in kept],
            }
        )
    return packed
