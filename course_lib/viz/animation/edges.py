"""How the edges between workers run: each bends to its left, so two directions never overlap."""

import math

from course_lib.viz.animation.layouts import Point

__all__ = ["BENDS", "along", "edge_bend"]

BENDS = {"ring": 0.16, "star": 0.1, "line": 0.3, "tree": 0.12, "grid": 0.2, "hosts": 0.16}
"""How far an edge bends to its left, a fraction of its length: two directions never overlap."""


def edge_bend(
    layout: str,
    spots: list[Point],
    ends: tuple[int, int],
    height: float,
    box: tuple[float, float],
) -> float:
    """Say how far an edge bends; long edges stay on the stage and pass beside the boxes of a grid.

    Parameters
    ----------
    layout : str
        The layout's name.
    spots : list of (float, float)
        The middles of the boxes on the picture, by rank.
    ends : (int, int)
        The ranks that the edge joins.
    height : float
        The stage's height, in the unit of the places.
    box : (float, float)
        The width and the height of a box.

    Returns
    -------
    float
        The bend as a fraction of the edge's length.
    """
    start, end = spots[ends[0]], spots[ends[1]]
    length = max(math.dist(start, end), 1e-9)
    if layout == "line":
        n_rows = len({round(y, 6) for _, y in spots})
        return min(BENDS[layout], (0.62 if n_rows == 1 else 0.2) * height / length)
    if layout == "grid" and any(_between(start, end, spot) for spot in spots):
        is_row = abs(end[0] - start[0]) > abs(end[1] - start[1])
        return 1.5 * box[1 if is_row else 0] / length
    return BENDS[layout]


def _between(start: Point, end: Point, spot: Point) -> bool:
    """Say whether a straight edge would run through the middle of another box."""
    (dx, dy), (sx, sy) = ((point[0] - start[0], point[1] - start[1]) for point in (end, spot))
    square = dx * dx + dy * dy
    aside, part = abs(dx * sy - dy * sx), dx * sx + dy * sy
    return aside < 0.01 * square and 0.01 * square < part < 0.99 * square


def along(start: Point, end: Point, bend: float, position: float) -> Point:
    """Find the point of a bent edge at a fraction of its way.

    Parameters
    ----------
    start, end : (float, float)
        Where the edge begins and ends; y grows downwards.
    bend : float
        How far its middle's control point lies to the left, as a fraction of its length.
    position : float
        0 at the start, 1 at the end.

    Returns
    -------
    (float, float)
        A point of the quadratic Bézier curve.
    """
    dx, dy = end[0] - start[0], end[1] - start[1]
    control = ((start[0] + end[0]) / 2 + bend * dy, (start[1] + end[1]) / 2 - bend * dx)
    a, b, c = (1 - position) ** 2, 2 * position * (1 - position), position**2
    return (
        a * start[0] + b * control[0] + c * end[0],
        a * start[1] + b * control[1] + c * end[1],
    )
