"""Clipping: a gradient that is too long is shortened, as a whole, and keeps its direction."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.models.model import Array
from course_lib.training.plan import Plan

__all__ = ["clip", "norm_of_all", "squares"]


def squares(grad: Array) -> float:
    """Sum the squares of a gradient's numbers, or of those of a part of it, in float64."""
    if isinstance(grad, np.ndarray):
        return float(np.square(grad, dtype=np.float64).sum())
    return float(grad.double().square().sum())


def clip(grad: Array, longest: float | None, norm: float | None = None) -> None:
    """Shorten a gradient, in place, if it is longer than allowed.

    Parameters
    ----------
    grad : array, shape (n,)
        The gradient, or a part of it.
    longest : float or None
        How long the whole gradient may be; None leaves it as it is.
    norm : float or None, default: None
        How long the whole gradient is, where ``grad`` is a part of it.

    References
    ----------
    R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training recurrent neural networks",
    ICML 2013, algorithm 1.

    Examples
    --------
    >>> grad = np.array([3.0, 4.0])
    >>> clip(grad, 1.0)
    >>> [round(float(x), 12) for x in grad]
    [0.6, 0.8]
    """
    if longest is None:
        return
    if norm is None:
        norm = math.sqrt(squares(grad))
    if norm > longest:
        grad *= longest / norm


def norm_of_all(plan: Plan, grad_shard: Array, add_up: Callable[[Array], Array]) -> float | None:
    """Return the norm of a gradient whose parts lie on several ranks, if the plan clips by it.

    Parameters
    ----------
    plan : Plan
        Without ``clip`` nothing is computed or sent, and None is returned.
    grad_shard : array
        This rank's part.
    add_up : callable
        Returns the sum of one number over the ranks, of an array of shape (1,) each; the same bits
        on all.

    Returns
    -------
    float or None
        What an optimizer's ``step`` takes as ``norm``.
    """
    if plan.clip is None:
        return None
    return math.sqrt(add_up(np.array([squares(grad_shard)]))[0])
