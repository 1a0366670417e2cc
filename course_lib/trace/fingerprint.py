"""Inputs that tell, from a sum, whose numbers are in it and how often.

With P ranks, rank r contributes ``(P + 1) ** r``. A sum in which every rank is counted at most P
times is then a number in base P + 1 whose r-th digit says how often rank r was counted.
"""

from collections.abc import Sequence

__all__ = ["counts", "describe", "weight"]


def weight(rank: int, size: int) -> int:
    """Return what rank ``rank`` of ``size`` contributes; exact in float64 up to 13 ranks."""
    return int((size + 1) ** rank)


def counts(number: float, size: int) -> list[int] | None:
    """Read off how often each rank was counted in a sum of weights.

    Parameters
    ----------
    number : float
        A sum of weights.
    size : int
        The number of ranks.

    Returns
    -------
    list of int or None
        How often each rank was counted, by rank; None if ``number`` is no such sum.

    Examples
    --------
    >>> counts(weight(0, 4) + 2 * weight(3, 4), size=4)
    [1, 0, 0, 2]
    >>> counts(0.5, size=4) is None
    True
    """
    base = size + 1
    if not 0 <= number < base**size or number != int(number):
        return None
    rest, digits = int(number), []
    for _ in range(size):
        rest, digit = divmod(rest, base)
        digits.append(digit)
    return digits


def describe(found: Sequence[int], expected: Sequence[int], what: str = "numbers") -> str:
    """Say in a sentence which ranks are missing and which were counted too often.

    Parameters
    ----------
    found, expected : sequence of int
        How often each rank was counted, and how often it should be.
    what : str, default: "numbers"
        What a rank contributes, in the plural.

    Returns
    -------
    str
        For instance ``"the numbers of ranks 0 and 2 are missing, those of rank 3 were added twice
        instead of once"``; empty if nothing is wrong.
    """
    groups: dict[str, list[int]] = {}
    for rank, (has, wants) in enumerate(zip(found, expected, strict=True)):
        if has == wants:
            continue
        if has == 0:
            fate = "are missing"
        elif wants == 0:
            fate = "should not be in it"
        else:
            fate = f"were added {_times(has)} instead of {_times(wants)}"
        groups.setdefault(fate, []).append(rank)
    parts: list[str] = []
    for fate, ranks in groups.items():
        subject = f"the {what}" if not parts else "those"
        parts.append(f"{subject} of {_ranks(ranks)} {fate}")
    return ", ".join(parts)


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
