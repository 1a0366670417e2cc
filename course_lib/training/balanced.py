"""Layers cut into stages: neighbours together, and no stage much slower than the others."""

from collections.abc import Sequence
from itertools import accumulate

from course_lib.words.whole import whole

__all__ = ["balanced_stages"]


def balanced_stages(costs: Sequence[float], n_stages: int) -> tuple[int, ...]:
    """Cut a chain into stages so that the most expensive one is as cheap as possible.

    Parameters
    ----------
    costs : sequence of float
        What each layer costs, in any unit.
    n_stages : int
        How many stages, each of one layer or more.

    Returns
    -------
    tuple of int
        The number of layers of each stage.

    Raises
    ------
    ValueError
        If there are more stages than layers.

    Notes
    -----
    Cost: L^2 S steps for L layers and S stages. ``least[k]`` is the smallest possible maximum for
    the first k layers; one more stage ends at k and begins at any j before it.

    Examples
    --------
    >>> balanced_stages([4, 1, 1, 2, 3, 1], n_stages=3)
    (1, 3, 2)
    """
    n_layers = len(costs)
    n_stages = whole("n_stages", n_stages, 1)
    if n_stages > n_layers:
        raise ValueError(f"n_stages must be at most the {n_layers} layers, got {n_stages}")
    sums = [0.0, *accumulate(costs)]
    least = [float("inf") if k else 0.0 for k in range(n_layers + 1)]
    begins: list[list[int]] = []
    for _ in range(n_stages):
        best = [
            min(
                ((max(least[j], sums[k] - sums[j]), j) for j in range(k)), default=(float("inf"), 0)
            )
            for k in range(n_layers + 1)
        ]
        least = [cost for cost, _ in best]
        begins.append([begin for _, begin in best])
    lengths, end = [], n_layers
    for begin in reversed(begins):
        lengths.append(end - begin[end])
        end = begin[end]
    return tuple(reversed(lengths))
