"""How fast gossip draws models together: the second eigenvalue of the neighbours' weights."""

import math
from typing import Any

from course_lib.costs.checking import checked, count

__all__ = ["consensus_factor"]


def _graph(name: str, value: Any) -> None:
    if value not in ("ring", "hypercube"):
        raise ValueError(f"{name} must be ring or hypercube, got {value!r}")


@checked(graph=_graph, size=lambda name, value: count(name, value, least=2))
def consensus_factor(graph: str, size: int) -> float:
    """Return what is left, at most, of the ranks' distance from their mean after one exchange.

    Every rank takes the mean of its numbers and its neighbours', all with the same weight. The
    differences between the ranks are sums of eigenvectors of these weights; each shrinks by its
    eigenvalue, none by less than the second largest in size. From the second eigenvector the
    distance shrinks by exactly that.

    Parameters
    ----------
    graph : {"ring", "hypercube"}
        On a ring a rank has two neighbours, on a hypercube log2 of ``size``.
    size : int
        How many ranks, 2 or more; on a hypercube a power of two.

    Returns
    -------
    float
        ``(1 + 2 cos(2 pi / P)) / 3`` on a ring, of two ranks its size 1/3; ``(d - 1) / (d + 1)`` on
        a hypercube of ``2 ** d``.

    References
    ----------
    L. Xiao and S. Boyd, "Fast linear iterations for distributed averaging", Systems and Control
    Letters 53(1), 2004.

    Examples
    --------
    >>> [round(consensus_factor("ring", size), 3) for size in (4, 8, 64)]
    [0.333, 0.805, 0.997]
    >>> [round(consensus_factor("hypercube", size), 3) for size in (4, 8, 64)]
    [0.333, 0.5, 0.714]
    """
    if graph == "ring":
        return abs(1 + 2 * math.cos(2 * math.pi / size)) / 3
    if size & (size - 1):
        raise ValueError(f"size must be a power of two for a hypercube, got {size}")
    dimensions = size.bit_length() - 1
    return (dimensions - 1) / (dimensions + 1)
