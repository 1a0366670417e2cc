"""Where the workers stand: a topology becomes a point for each rank.

Points are fractions of the stage: (0, 0) is its upper left, (1, 1) its lower right corner.
"""

import math
from collections.abc import Sequence
from functools import cache

__all__ = ["LAYOUTS", "Point", "check_hosts", "given_places", "places"]

Point = tuple[float, float]

LAYOUTS = ("ring", "star", "line", "tree", "grid", "hosts")

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
    columns: int | None = None,
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
    columns : int or None, default: None
        How many ranks stand in a row of a grid; None makes it about as wide as the stage.

    Returns
    -------
    list of (float, float)
        The middle of each rank's box, by rank.

    Raises
    ------
    ValueError
        If ``layout`` is unknown, ``center`` is not a rank, the ranks are not spread over
        ``hosts``, each once, or ``columns`` is not from 1 to ``size``.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {LAYOUTS}, got {layout!r}")
    if not 0 <= center < max(size, 1):
        raise ValueError(f"center must be a rank from 0 to {size - 1}, got {center!r}")
    if columns is not None and (layout != "grid" or columns not in range(1, size + 1)):
        raise ValueError(
            f'columns must be an int from 1 to {size}, with layout="grid", got {columns!r} with '
            f"{layout!r}"
        )
    if layout == "hosts":
        return _in_hosts(check_hosts(hosts, size), size)
    if size <= 1:
        return [(0.5, 0.5)] * size
    if layout == "tree":
        return _tree(parents or [(rank - 1) // 2 if rank else -1 for rank in range(size)])
    if layout == "grid":
        n_rows = max(1, round(math.sqrt(size / _STAGE_RATIO)))
        return _grid(size, columns or math.ceil(size / n_rows))
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


def given_places(points: Sequence[Point], size: int) -> list[Point]:
    """Spread points of any unit over the stage.

    Parameters
    ----------
    points : sequence of (float, float)
        Where each rank stands, by rank; the second coordinate grows downwards.
    size : int
        How many ranks.

    Returns
    -------
    list of (float, float)
        The same as fractions of the stage, as ``places`` gives them.

    Raises
    ------
    ValueError
        If there is not one point of two finite numbers for each rank.
    """
    listed = [tuple(float(value) for value in point) for point in points]
    if len(listed) != size or not all(
        len(point) == 2 and all(map(math.isfinite, point)) for point in listed
    ):
        raise ValueError(f"places must be (x, y) for each of the {size} ranks, got {points!r}")
    spread = []
    for values in zip(*listed, strict=True):
        low, wide = min(values), max(values) - min(values)
        spread.append([round((v - low) / wide, 4) if wide else 0.5 for v in values])
    return list(zip(*spread, strict=True))


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


def _grid(size: int, n_columns: int) -> list[Point]:
    n_rows = math.ceil(size / n_columns)
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
        n_rows = math.ceil(math.sqrt(len(ranks) * len(hosts) / _STAGE_RATIO))
        inside = _grid(len(ranks), math.ceil(len(ranks) / n_rows))
        for rank, (x, y) in zip(ranks, inside, strict=True):
            across = _HOST_MARGIN + (1 - 2 * _HOST_MARGIN) * x
            spots[rank] = (round((number + across) / len(hosts), 4), round(0.02 + 0.92 * y, 4))
    return spots
