"""The rungs of successive halving: ever fewer trials, each trained ever longer."""

from typing import NamedTuple

from course_lib.words.whole import whole

__all__ = ["Rung", "rungs"]


class Rung(NamedTuple):
    """So many trials, each trained so long."""

    n_trials: int
    resource: int


def rungs(n: int, least: int, most: int, eta: int = 3) -> list[Rung]:
    """Say how many trials reach each rung, and what they are given there.

    Parameters
    ----------
    n : int
        How many trials are begun, 1 or more.
    least, most : int
        The resource on the first rung, and at most on the last.
    eta : int, default: 3
        One in so many goes on, with so many times the resource; 2 or more.

    Returns
    -------
    list of Rung
        From the first on, to the last that has a trial and no more than ``most``.

    Raises
    ------
    TypeError, ValueError
        Naming the number.

    References
    ----------
    K. Jamieson and A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
    optimization", AISTATS 2016.

    Examples
    --------
    >>> [tuple(rung) for rung in rungs(9, 1, 9)]
    [(9, 1), (3, 3), (1, 9)]
    >>> sum(n * r for n, r in rungs(9, 1, 9)), sum(n * r for n, r in rungs(9, 3, 9))
    (27, 54)
    """
    whole("n", n, least=1)
    whole("least", least, least=1)
    whole("most", most, least=1)
    whole("eta", eta, least=2)
    if least > most:
        raise ValueError(f"least must be {most} or less, which is the most, got {least}")
    found = []
    while n >= 1 and least <= most:
        found.append(Rung(n, least))
        n, least = n // eta, least * eta
    return found
