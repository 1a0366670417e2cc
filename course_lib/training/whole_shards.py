"""Whether shards keep all of a model: every parameter once."""

from collections.abc import Sequence
from typing import Any

from course_lib.training.shards import Shard

__all__ = ["check_shards"]


def check_shards(shards: Any, n_parameters: int, size: int, beside: str = "replica") -> list[Shard]:
    """Refuse shards that do not keep every parameter once, or leave no rank that is no server.

    A parameter that nobody keeps would stay as it was drawn, and nobody would see it.

    Parameters
    ----------
    shards : sequence of list of slice
        What each server keeps, from rank 0 on.
    n_parameters : int
        The length of the vector.
    size : int
        The number of ranks.
    beside : str, default: "replica"
        What at least one rank has to be that is no server.

    Returns
    -------
    list of list of slice
        The same without empty parts, so that a shard is empty where it has no parameters.

    Raises
    ------
    TypeError, ValueError
        If they are no such lists, or leave no rank, or a parameter is kept by none, or twice.

    Examples
    --------
    >>> check_shards([[slice(0, 0)], [slice(0, 1)]], 1, size=3)
    [[], [slice(0, 1, None)]]
    >>> check_shards([[slice(0, 3)], [slice(2, 4)]], 6, size=3)
    Traceback (most recent call last):
        ...
    ValueError: shards must keep each of 6 parameters once, got 2 that none keeps and 1 kept twice
    """
    if not isinstance(shards, Sequence):
        raise TypeError(f"shards must be a list of slices for each server, got {shards!r}")
    if size < 2:
        raise ValueError(f"workers must be 2 or more, so that a {beside} is left; got {size}")
    if not 1 <= len(shards) < size:
        raise ValueError(
            f"shards must be from 1 to {size - 1} of {size} ranks, so that a {beside} is left; "
            f"got {len(shards)}"
        )
    for rank, shard in enumerate(shards):
        if not isinstance(shard, Sequence) or not all(
            _is_part(part, n_parameters) for part in shard
        ):
            raise ValueError(
                f"shards must keep each of {n_parameters} parameters once, in a list of slices "
                f"without a step for each server; got {shard!r} for server {rank}"
            )
    covered = covered_twice = n_lacking = n_twice = 0
    for start, stop in sorted((part.start, part.stop) for shard in shards for part in shard):
        again = min(stop, covered)
        n_lacking += max(0, start - covered)
        n_twice += max(0, again - max(start, covered_twice))
        covered, covered_twice = max(covered, stop), max(covered_twice, again)
    n_lacking += n_parameters - covered
    if n_lacking or n_twice:
        raise ValueError(
            f"shards must keep each of {n_parameters} parameters once, got {n_lacking} that none "
            f"keeps and {n_twice} kept twice"
        )
    return [[part for part in shard if part.start < part.stop] for shard in shards]


def _is_part(part: Any, n_parameters: int) -> bool:
    return (
        isinstance(part, slice)
        and part.step in (None, 1)
        and all(hasattr(end, "__index__") for end in (part.start, part.stop))
        and 0 <= part.start <= part.stop <= n_parameters
    )
