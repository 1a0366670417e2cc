"""All that can become of a counter to which several add: over every order of their turns."""

from collections.abc import Sequence

__all__ = ["outcomes"]


def outcomes(counts: Sequence[int]) -> set[int]:
    """Find every value that a counter may have in the end, whoever is interrupted when.

    Parameters
    ----------
    counts : sequence of int
        How often each core adds 1: a load, and later a store of one more.

    Returns
    -------
    set of int
        The values; the counter begins at 0.

    Examples
    --------
    >>> outcomes([1, 1])
    {1, 2}
    """
    none: int | None = None
    states = {(0, tuple((n, none) for n in counts))}
    seen, ended = set(states), set()
    while states:
        value, cores = states.pop()
        if not any(left for left, _ in cores):
            ended.add(value)
        for core, (left, loaded) in enumerate(cores):
            if not left:
                continue
            mine = (left, value) if loaded is None else (left - 1, None)
            after = value if loaded is None else loaded + 1
            state = after, (*cores[:core], mine, *cores[core + 1 :])
            if state not in seen:
                seen.add(state)
                states.add(state)
    return ended
