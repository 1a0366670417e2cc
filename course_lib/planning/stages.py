"""Layers cut into stages: as long as each rank is told."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from course_lib.words.whole import whole

__all__ = ["stage_parts"]


def stage_parts(stages: Sequence[int], n_layers: int, workers: int) -> list[range]:
    """Check the lengths of stages, one for each worker; return the layers of each.

    Parameters
    ----------
    stages : sequence of int
        The number of layers of each stage.
    n_layers : int
        How many layers there are.
    workers : int
        How many ranks there are.

    Returns
    -------
    list of range
        The numbers of each stage's layers.

    Raises
    ------
    TypeError, ValueError
        If a length is no whole number of 1 or more, or they do not fit.
    """
    if len(stages) != workers:
        raise ValueError(
            f"stages must have one number of layers for each of {workers} ranks, got {stages}"
        )
    ends = [0, *accumulate(whole("stages", length, 1) for length in stages)]
    if ends[-1] != n_layers:
        raise ValueError(f"stages must be of {n_layers} layers together, got {tuple(stages)}")
    return [range(begin, end) for begin, end in pairwise(ends)]
