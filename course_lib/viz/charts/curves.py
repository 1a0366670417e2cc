"""Curves that run under the player's clock: notes of a trace, and lists of (time, value)."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course_lib.trace.events import LOST

if TYPE_CHECKING:
    from course_lib.trace.events import Note
    from course_lib.trace.trace import Trace

__all__ = ["MOST", "Curve", "check_curves", "gaps_of", "is_drawn", "loss_curve", "pack_curves",
           "values_of", "with_gaps"]  # fmt: skip

Curve = Sequence[tuple[float, float]]

MOST = 1e150
"""What is larger is drawn like what is infinite: axes add, subtract and multiply such numbers."""

_MOST_POINTS = 400


def loss_curve(trace: "Trace", name: str = "loss_partial") -> list[tuple[float, float]]:
    """Add up the notes of one name over the ranks, step by step.

    The k-th note of each rank belongs to step k; its sum exists once the last rank has noted it. Of
    who was started again it is the k-th of each life, and who was lost is not waited for. Where
    nobody waits a straggler notes late that it has no part in a step: then let one rank note what
    is to be drawn. Asynchronous schemes that survive losses note pairs, a step and its loss: of a
    step that was computed again the last one counts.

    Parameters
    ----------
    trace : Trace
        A run in which ranks called ``comm.note(name, value)`` once a step.
    name : str, default: "loss_partial"
        The notes' name. Ranks that never noted it do not count.

    Returns
    -------
    list of (float, float)
        Seconds and sum for every step that all noting ranks finished, or in which of pairs one is.

    Raises
    ------
    TypeError
        If it is no trace.
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
    if not hasattr(trace, "notes_named"):
        more = "; its .trace is one" if hasattr(trace, "trace") else ""
        raise TypeError(f"trace must be a Trace, got {type(trace).__name__}{more}")
    notes = trace.notes_named(name)
    if not notes:
        known = sorted({note.name for note in trace.notes}) or "none at all"
        raise ValueError(f"name must be the name of notes on the trace ({known}), got {name!r}")
    if isinstance(notes[0].value, list):
        return _of_pairs(notes)
    lives, lost = _lives(trace, notes)
    n_steps = min([len(life) for who, life in lives.items() if who not in lost] or [0])
    n_steps = n_steps or max(map(len, lives.values()))
    return [_added([life[k] for life in lives.values() if k < len(life)]) for k in range(n_steps)]


def _added(step: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return max(time_s for time_s, _ in step), math.fsum(value for _, value in step)


def _lives(
    trace: "Trace", notes: Iterable["Note"]
) -> tuple[dict[tuple[int, int], Curve], set[tuple[int, int]]]:
    """Return what each rank has noted in each of its lives, and which lives ended by a loss."""
    ends: dict[int, list[float]] = defaultdict(list)
    for fault in trace.faults:
        if fault.kind == LOST and fault.rank is not None:
            ends[fault.rank].append(fault.time_s)
    lives: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for note in notes:
        life = sum(end_s < note.time_s for end_s in ends[note.rank])
        lives[note.rank, life].append((note.time_s, float(note.value)))
    return dict(lives), {(rank, k) for rank, of_rank in ends.items() for k in range(len(of_rank))}


def _of_pairs(notes: Iterable["Note"]) -> list[tuple[float, float]]:
    """Sort pairs of a step and a value by their steps; a step ends when those before it have."""
    last = {int(note.value[0]): (note.time_s, float(note.value[1])) for note in notes}
    curve, until_s = [], 0.0
    for step in sorted(last):
        until_s = max(until_s, last[step][0])
        curve.append((until_s, last[step][1]))
    return curve


def is_drawn(value: float) -> bool:
    """Say whether a number has a place on an axis: NaN, infinity and what is near to it have none.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    bool
        Whether it has.
    """
    return abs(value) <= MOST


def with_gaps(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the points of a curve that can be drawn, and where its gaps begin.

    Parameters
    ----------
    points : iterable of (float, float)
        The curve. Points without a place on the first axis are left out.

    Returns
    -------
    list of (float, float)
        Of each stretch of values that cannot be drawn the first alone: minus infinity where it is
        that, or near to it, else infinity, for NaN too.
    """
    kept: list[tuple[float, float]] = []
    for x, y in points:
        if not is_drawn(x):
            continue
        if is_drawn(y):
            kept.append((x, y))
        elif not (kept and math.isinf(kept[-1][1])):
            kept.append((x, -math.inf if y < 0 else math.inf))
    return kept


def values_of(points: Sequence[tuple[float, float]]) -> list[float | None]:
    """Return the values of a curve from ``with_gaps`` as a page holds them: None is a gap."""
    return [None if math.isinf(y) else y for _, y in points]


def gaps_of(points: Sequence[tuple[float, float]]) -> list[tuple[float, bool]]:
    """Return where the gaps of a curve from ``with_gaps`` begin, and whether it leaves upwards."""
    return [(x, y > 0) for x, y in points if math.isinf(y)]


def check_curves(curves: Mapping[str, Curve] | None) -> dict[str, list[tuple[float, float]]]:
    """Copy curves, with gaps where they cannot be drawn, or say what is wrong with them.

    Parameters
    ----------
    curves : dict of str to sequence of (float, float) or None
        Seconds and value of each point, by the curve's name.

    Returns
    -------
    dict of str to list of (float, float)
        The curves in order of time, as ``with_gaps`` returns them.

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
            pairs = [(float(time_s), float(value)) for time_s, value in points]
        except (TypeError, ValueError):
            raise TypeError(
                f"curves[{name!r}] must be a list of (time in seconds, value), got {points!r:.80}"
            ) from None
        checked[str(name)] = with_gaps(sorted(pair for pair in pairs if is_drawn(pair[0])))
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
        ``name``, ``t`` (ticks) and ``v`` (five digits, None for a gap) of each curve, and ``gaps``
        where there are any: the tick at which one begins, and whether the curve leaves upwards.
    """
    packed = []
    for name, points in check_curves(curves).items():
        kept = [(round(time_s / tick_s), float(f"{value:.5g}")) for time_s, value in _thin(points)]
        gaps = gaps_of(kept)
        packed.append(
            {"name": name, "t": [t for t, _ in kept], "v": values_of(kept)}
            | ({"gaps": gaps} if gaps else {})
        )
    return packed


def _thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep some points, the last one and all gaps among them."""
    stride, last = max(1, -(-len(points) // _MOST_POINTS)), len(points) - 1
    return [
        point for k, point in enumerate(points)
        if k % stride == 0 or k == last or math.isinf(point[1])
    ]  # fmt: skip
