"""Surfaces that can be drawn: a bowl, a saddle, and how gradient descent moves on them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Quadratic", "descend", "escape_step", "escape_steps"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Quadratic:
    """Half the sum of curvature times coordinate squared, and a constant.

    Every smooth loss looks like this close to a point where its gradient is zero. With positive
    curvatures it is a bowl, with positive and negative ones a saddle.

    Attributes
    ----------
    curvatures : tuple of float
        One for each coordinate; ``(2, -2)`` is x^2 - y^2.
    height : float, default: 0.0
        The loss at the origin.

    Examples
    --------
    >>> saddle = Quadratic((2.0, -2.0), height=0.5)
    >>> float(saddle.loss(np.array([2.0, 1.0])))  # 4 - 1 + 0.5
    3.5
    >>> saddle.gradient(np.array([2.0, 1.0])).tolist()
    [4.0, -2.0]
    """

    curvatures: tuple[float, ...]
    height: float = 0.0

    def loss(self, w: Vector) -> Vector:
        """Return the height above a point, or above many.

        Parameters
        ----------
        w : numpy.ndarray, shape (..., d)
            Points, their coordinates along the last axis.

        Returns
        -------
        numpy.ndarray, shape (...)
            The loss at each.
        """
        return np.asarray(0.5 * (w**2 @ np.array(self.curvatures)) + self.height)

    def gradient(self, w: Vector) -> Vector:
        """Return the direction of steepest ascent.

        Parameters
        ----------
        w : numpy.ndarray, shape (..., d)
            Points, their coordinates along the last axis.

        Returns
        -------
        numpy.ndarray, shape (..., d)
            Curvature times coordinate.
        """
        return np.asarray(np.array(self.curvatures) * w)


def descend(
    surface: Quadratic,
    start: Sequence[float],
    learning_rate: float,
    steps: int,
    noise: float = 0.0,
    seed: int = 0,
) -> Vector:
    """Go downhill, each step against the gradient, or against a noisy estimate of it.

    Parameters
    ----------
    surface : Quadratic
        What to descend on.
    start : sequence of float
        The coordinates of the first point.
    learning_rate : float
        How far to go against the gradient.
    steps : int
        How many steps to take.
    noise : float, default: 0.0
        The standard deviation of what is added to each number of the gradient, as a mini-batch
        would add it.
    seed : int, default: 0
        Of the noise.

    Returns
    -------
    numpy.ndarray, shape (steps + 1, d)
        The path, the first point included.

    Notes
    -----
    Invariant: without noise, coordinate i after k steps is its start times
    (1 - learning_rate * curvature_i)^k.
    """
    rng = np.random.default_rng(seed)
    path = [np.array(start, dtype=np.float64)]
    for _ in range(steps):
        grad = surface.gradient(path[-1]) + noise * rng.normal(size=len(path[-1]))
        path.append(path[-1] - learning_rate * grad)
    return np.array(path)


def escape_steps(offset: float, growth: float) -> float:
    """Say how many steps a small distance from a saddle needs to grow to 1.

    Gradient descent multiplies the distance along a falling direction by the same factor in each
    step: offset * growth^k = 1.

    Parameters
    ----------
    offset : float
        The distance at the start, above 0.
    growth : float
        The factor of one step, 1 + learning_rate * |curvature|, above 1.

    Returns
    -------
    float
        The logarithm of 1 / offset over that of the growth.

    Examples
    --------
    >>> round(escape_steps(offset=1e-6, growth=10.0), 9)
    6.0
    """
    return math.log(1 / offset) / math.log(growth)


def escape_step(path: Vector, distance: float = 1.0) -> int | None:
    """Find the step after which a path is so far away along its last coordinate.

    Parameters
    ----------
    path : numpy.ndarray, shape (steps + 1, d)
        Points in order, the first is the start.
    distance : float, default: 1.0
        How far is far.

    Returns
    -------
    int or None
        The number of the first such point; None if there is none.
    """
    far = np.flatnonzero(np.abs(path[:, -1]) >= distance)
    return int(far[0]) if len(far) else None
