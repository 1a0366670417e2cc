"""Slices of a loss over thousands of parameters, and the same function with other weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.models import landscape
from course_lib.models.model import Batch, Model
from course_lib.models.perceptron import Perceptron
from course_lib.viz import Chart, chart

__all__ = ["Slice", "rescaled", "valley"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Slice:
    """The plane through three sets of parameters, with lengths and angles as they are.

    Attributes
    ----------
    model : Model
        Whose loss.
    batch : tuple of arrays
        Examples and targets.
    corners : tuple of three numpy.ndarray, shape (n_parameters,)
        The first is the origin, the second lies on the first axis.
    """

    model: Model
    batch: Batch
    corners: tuple[Vector, Vector, Vector]

    @property
    def axes(self) -> Vector:
        """Two directions of length 1, at right angles, shape (2, n_parameters)."""
        origin, along, aside = self.corners
        first = (along - origin) / np.linalg.norm(along - origin)
        second = aside - origin - ((aside - origin) @ first) * first
        return np.array([first, second / np.linalg.norm(second)])

    def place(self, w: Vector) -> Vector:
        """Return the coordinates of parameters, or of their projection onto the plane."""
        return self.axes @ (w - self.corners[0])

    def at(self, place: Vector) -> Vector:
        """Return the parameters at a place of the plane."""
        return np.asarray(self.corners[0] + np.asarray(place) @ self.axes)

    def loss(self, x: Vector, y: Vector) -> Vector:
        """Compute the loss at places, element by element, as ``landscape`` asks for it."""
        origin, axes = self.corners[0], self.axes
        places = np.stack([np.ravel(x), np.ravel(y)], axis=1)
        found = [self.model.loss(origin + place @ axes, self.batch) for place in places]
        return np.array(found).reshape(np.shape(x))

    def descend(self, start: Sequence[float], learning_rate: float, steps: int) -> Vector:
        """Go downhill without leaving the plane.

        Parameters
        ----------
        start : sequence of two float
            Where.
        learning_rate : float
            How far to go against the gradient.
        steps : int
            How many steps to take.

        Returns
        -------
        numpy.ndarray, shape (steps + 1, 2)
            The path, the first place included.
        """
        axes, path = self.axes, [np.array(start, dtype=np.float64)]
        for _ in range(steps):
            gradient = self.model.gradient(self.at(path[-1]), self.batch)[1]
            path.append(path[-1] - learning_rate * (axes @ gradient))
        return np.array(path)


def rescaled(model: Perceptron, w: Vector, factor: float) -> Vector:
    """Return other parameters of the same function: ReLU lets positive factors through.

    Parameters
    ----------
    model : Perceptron
        A network with one hidden layer.
    w : numpy.ndarray, shape (n_parameters,)
        Its parameters.
    factor : float
        What the first layer is multiplied by, above 0; the weights of the second are divided by it.

    Returns
    -------
    numpy.ndarray, shape (n_parameters,)
        The twin's parameters, a new array.

    Raises
    ------
    ValueError
        If the factor is not above 0, or the network has not two layers.

    References
    ----------
    L. Dinh, R. Pascanu, S. Bengio and Y. Bengio, "Sharp minima can generalize for deep nets", ICML
    2017, section 3.
    """
    if not factor > 0:
        raise ValueError(f"factor must be above 0, got {factor}")
    if len(model.layers) != 2:
        raise ValueError(f"model must have two layers, got {len(model.layers)}")
    first, second = model.layers
    n_weights = int(np.prod(second.shapes[0]))
    twin = w.copy()
    twin[first.part] *= factor
    twin[second.part.start : second.part.start + n_weights] /= factor
    return twin


def valley(model: Model, w: Vector, batch: Batch, said: str = "", reach: float = 0.6) -> Chart:
    """Draw the loss on the straight line through some parameters along the steepest curvature.

    Parameters
    ----------
    model : Model
        Whose loss.
    w : numpy.ndarray, shape (n_parameters,)
        The middle of the line.
    batch : tuple of arrays
        Examples and targets.
    said : str, default: ""
        What follows the curvature in the sentence below.
    reach : float, default: 0.6
        How far to go to both sides.

    Returns
    -------
    Chart
        One curve, and a sentence with the curvature.
    """
    curvature, direction = landscape.sharpest(model, w, batch)
    far = np.linspace(-reach, reach, 121)
    losses = landscape.loss_along(model, batch, w, w + direction, far.tolist())
    return chart(
        {"loss": list(zip(far.tolist(), losses.tolist(), strict=True))},
        x_label="distance from the minimum, along its steepest direction", y_label="loss",
        x_range=(-reach, reach), y_range=(0.0, 3.0), said=f"curvature {curvature:,.0f}; {said}",
    )  # fmt: skip
