"""Gradient descent on any loss of some parameters, by partial derivatives that are measured."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["descend"]


def descend(
    loss: Callable[..., float], start: Sequence[float], rate: float, steps: int
) -> NDArray[np.float64]:
    """Walk against the partial derivatives of a loss, each measured by a central difference.

    Parameters
    ----------
    loss : callable
        Called with one number a parameter; returns the loss. Of a quadratic one the differences
        are exact, but for rounding.
    start : sequence of float
        The first parameters.
    rate : float
        What a partial derivative is multiplied by.
    steps : int
        How many steps to take.

    Returns
    -------
    numpy.ndarray, shape (steps + 1, n_parameters)
        Where it was, the start first.

    Examples
    --------
    >>> descend(lambda a, b: a**2 + b**2, (4.0, 2.0), rate=0.25, steps=2).round(6)
    array([[4. , 2. ],
           [2. , 1. ],
           [1. , 0.5]])
    """
    walk = [np.array(start, dtype=float)]
    nudges = np.eye(len(walk[0]))
    for _ in range(steps):
        at = walk[-1]
        partials = [(loss(*(at + nudge)) - loss(*(at - nudge))) / 2 for nudge in nudges]
        walk.append(at - rate * np.array(partials))
    return np.array(walk)
