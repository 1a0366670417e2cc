"""A range cut evenly: rows of a data set, chunks of a message, parameters of a shard."""

from functools import lru_cache
from itertools import pairwise

__all__ = ["split_evenly"]


def split_evenly(n_items: int, n_parts: int) -> list[slice]:
    """Cut ``n_items`` items into ``n_parts`` contiguous slices whose sizes differ by at most one.

    Rows of a data set and chunks of a message are both cut this way. Parts may be empty when there
    are fewer items than parts; no item is lost and none is in two parts.

    Parameters
    ----------
    n_items : int
        How many items there are, 0 or more.
    n_parts : int
        How many parts to make, 1 or more.

    Returns
    -------
    list of slice
        ``n_parts`` slices in order, covering ``0 .. n_items`` exactly once.

    Raises
    ------
    ValueError
        If ``n_items`` is negative or ``n_parts`` is below 1.

    Examples
    --------
    >>> split_evenly(10, 4)
    [slice(0, 2, None), slice(2, 5, None), slice(5, 7, None), slice(7, 10, None)]
    """
    if n_items < 0:
        raise ValueError(f"n_items must be 0 or more, got {n_items}")
    if n_parts < 1:
        raise ValueError(f"n_parts must be 1 or more, got {n_parts}")
    return list(_cut(n_items, n_parts))


@lru_cache(maxsize=1024)  # a training loop cuts the same vector again and again
def _cut(n_items: int, n_parts: int) -> tuple[slice, ...]:
    bounds = [part * n_items // n_parts for part in range(n_parts + 1)]
    return tuple(slice(start, stop) for start, stop in pairwise(bounds))
