"""Which layout suits a run: read off from who sends to whom."""

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Choice", "choose_layout"]


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
        Hosts where the ranks were split into groups that talk among themselves; a star where all
        messages go to or come from one rank; a tree where they run between parent and child;
        otherwise a ring.
    """
    hosts = _groups(trace)
    if hosts:
        return Choice("hosts", hosts=hosts)
    edges = {(m.src, m.dst) for m in trace.messages}
    pairs = {(min(edge), max(edge)) for edge in edges}
    if not edges or edges <= {(r, (r + 1) % trace.size) for r in range(trace.size)}:
        return Choice("ring")
    middle = set.intersection(*(set(pair) for pair in pairs))
    if middle and trace.size > 2:
        return Choice("star", center=min(middle))
    if trace.size > 2 and pairs <= {((child - 1) // 2, child) for child in range(1, trace.size)}:
        return Choice("tree")
    return Choice("ring")


def _groups(trace: "Trace") -> tuple[tuple[int, ...], ...]:
    """Find the groups of the first split whose members are all ranks, each in one group."""
    splits: dict[str, dict[str, set[int]]] = {}
    for m in trace.messages:
        split, _, color = m.comm.rpartition(" color ")
        if split:
            splits.setdefault(split, {}).setdefault(color, set()).update((m.src, m.dst))
    for split in sorted(splits):
        groups = sorted(sorted(ranks) for ranks in splits[split].values())
        if len(groups) > 1 and sorted(chain(*groups)) == list(range(trace.size)):
            return tuple(tuple(group) for group in groups)
    return ()
