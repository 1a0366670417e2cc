"""Which layout suits a run: read off from who sends to whom."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from course_lib.viz.animation.layouts import Point, check_hosts, given_places, places

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Choice", "choose_layout", "find_columns", "find_parents", "stand"]


class Choice(NamedTuple):
    """A layout, the rank in the middle of a star, and the ranks of each host."""

    layout: str
    center: int = 0
    hosts: tuple[tuple[int, ...], ...] = ()


def choose_layout(trace: "Trace") -> Choice:
    """Choose a layout in which the messages run along short edges.

    Parameters
    ----------
    trace : Trace
        What happened.

    Returns
    -------
    Choice
        Hosts where the ranks were split into groups that talk among themselves; a line where all
        talk to their neighbours; a star where all messages go to or come from one rank; a tree
        where they run along the edges of one; otherwise a ring.
    """
    hosts = _groups(trace)
    if hosts:
        return Choice("hosts", hosts=hosts)
    pairs = _pairs(trace)
    middle = set.intersection(*(set(pair) for pair in pairs)) if pairs else set()
    if trace.size <= 2 or not pairs:
        return Choice("ring")
    if trace.size > 3 and pairs == {(rank, rank + 1) for rank in range(trace.size - 1)}:
        return Choice("line")
    if middle:
        return Choice("star", center=min(middle))
    return Choice("tree" if find_parents(trace, 0) else "ring")


def find_parents(trace: "Trace", root: int) -> list[int]:
    """Find the tree along whose edges all messages run.

    Parameters
    ----------
    trace : Trace
        What happened.
    root : int
        The rank at its top.

    Returns
    -------
    list of int
        The parent of each rank, -1 for the root; empty where the edges are no tree of all ranks.
    """
    pairs = _pairs(trace)
    neighbours: list[list[int]] = [[] for _ in range(trace.size)]
    for a, b in sorted(pairs):
        neighbours[a].append(b)
        neighbours[b].append(a)
    parents = [-1] * trace.size
    order = [root]
    for rank in order:  # it grows while it is gone through
        for other in neighbours[rank]:
            if other != parents[rank] and len(order) <= trace.size:
                parents[other] = rank
                order.append(other)
    return parents if len(pairs) == trace.size - 1 and len(order) == trace.size else []


def find_columns(trace: "Trace") -> int | None:
    """Find the torus along whose links all messages run, rank by rank and row by row.

    Parameters
    ----------
    trace : Trace
        What happened.

    Returns
    -------
    int or None
        How many ranks stand in a row: of several tori that with the most nearly as many rows, and
        the wider of two alike. None where there is none of two rows and two columns or more.
    """
    pairs, size = _pairs(trace), trace.size
    widths = [width for width in range(2, size // 2 + 1) if size % width == 0]
    for width in sorted(widths, key=lambda width: (abs(width - size // width), -width)):
        if pairs and all(_are_linked(pair, width, size // width) for pair in pairs):
            return width
    return None


def _are_linked(pair: tuple[int, int], width: int, height: int) -> bool:
    (row, column), (other_row, other_column) = (divmod(rank, width) for rank in pair)
    if row == other_row:
        return (other_column - column) % width in (1, width - 1)
    return column == other_column and (other_row - row) % height in (1, height - 1)


def stand(
    trace: "Trace",
    layout: str | None,
    center: int,
    hosts: Sequence[Sequence[int]],
    columns: int | None,
    points: Sequence[Point],
) -> tuple[str, list[Point], list[list[int]]]:
    """Say which layout it is, where every rank stands, and which ranks are on which host.

    Parameters
    ----------
    trace : Trace
        What happened.
    layout : str or None
        As of ``places``; None is chosen.
    center : int
        The rank in the middle of a star.
    hosts : sequence of sequence of int
        The ranks of each host; none: they are chosen.
    columns : int or None
        As of ``places``; None takes those of a torus where the messages run along one.
    points : sequence of (float, float)
        Where each rank stands, in any unit; in place of a layout.

    Returns
    -------
    layout : str
        Its name.
    spots : list of (float, float)
        The middle of each rank's box, by rank.
    on_hosts : list of list of int
        The ranks of each host; empty where there are none.

    Raises
    ------
    ValueError
        If something does not fit.
    """
    if len(points):
        if layout is not None:
            raise ValueError(f"places must come without a layout, got layout={layout!r}, too")
        framed = check_hosts(hosts, trace.size) if hosts else []
        return "grid", given_places(points, trace.size), framed
    if layout is None and columns is not None:
        layout = "grid"
    if layout is None and hosts:
        layout = "hosts"
    if layout is None or (layout == "hosts" and not hosts):
        choice = choose_layout(trace)
        layout, center, hosts = layout or choice.layout, center or choice.center, choice.hosts
    if layout == "grid" and columns is None:
        columns = find_columns(trace)
    on_hosts = check_hosts(hosts, trace.size) if layout == "hosts" else []
    parents = find_parents(trace, center) if layout == "tree" and 0 <= center < trace.size else []
    return layout, places(layout, trace.size, center, on_hosts, parents, columns), on_hosts


def _pairs(trace: "Trace") -> set[tuple[int, int]]:
    return {(min(m.src, m.dst), max(m.src, m.dst)) for m in trace.messages}


def _groups(trace: "Trace") -> tuple[tuple[int, ...], ...]:
    """Find the groups of the first split that made several; who talked in none stands alone."""
    splits: dict[str, dict[str, set[int]]] = {}
    for m in trace.messages:
        split, _, color = m.comm.rpartition(" color ")
        if split:
            splits.setdefault(split, {}).setdefault(color, set()).update((m.src, m.dst))
    for split in sorted(splits):
        talked = set(chain(*splits[split].values()))
        if len(splits[split]) > 1 and len(talked) == sum(map(len, splits[split].values())):
            alone = [{rank} for rank in range(trace.size) if rank not in talked]
            return tuple(sorted(tuple(sorted(g)) for g in [*splits[split].values(), *alone]))
    return ()
