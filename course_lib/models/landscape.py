"""What the loss of a model looks like around some parameters: slices, sharpness, gradient noise."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Batch, Model

__all__ = [
    "gradient_error",
    "gradient_spread",
    "loss_along",
    "loss_plane",
    "sharpest",
    "sharpness",
]

Vector = NDArray[np.float64]


def loss_along(
    model: Model, batch: Batch, start: Vector, end: Vector, fractions: Sequence[float]
) -> Vector:
    """Compute the loss on the straight line between two sets of parameters.

    Parameters
    ----------
    model : Model
        Whose loss.
    batch : tuple of arrays
        Examples and targets.
    start, end : numpy.ndarray, shape (n_parameters,)
        The ends of the line.
    fractions : sequence of float
        Where to look: 0 is ``start``, 1 is ``end``; others lie between or beyond.

    Returns
    -------
    numpy.ndarray, shape (len(fractions),)
        The losses. Where the loss is convex, none lies above the chord between two others.
    """
    return np.array([model.loss(start + f * (end - start), batch) for f in fractions])


def loss_plane(
    model: Model, batch: Batch, corners: tuple[Vector, Vector, Vector], grid: Sequence[float]
) -> Vector:
    """Compute the loss on the plane through three sets of parameters.

    Of a surface over thousands of dimensions one can only draw a slice. Point (i, j) of it is
    ``a + grid[j] * (b - a) + grid[i] * (c - a)``.

    Parameters
    ----------
    model : Model
        Whose loss.
    batch : tuple of arrays
        Examples and targets.
    corners : tuple of three numpy.ndarray, shape (n_parameters,)
        The points a, b and c, which are at (0, 0), (1, 0) and (0, 1) of the slice.
    grid : sequence of float
        The coordinates, the same in both directions.

    Returns
    -------
    numpy.ndarray, shape (len(grid), len(grid))
        The losses; the first axis goes from a to c.

    References
    ----------
    I. J. Goodfellow, O. Vinyals and A. M. Saxe, "Qualitatively characterizing neural network
    optimization problems", ICLR 2015.
    """
    a, b, c = corners
    rows = [loss_along(model, batch, a + f * (c - a), b + f * (c - a), grid) for f in grid]
    return np.array(rows)


def sharpness(model: Model, w: Vector, batch: Batch, steps: int = 30) -> float:
    """Estimate the largest curvature of the loss in any direction, see ``sharpest``."""
    return sharpest(model, w, batch, steps)[0]


def sharpest(model: Model, w: Vector, batch: Batch, steps: int = 30) -> tuple[float, Vector]:
    """Estimate the direction in which the loss has its largest curvature.

    Power iteration: a random direction is multiplied with the matrix of second derivatives again
    and again, until only the steepest is left. Its product with a direction is the difference of
    two gradients.

    Parameters
    ----------
    model : Model
        Whose loss.
    w : numpy.ndarray, shape (n_parameters,)
        Where.
    batch : tuple of arrays
        Examples and targets.
    steps : int, default: 30
        How often to multiply.

    Returns
    -------
    curvature : float
        That along the direction found, in units of loss per parameter squared. Gradient descent
        with a learning rate above 2 over this number cannot stay.
    direction : numpy.ndarray, shape (n_parameters,)
        Of length 1.

    Notes
    -----
    Cost: two gradients a step.
    """
    direction = np.random.default_rng(0).normal(size=len(w))
    nudge = 1e-4
    curvature, seen = 0.0, direction
    for _ in range(steps):
        direction = direction / np.linalg.norm(direction)
        ahead = model.gradient(w + nudge * direction, batch)[1]
        behind = model.gradient(w - nudge * direction, batch)[1]
        product = (ahead - behind) / (2 * nudge)
        curvature, seen, direction = float(direction @ product), direction, product
    return curvature, seen


def gradient_spread(model: Model, w: Vector, batch: Batch) -> tuple[Vector, float]:
    """Compute the gradient of every single example, and how far they lie apart.

    Parameters
    ----------
    model : Model
        Whose gradient.
    w : numpy.ndarray, shape (n_parameters,)
        Where.
    batch : tuple of arrays, with m examples
        Examples and targets, at least one.

    Returns
    -------
    gradients : numpy.ndarray, shape (m, n_parameters)
        One row for each example; their mean is the gradient of the batch.
    spread : float
        The mean squared distance of a row from the mean of the rows. Divided by the squared length
        of that mean it is the batch size at which noise and gradient are equally large.

    References
    ----------
    S. McCandlish, J. Kaplan, D. Amodei and the OpenAI Dota Team, "An empirical model of large-batch
    training", arXiv:1812.06162, 2018, section 2.2.
    """
    X, y = batch
    rows = np.array([model.gradient(w, (X[i : i + 1], y[i : i + 1]))[1] for i in range(len(y))])
    centred = rows - rows.mean(axis=0)
    return rows, float((centred**2).sum(axis=1).mean())


def gradient_error(gradients: Vector, batch_size: int, draws: int = 400, seed: int = 0) -> float:
    """Measure how far the gradient of a random mini-batch is from that of all examples.

    Parameters
    ----------
    gradients : numpy.ndarray, shape (m, n_parameters)
        The gradient of each example.
    batch_size : int
        How many different examples are drawn, 1 to m.
    draws : int, default: 400
        How many mini-batches to try.
    seed : int, default: 0
        Of the drawing.

    Returns
    -------
    float
        The root of the mean squared distance.

    Notes
    -----
    Its square is ``spread / batch_size * (m - batch_size) / (m - 1)`` on average: the second factor
    is that of drawing without putting back, and is 0 when the batch is all there is.
    """
    rng = np.random.default_rng(seed)
    whole = gradients.mean(axis=0)
    squared = 0.0
    for _ in range(draws):
        drawn = rng.choice(len(gradients), size=batch_size, replace=False)
        squared += float(((gradients[drawn].mean(axis=0) - whole) ** 2).sum())
    return float(np.sqrt(squared / draws))
