"""Two half-moons that no straight line can part: a picture of a problem that needs layers."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["two_moons"]


def two_moons(
    n_examples: int = 400, noise: float = 0.15, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points from two interleaved half circles.

    Parameters
    ----------
    n_examples : int, default: 400
        How many points, 1 or more; half of them (rounded down) are of class 0.
    noise : float, default: 0.15
        The standard deviation of what is added to each coordinate.
    seed : int, default: 0
        The same seed gives the same points.

    Returns
    -------
    X : numpy.ndarray, shape (n_examples, 2)
        The points, in random order.
    y : numpy.ndarray of int, shape (n_examples,)
        0 for the upper moon, 1 for the lower one.

    Raises
    ------
    ValueError
        If there is no point to draw, or the noise is negative.
    """
    if n_examples < 1:
        raise ValueError(f"n_examples must be 1 or more, got {n_examples}")
    if not noise >= 0:
        raise ValueError(f"noise must be 0 or more, got {noise}")
    from sklearn.datasets import make_moons

    X, y = make_moons(n_examples, noise=noise, random_state=seed)
    return X, y.astype(np.int64)
