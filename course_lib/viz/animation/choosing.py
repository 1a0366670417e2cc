"""Which layout suits a run: read off from who sends to whom."""

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Choice", "choose_layout", "find_parents"]


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
