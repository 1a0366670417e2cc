"""Where the workers stand: a topology becomes a point for each rank, and a bend for each edge.

Points are fractions of the stage: (0, 0) is its upper left, (1, 1) its lower right corner.
"""

import math
from collections.abc import Sequence
from functools import cache

__all__ = ["BENDS", "LAYOUTS", "Point", "along", "check_hosts", "edge_bend", "places"]

Point = tuple[float, float]

LAYOUTS = ("ring", "star", "line", "tree", "grid", "hosts")

BENDS = {"ring": 0.16, "star": 0.1, "line": 0.3, "tree": 0.12, "grid": 0.2, "hosts": 0.16}
"""How far an edge bends to its left, a fraction of its length: two directions never overlap."""

_STAGE_RATIO = 2.4  # width by height that a stage is drawn with, roughly
_FAN_LEAVES = 6
_ROW_LENGTH = 12
_HOST_MARGIN = 0.14  # of a host's width, on either side


def places(
    layout: str,
    size: int,
    center: int = 0,
    hosts: Sequence[Sequence[int]] = (),
    parents: Sequence[int] = (),
) -> list[Point]:
    """Place every rank on the stage.

    Parameters
    ----------
    layout : {"ring", "star", "line", "tree", "grid", "hosts"}
        Ring: clockwise from the top. Star: ``center`` in the middle, the others around it (up to
        six of them in a fan above it). Line: from left to right, long lines in rows that turn back.
        Tree: children below their parents. Grid: row by row. Hosts: the ranks of each host close
        together, hosts side by side.
    size : int
        How many ranks.
    center : int, default: 0
        The rank in the middle of a star; the other layouts do not look at it.
    hosts : sequence of sequence of int, default: ()
        The ranks of each host; where there are none, each half of the ranks is one.
    parents : sequence of int, default: ()
        The parent of each rank in the tree, -1 for the root; where there are none, rank 0 is the
        root and ranks 2r + 1 and 2r + 2 are the children of rank r.

    Returns
    -------
    list of (float, float)
        The middle of each rank's box, by rank.

    Raises
    ------
    ValueError
        If ``layout`` is unknown, ``center`` is not a rank, or the ranks are not spread over
        ``hosts``, each once.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {LAYOUTS}, got {layout!r}")
    if not 0 <= center < max(size, 1):
        raise ValueError(f"center must be a rank from 0 to {size - 1}, got {center!r}")
    if layout == "hosts":
        return _in_hosts(check_hosts(hosts, size), size)
    if size <= 1:
        return [(0.5, 0.5)] * size
    if layout == "tree":
        return _tree(parents or [(rank - 1) // 2 if rank else -1 for rank in range(size)])
    if layout == "grid":
        return _grid(size, max(1, round(math.sqrt(size / _STAGE_RATIO))))
    if layout == "line" or (layout == "ring" and size == 2):
        return _rows(size)
    if layout == "ring":
        return list(_ellipse(size))
    leaves = size - 1
    if leaves <= _FAN_LEAVES:
        around, middle = _fan(leaves), (0.5, 1.0)
    else:
        around, middle = list(_ellipse(leaves)), (0.5, 0.5)
    return [*around[:center], middle, *around[center:]]


def edge_bend(layout: str, spots: list[Point], length: float, height: float) -> float:
    """Say how far an edge bends; long edges of a line bend less, so that they stay on the stage.

    Parameters
    ----------
    layout : str
        The layout's name.
    spots : list of (float, float)
        The ranks' places.
    length, height : float
        The edge's length and the stage's height, in one unit.

    Returns
    -------
    float
        The bend as a fraction of the edge's length.
    """
    if layout != "line":
        return BENDS[layout]
    n_rows = len({y for _, y in spots})
    return min(BENDS[layout], (0.62 if n_rows == 1 else 0.2) * height / max(length, 1e-9))


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


@cache
def _ellipse(count: int) -> tuple[Point, ...]:
    """Spread points over an ellipse so that neighbours are equally far from each other."""
    fine = 4096
    lengths = [0.0]
    for k in range(fine):
        angle = 2 * math.pi * (k + 0.5) / fine
        lengths.append(lengths[-1] + math.hypot(_STAGE_RATIO * math.cos(angle), math.sin(angle)))
    points, k = [], 0
    for index in range(count):
        while lengths[k] < lengths[-1] * index / count - 1e-9:
            k += 1
        angle = 2 * math.pi * k / fine
        points.append((round(0.5 + math.sin(angle) / 2, 4), round(0.5 - math.cos(angle) / 2, 4)))
    return tuple(points)


def _fan(leaves: int) -> list[Point]:
    if leaves == 1:
        return [(0.5, 0.0)]
    xs = [k / (leaves - 1) for k in range(leaves)]
    return [(round(x, 4), round(0.25 * (2 * x - 1) ** 2, 4)) for x in xs]


def _rows(size: int) -> list[Point]:
    n_rows = 1 if size <= _ROW_LENGTH else max(2, round(math.sqrt(size / 4)))
    length = math.ceil(size / n_rows)
    points = []
    for rank in range(size):
        row, column = divmod(rank, length)
        x = column / max(length - 1, 1)
        y = 0.5 if n_rows == 1 else row / (n_rows - 1)
        points.append((round(x if row % 2 == 0 else 1 - x, 4), round(y, 4)))
    return points


def check_hosts(hosts: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """Return the hosts as lists of ranks, two halves by default, or say what is wrong with them."""
    if not len(hosts):
        hosts = [range(size // 2), range(size // 2, size)]
    listed = [list(host) for host in hosts if len(host)]
    if sorted(rank for host in listed for rank in host) != list(range(size)):
        raise ValueError(
            f"hosts must name each rank from 0 to {size - 1} once, [[0, 1], [2, 3]] for one, "
            f"got {hosts!r}"
        )
    return listed


def _tree(parents: Sequence[int]) -> list[Point]:
    """Place leaves side by side and every parent above the middle of its children."""
    children: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(rank)
    depths, xs, n_leaves = [0] * len(parents), [0.0] * len(parents), 0
    order = [rank for rank, parent in enumerate(parents) if parent < 0]
    for rank in order:  # it grows while it is gone through: parents before children
        order += children[rank]
        for child in children[rank]:
            depths[child] = depths[rank] + 1
    stack = order[:1]
    while stack:
        rank = stack.pop()
        stack += reversed(children[rank])
        if not children[rank]:
            xs[rank], n_leaves = float(n_leaves), n_leaves + 1
    for rank in reversed(order):
        if children[rank]:
            xs[rank] = sum(xs[child] for child in children[rank]) / len(children[rank])
    least, wide = min(xs), (max(xs) - min(xs)) or 1.0
    if max(xs) == least:
        xs, least = [0.5] * len(xs), 0.0
    return [
        (round((x - least) / wide, 4), round(depth / max(depths), 4))
        for x, depth in zip(xs, depths, strict=True)
    ]


def _grid(size: int, n_rows: int) -> list[Point]:
    n_columns = math.ceil(size / n_rows)
    return [
        (
            round(rank % n_columns / (n_columns - 1), 4) if n_columns > 1 else 0.5,
            round(rank // n_columns / (n_rows - 1), 4) if n_rows > 1 else 0.5,
        )
        for rank in range(size)
    ]


def _in_hosts(hosts: list[list[int]], size: int) -> list[Point]:
    spots: list[Point] = [(0.5, 0.5)] * size
    for number, ranks in enumerate(hosts):
        inside = _grid(len(ranks), math.ceil(math.sqrt(len(ranks) * len(hosts) / _STAGE_RATIO)))
        for rank, (x, y) in zip(ranks, inside, strict=True):
            across = _HOST_MARGIN + (1 - 2 * _HOST_MARGIN) * x
            spots[rank] = (round((number + across) / len(hosts), 4), round(0.02 + 0.92 * y, 4))
    return spots
