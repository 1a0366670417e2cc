"""Linear regression: the one model whose loss really is a bowl."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.models.examples import check_targets
from course_lib.models.model import Layer, LayerFlops, OneLayerPasses, check_not_empty
from course_lib.words.plain import check_plain

__all__ = ["Batch", "LinearRegression", "Vector", "check_examples"]

Vector = NDArray[np.float64]
Batch = tuple[NDArray[np.float64], NDArray[np.float64]]
"""``(X, y)``: examples of shape (m, d) and targets of shape (m,)."""


@dataclass(frozen=True)
class LinearRegression:
    """Predict ``w[0] + X @ w[1:]``, with half the mean squared error as the loss.

    The parameters are one flat vector, so that a scheme can send them as one message.

    Attributes
    ----------
    n_features : int
        The number of columns of ``X``; there is one parameter more, the intercept ``w[0]``.
    """

    n_features: int

    @property
    def n_parameters(self) -> int:
        """The length of the flat parameter vector."""
        return self.n_features + 1

    @property
    def layers(self) -> tuple[Layer, ...]:
        """One layer that covers the vector."""
        return (Layer("all", slice(0, self.n_parameters)),)

    def initial(self, seed: int = 0) -> Vector:
        """Return the parameters that training starts from.

        Parameters
        ----------
        seed : int, default: 0
            Not used: into a bowl one can start from anywhere.

        Returns
        -------
        numpy.ndarray, shape (d + 1,)
            Zeros.
        """
        del seed
        return np.zeros(self.n_parameters)

    def predict(self, w: Vector, X: Vector) -> Vector:
        """Predict the targets of examples.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        X : numpy.ndarray, shape (m, d)
            The examples.

        Returns
        -------
        numpy.ndarray, shape (m,)
            One prediction a row.
        """
        return np.asarray(w[0] + X @ w[1:])

    def loss(self, w: Vector, batch: Batch) -> float:
        """Return half the mean squared error over the examples of a batch.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets, at least one.

        Returns
        -------
        float
            In squared units of the targets.
        """
        return self.gradient(w, batch)[0]

    def gradient_sum(self, w: Vector, batch: Batch) -> tuple[float, Vector]:
        """Sum the loss and its gradient over the examples of a batch.

        Sums of parts of a data set can be added up, whatever the sizes of the parts. Means cannot.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets; m may be 0.

        Returns
        -------
        loss : float
            Half the sum of the squared errors.
        gradient : numpy.ndarray, shape (d + 1,)
            The sum of ``error * x`` over the examples, with ``x[0] = 1`` for the intercept.
        """
        X, y = batch
        check_targets(X, y, self.n_features)
        error = self.predict(w, X) - y
        return 0.5 * float(error @ error), np.concatenate([[error.sum()], X.T @ error])

    def gradient(self, w: Vector, batch: Batch, weight: float = 1.0) -> tuple[float, Vector]:
        """Average the loss and its gradient over the examples of a batch.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets, at least one.
        weight : float, default: 1.0
            What part of a larger batch this one is: loss and gradient are multiplied by it.

        Returns
        -------
        loss : float
            Half the mean squared error, weighted.
        gradient : numpy.ndarray, shape (d + 1,)
            Its gradient.

        Raises
        ------
        ValueError
            If the batch is empty.
        """
        check_not_empty(batch)
        n_examples = len(batch[1])
        loss_sum, grad_sum = self.gradient_sum(w, batch)
        return weight * (loss_sum / n_examples), weight * (grad_sum / n_examples)

    def backward_layers(self, w: Vector, batch: Batch) -> Iterator[tuple[Layer, Vector]]:
        """Yield the gradient of the one layer.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets, at least one.

        Yields
        ------
        layer : Layer
            The one that covers the vector.
        gradient : numpy.ndarray, shape (d + 1,)
            What ``gradient`` returns.
        """
        yield self.layers[0], self.gradient(w, batch)[1]

    def passes(self, w: Vector, batch: Batch, weight: float = 1.0) -> OneLayerPasses:
        """Begin a gradient in steps, of which there is one.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets, at least one.
        weight : float, default: 1.0
            What part of a larger batch this one is: loss and gradient are multiplied by it.

        Returns
        -------
        OneLayerPasses
            They give what ``gradient`` returns.
        """
        return OneLayerPasses(self, w, batch, weight)

    def flops(self, batch: Batch) -> float:
        """Count the floating-point operations of one gradient.

        Parameters
        ----------
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets.

        Returns
        -------
        float
            4 m (d + 1): a multiplication and an addition for each number of ``X``, forward and
            backward.
        """
        return 4.0 * len(batch[1]) * self.n_parameters

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count the floating-point operations of the one layer.

        Parameters
        ----------
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets.

        Returns
        -------
        tuple of LayerFlops
            One: half of ``flops`` forward, half of it back.
        """
        return (LayerFlops(self.flops(batch) / 2, self.flops(batch) / 2),)

    def optimum(self, batch: Batch) -> Vector:
        """Solve for the parameters with the smallest loss, by least squares.

        Parameters
        ----------
        batch : tuple of numpy.ndarray, shapes (m, d) and (m,)
            Examples and targets.

        Returns
        -------
        numpy.ndarray, shape (d + 1,)
            Where the gradient is zero.
        """
        X, y = batch
        design = np.column_stack([np.ones(len(X)), X])
        return np.asarray(np.linalg.lstsq(design, y, rcond=None)[0], dtype=np.float64)


def check_examples(X: Vector, y: Vector) -> Batch:
    """Return ``(X, y)`` as float arrays, or say what is wrong with them.

    Parameters
    ----------
    X : numpy.ndarray, shape (m, d)
        The examples.
    y : numpy.ndarray, shape (m,)
        The targets.

    Returns
    -------
    tuple of numpy.ndarray, shapes (m, d) and (m,)
        The same numbers as float64.

    Raises
    ------
    TypeError
        If they do not hold numbers.
    ValueError
        If ``X`` is not (m, d), ``y`` is not (m,), or there is no example. NaN is allowed.
    """
    for name, array in (("X", X), ("y", y)):
        check_plain(array, name)
        if np.asarray(array).dtype.kind not in "biuf":
            raise TypeError(f"{name} must hold numbers, got dtype {np.asarray(array).dtype}")
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must have shape (examples, features), got {X.shape}")
    if y.shape != (len(X),):
        raise ValueError(f"y must have shape ({len(X)},), one target a row of X, got {y.shape}")
    if len(y) == 0:
        raise ValueError("X must hold at least one example, got 0 rows")
    return X, y
