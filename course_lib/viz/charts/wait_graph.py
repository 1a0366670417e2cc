"""Who waits for whom, as a picture: ranks on a ring, an arrow for each waiting, circles in red.

What is red is also thick and unbroken, and all else thin and dashed, so that no colour is needed to
see them. The picture stands on opaque white, like all others, for dark pages and for print.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from course_lib.viz.animation.layouts import Point
from course_lib.viz.stills.parts import INK, SOFT, Still, cut

__all__ = ["MOST_RANKS", "draw_wait_graph"]

Edge = tuple[int, int, str, str]
"""A rank, one that it waits for, its call, and its place in the code."""

MOST_RANKS = 24
"""More ranks than these cannot be told apart on a ring."""

ALARM = "#D55E00"
_PALE = "#8b949e"
_WIDTH = 9.0
_BOX = (0.38, 0.24)
_HALF_WIDTH = 1.35  # inches from the middle to the ranks; the texts need what is left
_LETTERS_AN_INCH = 15
_MOST_EDGES = 3  # of somebody for whom anyone would do: more arrows than these say less


def draw_wait_graph(graph: Sequence[Edge], *cycles: Sequence[int], title: str = "") -> Still:
    """Draw which rank waits for which, with its call and its place in the code.

    Parameters
    ----------
    graph : sequence of (int, int, str, str)
        A rank, one that it waits for, its call and its place: ``DeadlockError.graph``.
    *cycles : sequence of int
        The ranks of each circle, each waiting for the next: ``DeadlockError.cycles``.
    title : str, default: ""
        What stands above it; by default the circles, written down.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.

    Raises
    ------
    ValueError
        If there are no ranks; or more than 24, even if only those of the first circle are drawn.
    """
    graph, drawn, ranks = _that_fit(graph, [cycle for cycle in cycles if cycle])
    if not 1 <= len(ranks) <= MOST_RANKS:
        raise ValueError(f"graph must be among 1 to {MOST_RANKS} ranks, got {len(ranks)}")
    n_rows = -(-len(ranks) // 2)
    row_height = 0.7 if n_rows <= 4 else 0.52
    height = (n_rows - 1) * row_height + 1.35
    what = ", ".join(" → ".join(map(str, [*cycle, cycle[0]])) for cycle in drawn)
    figure = Still(f"wait-for graph of ranks {', '.join(map(str, ranks))}", (_WIDTH, height))
    axes = figure.put(0, 0, _WIDTH, height)
    axes.set_xlim(0, _WIDTH)
    axes.set_ylim(0, height)
    axes.axis("off")
    heading = cut(title or (f"deadlock: {what}" if drawn else "who waits for whom"), 88)
    in_line: dict[str, Any] = {"y": height - 0.2, "va": "center"}
    axes.text(x=0.12, s=heading, fontsize=10.5, fontweight="bold", color=INK, **in_line)
    axes.text(x=_WIDTH - 0.12, s="arrow: waits for", fontsize=8, ha="right", color=SOFT, **in_line)
    picture = _Ring(axes, ranks, (_WIDTH / 2, (height - 0.3) / 2), row_height)
    links = {link for cycle in drawn for link in zip(cycle, [*cycle[1:], cycle[0]], strict=True)}
    picture.draw_ranks({edge[0]: edge[2:] for edge in reversed(graph)}, set(chain(*drawn)))
    picture.draw_arrows(_worth_drawing(graph, links), links)
    return figure


def _that_fit(
    graph: Sequence[Edge], cycles: list[Sequence[int]]
) -> tuple[Sequence[Edge], list[Sequence[int]], list[int]]:
    """Leave out, of too many ranks, those outside of the circles, and then the last circles."""
    ranks = {rank for edge in graph for rank in edge[:2]} | {*chain(*cycles)}
    if len(ranks) > MOST_RANKS:
        while len(cycles) > 1 and sum(map(len, cycles)) > MOST_RANKS:
            cycles = cycles[:-1]
        ranks = {*chain(*cycles)}
        graph = [edge for edge in graph if {*edge[:2]} <= ranks]
    return graph, cycles, sorted(ranks)


def _worth_drawing(graph: Iterable[Edge], links: set[tuple[int, int]]) -> set[tuple[int, int]]:
    by_rank: dict[int, set[int]] = {}
    for rank, peer, _, _ in graph:
        by_rank.setdefault(rank, set()).add(peer)
    return links | {
        (rank, peer)
        for rank, peers in by_rank.items()
        for peer in peers
        if len(peers) <= _MOST_EDGES
    }


class _Ring:
    """Where every rank stands, in inches, and how it is drawn."""

    def __init__(self, axes: Axes, ranks: list[int], middle: Point, row_height: float) -> None:
        self._axes = axes
        self._middle = middle
        self._row_height = row_height
        n_right = len(ranks) // 2
        right, left = ranks[1 : n_right + 1], [ranks[0], *ranks[n_right + 1 :][::-1]]
        # Clockwise from the upper left: down the right side, up the left one.
        self._at = {**self._column(right, 1, len(left)), **self._column(left, -1, len(left))}
        self._boxes: dict[int, FancyBboxPatch] = {}

    def _column(self, ranks: list[int], side: int, n_rows: int) -> dict[int, Point]:
        top = (len(ranks) - 1) / 2
        return {
            rank: (
                self._middle[0] + side * _HALF_WIDTH * _bulge(top - row, n_rows),
                self._middle[1] + (top - row) * self._row_height,
            )
            for row, rank in enumerate(ranks)
        }

    def draw_arrows(self, edges: set[tuple[int, int]], links: set[tuple[int, int]]) -> None:
        for rank, peer in sorted(edges):
            red = (rank, peer) in links
            style: dict[str, Any] = (
                {"color": ALARM, "linewidth": 2.2, "zorder": 2}
                if red
                else {"color": _PALE, "linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 1}
            )
            bend = self._bend(rank, peer, both_ways=(peer, rank) in edges)
            self._axes.add_patch(
                FancyArrowPatch(
                    self._at[rank], self._at[peer], arrowstyle="-|>",
                    connectionstyle=f"arc3,rad={bend}", mutation_scale=15 if red else 10,
                    patchA=self._boxes[rank], patchB=self._boxes[peer], shrinkA=1, shrinkB=2,
                    **style,
                )
            )  # fmt: skip

    def _bend(self, rank: int, peer: int, *, both_ways: bool) -> float:
        """Bend arrows towards the middle, away from the texts, and two directions apart."""
        (x, y), (to_x, to_y) = self._at[rank], self._at[peer]
        along_x, along_y = to_x - x, to_y - y
        turn = along_x * (self._middle[1] - y) - along_y * (self._middle[0] - x)
        same_side = (x < self._middle[0]) == (to_x < self._middle[0])
        n_between = round(abs(along_y) / self._row_height) - 1 if same_side else 0
        if both_ways and (n_between == 0 or abs(turn) < 0.1):
            return 0.3  # each to its own side
        inwards = -1.0 if turn > 0 else 1.0
        return inwards * ((0.3 if n_between else 0.1) + (0.2 if both_ways and rank > peer else 0))

    def draw_ranks(self, told: dict[int, tuple[str, str]], in_circle: set[int]) -> None:
        width, height = _BOX
        for rank, (x, y) in self._at.items():
            red = rank in in_circle
            self._boxes[rank] = FancyBboxPatch(
                (x - width / 2, y - height / 2), width, height,
                boxstyle="round,pad=0,rounding_size=0.06", facecolor="white",
                edgecolor=ALARM if red else INK, linewidth=2.0 if red else 0.8, zorder=3,
            )  # fmt: skip
            self._axes.add_patch(self._boxes[rank])
            self._axes.text(
                x, y, str(rank), fontsize=9, fontweight="bold" if red else "normal",
                ha="center", va="center_baseline", color=INK, zorder=4,
            )  # fmt: skip
            self._write_beside(x, y, *told.get(rank, ("does not wait", "")))

    def _write_beside(self, x: float, y: float, call: str, place: str) -> None:
        side = -1 if x < self._middle[0] else 1
        where: dict[str, Any] = {"ha": "left" if side > 0 else "right", "zorder": 4}
        edge = x + side * (_BOX[0] / 2 + 0.09)
        room = (_WIDTH - edge if side > 0 else edge) * _LETTERS_AN_INCH - 1
        self._axes.text(edge, y + 0.005, cut(call, room), fontsize=8, va="bottom", color=INK,
                        family="monospace", **where)  # fmt: skip
        self._axes.text(edge, y - 0.03, cut(place, room), fontsize=7, va="top", color=SOFT,
                        **where)  # fmt: skip


def _bulge(row: float, n_rows: int) -> float:
    """Say how far a row of the ring, counted from its middle, stands out: 1 in the middle."""
    return math.sqrt(1 - (row / (0.58 * n_rows + 0.3)) ** 2)
