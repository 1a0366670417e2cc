"""Items that come again and again: a function that calls itself, a loop that prints."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["repeats"]

T = TypeVar("T")


def repeats(items: Sequence[T], longest: int = 1, least: int = 3) -> Iterator[tuple[list[T], int]]:
    """Go through items, and take what comes several times in succession at once.

    Parameters
    ----------
    items : sequence
        Lines, or the like.
    longest : int, default: 1
        Of how many items a block may be.
    least : int, default: 3
        How often a block must come to count.

    Yields
    ------
    block : list
        One item, or more that come again together.
    times : int
        How often.

    Examples
    --------
    >>> list(repeats("abababc", longest=2))
    [(['a', 'b'], 3), (['c'], 1)]
    """
    at = 0
    while at < len(items):
        for length in range(1, longest + 1):
            block, times = items[at : at + length], 1
            while items[at + times * length : at + (times + 1) * length] == block:
                times += 1
            if times >= least:
                break
        else:
            length = times = 1
        yield list(items[at : at + length]), times
        at += length * times
