"""The buffers' strips: contributions in a run's record become cells that fill."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from course_lib.viz.animation.scene import TWICE, UNREADABLE, Fill, Label
from course_lib.viz.colours import OKABE_ITO

if TYPE_CHECKING:
    from course_lib.trace.contributions import Contributions, Counts

__all__ = ["MOST_CELLS", "Strips", "make_strips"]

MOST_CELLS = 16
"""Of more ranks or chunks than this a strip is one cell: how full the whole buffer is."""

_TOLD_RANKS = 8  # of more ranks it is not written who contributed
_SHADES = 16  # of a whole buffer that many fill levels are told apart
_ALONE = 1  # the colour of a message that is not one of several chunks


class Strips(NamedTuple):
    """The part of a scene that tells of buffers; see ``course_lib.viz.animation.scene``.

    ``label_of`` and ``load_of`` hold for each message of the trace an index into ``labels`` and
    ``loads``.
    """

    goals: list[int]
    held: list[list[int]]
    fills: list[Fill]
    labels: list[Label]
    loads: list[tuple[str, str]]
    label_of: list[int]
    load_of: list[int]
    called: str


def make_strips(contributions: "Contributions", tick_s: float) -> Strips:
    """Turn contributions into cells and levels.

    Parameters
    ----------
    contributions : Contributions
        Who held what when.
    tick_s : float
        Seconds a tick.

    Returns
    -------
    Strips
        With a cell a chunk, or one cell for all of them where there are too many.
    """
    goals = contributions.goals
    n_ranks, whole = len(contributions.held), sum(goals)
    held = [[_level(counts) for counts in chunks] for chunks in contributions.held]
    fills = [
        Fill(f.rank, f.chunk, round(f.time_s / tick_s), _level(f.counts))
        for f in contributions.fills
    ]
    one_cell = max(n_ranks, len(goals)) > MOST_CELLS
    labels: dict[Label, int] = {}
    loads: dict[tuple[str, str], int] = {}
    label_of, load_of = [], []
    for carried in contributions.carried:
        label = _label(sorted(carried), len(goals), contributions.called, one_cell=one_cell)
        label_of.append(labels.setdefault(label, len(labels)))
        load = (_words(carried, goals), _who(list(carried.values()), n_ranks))
        load = load if contributions.called == "chunk" else ("", "")
        load_of.append(loads.setdefault(load, len(loads)))
    if one_cell:
        fills = _levels(held, fills, whole)
        held, goals = [[sum(levels)] for levels in held], [whole]
    labels_and_loads = list(labels), list(loads), label_of, load_of
    return Strips(goals, held, fills, *labels_and_loads, contributions.called)


def _level(counts: "Counts") -> int:
    if counts is None:
        return UNREADABLE
    return TWICE if max(counts) > 1 else sum(counts)


def _levels(held: list[list[int]], fills: list[Fill], whole: int) -> list[Fill]:
    """Add up each rank's levels; keep the changes that can be seen."""
    now = [list(levels) for levels in held]
    shown = [sum(levels) for levels in held]
    kept = []
    for fill in fills:
        now[fill.rank][fill.cell] = fill.level
        level = min(0, *now[fill.rank]) or sum(now[fill.rank])
        if _shade(level, whole) != _shade(shown[fill.rank], whole):
            shown[fill.rank] = level
            kept.append(Fill(fill.rank, 0, fill.tick, level))
    return kept


def _shade(level: int, whole: int) -> int:
    return level if level < 0 else level * _SHADES // max(whole, 1)


def _label(chunks: list[int], n_chunks: int, called: str, *, one_cell: bool) -> Label:
    if n_chunks == 1 or not chunks:
        return Label(None, _ALONE, (0,))
    tag: int | str = chunks[0]
    if len(chunks) == n_chunks:
        tag = f"all {called}s"
    elif len(chunks) == 2:
        tag = f"{called}s {chunks[0]} and {chunks[1]}"
    elif len(chunks) > 2 and chunks[-1] - chunks[0] == len(chunks) - 1:
        tag = f"{called}s {chunks[0]} to {chunks[-1]}"
    elif len(chunks) > 2:
        tag = f"{len(chunks)} {called}s"
    return Label(tag, chunks[0] % len(OKABE_ITO), (0,) if one_cell else tuple(chunks))


def _words(carried: "dict[int, Counts]", goals: list[int]) -> str:
    """Say how many contributions a message carries: "2 of 4 contributions"."""
    if not carried:
        return "no contribution"
    if any(counts is None for counts in carried.values()):
        return "contributions that cannot be told apart"
    for counts in carried.values():
        for rank, count in enumerate(counts or ()):
            if count > 1:
                times = "twice" if count == 2 else f"{count} times"
                return f"a sum in which rank {rank} counts {times}"
    goal = max(goals[chunk] for chunk in carried)
    levels = {_level(counts) for counts in carried.values()}
    if goal == 1:
        return "" if levels == {1} else "no contribution"
    least, most = min(levels), max(levels)
    return f"{least}{'' if least == most else f' to {most}'} of {goal} contributions"


def _who(carried: "Sequence[Counts]", n_ranks: int) -> str:
    """Say in short whose contributions they are, "0+1"; nothing where that differs or is long."""
    if n_ranks > _TOLD_RANKS or len(set(carried)) != 1 or carried[0] is None:
        return ""
    return "+".join(
        f"{count}×{rank}" if count > 1 else str(rank)
        for rank, count in enumerate(carried[0])
        if count
    )
