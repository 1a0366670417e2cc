"""What it costs that nobody waits: how old gradients are, and how short steps have to be for it."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from course_lib.costs.checking import checked, count, flag, listed, ranks

__all__ = [
    "backup_step",
    "delayed_edge",
    "implicit_momentum",
    "mean_square_edge",
    "staleness_chance",
    "staleness_sum",
]


@checked(n_updates=count)
def staleness_sum(last: Sequence[int], n_updates: int) -> int:
    """Add up the staleness of all updates where each push returns the next parameters.

    Whatever the times: an update's staleness is its own number less that of the last update of the
    same replica, less 1, and so the sum telescopes.

    Parameters
    ----------
    last : sequence of int
        For each replica the number of its last update, from 0.
    n_updates : int
        How many there are.

    Returns
    -------
    int
        The sum: where replicas go on to the end, nearly one less than their number, an update.

    Examples
    --------
    >>> staleness_sum([98, 99], 100) / 100  # two replicas that take turns
    0.99
    """
    return sum(last) + len(last) - n_updates


@checked(replicas=ranks, staleness=count)
def staleness_chance(replicas: int, staleness: int) -> float:
    """Return how often gradients are so stale where computing takes exponentially long.

    Then each replica is the next one to push with the same chance, whatever has been.

    Parameters
    ----------
    replicas : int
        How many compute; a push returns the next parameters.
    staleness : int
        How many updates lie between read and push.

    Returns
    -------
    float
        A geometric distribution; its mean is ``replicas - 1``.

    Examples
    --------
    >>> [round(staleness_chance(4, k), 4) for k in range(4)]
    [0.25, 0.1875, 0.1406, 0.1055]
    """
    return float((1 / replicas) * (1 - 1 / replicas) ** staleness)


@checked(replicas=ranks)
def implicit_momentum(replicas: int) -> float:
    """Return the momentum that asynchrony itself has, where computing takes exponentially long.

    The mean step is ``1 - 1/P`` of the last mean step, and ``1/P`` of a step along the gradient: so
    a momentum that was good for one machine is too much for many.

    Parameters
    ----------
    replicas : int
        How many compute.

    Returns
    -------
    float
        From 0 to below 1.

    References
    ----------
    I. Mitliagkas, C. Zhang, S. Hadjis and C. Ré, "Asynchrony begets momentum, with an application
    to deep learning", arXiv:1605.09774, 2016.
    """
    return 1 - 1 / replicas


@checked(replicas=ranks)
def delayed_edge(replicas: int) -> float:
    """Return from which rate on training diverges where all compute equally long.

    Then every gradient is stale by ``P - 1``: ``w -= rate * curvature * (w of P - 1 updates ago)``.

    Parameters
    ----------
    replicas : int
        How many compute.

    Returns
    -------
    float
        The rate times the largest curvature; 2 for one replica.

    Examples
    --------
    >>> [round(delayed_edge(P), 3) for P in (1, 2, 3, 4, 8)]  # the third is the golden ratio's
    [2.0, 1.0, 0.618, 0.445, 0.209]
    """
    return 2 * math.sin(math.pi / (4 * replicas - 2))


@checked(replicas=ranks)
def mean_square_edge(replicas: int) -> float:
    """Return from which rate on the mean square grows where computing takes exponentially long.

    Single runs may survive more: few of them, far away, make the mean.

    Parameters
    ----------
    replicas : int
        How many compute.

    Returns
    -------
    float
        The rate times the curvature.

    Examples
    --------
    >>> [round(mean_square_edge(P), 4) for P in (1, 2, 3, 4, 8)]
    [2.0, 1.2808, 1.0, 0.8431, 0.5664]
    """
    stable, unstable = 0.0, 2.5
    while unstable - stable > 1e-12:
        middle = (stable + unstable) / 2
        if np.abs(np.linalg.eigvals(_moments(replicas, middle))).max() < 1:
            stable = middle
        else:
            unstable = middle
    return stable


def _moments(P: int, a: float) -> NDArray[np.float64]:
    """Return how one update changes the means of w w, w x, x x and x x', with x a replica's copy.

    Replica j, each with chance 1/P, pushes: w becomes w - a x_j, and is what j has read then.
    """
    pushed = np.array([1.0, -2 * a, a * a, 0.0])  # of w w, and of j's own copy with either
    if P == 1:
        return np.array([pushed, pushed, pushed, [0.0] * 4])
    with_another = np.array([0.0, 1.0, 0.0, -a])  # the new w and a copy that stays
    copies = np.array([0.0, 0.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])
    return np.array(
        [
            pushed,
            pushed / P + (1 - 1 / P) * with_another,
            pushed / P + (1 - 1 / P) * copies[0],
            2 / P * with_another + (1 - 2 / P) * copies[1],
        ]
    )


@checked(needed=listed, backups=count, interrupted=flag)
def backup_step(needed: int, backups: int, interrupted: bool = False) -> float:
    """Return how long a step takes that waits for the first of exponential service times.

    Parameters
    ----------
    needed : int
        For how many gradients it waits.
    backups : int
        How many more workers there are.
    interrupted : bool, default: False
        Whether who is late drops its work at once and begins the next step with the others: the
        least that is possible. As the scheme has it, the late finish what they have begun.

    Returns
    -------
    float
        In mean service times. Interrupted: the harmonic number of all less that of the backups.

    Examples
    --------
    >>> [round(backup_step(4, b, interrupted=True), 4) for b in (0, 1)]
    [2.0833, 1.2833]
    """
    if interrupted:
        return math.fsum(1 / k for k in range(backups + 1, needed + backups + 1))
    return _until(needed, backups, needed)


@cache
def _until(fresh: int, late: int, missing: int) -> float:
    """Mean time until so many of the fresh have finished; the late become fresh when they have."""
    if missing == 0:
        return 0.0
    busy = fresh + late
    after = fresh / busy * _until(fresh - 1, late, missing - 1) if fresh else 0.0
    if late:
        after += late / busy * _until(fresh + 1, late - 1, missing)
    return 1 / busy + after
