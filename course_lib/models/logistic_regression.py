"""Logistic regression: a probability for one of two classes, with a convex loss."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.models.examples import check_targets, check_two_classes
from course_lib.models.model import Batch, Layer, LayerFlops, OneLayerPasses, check_not_empty

__all__ = ["LogisticRegression"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LogisticRegression:
    """Give the probability of class 1 as the sigmoid of ``w[0] + X @ w[1:]``.

    Attributes
    ----------
    n_features : int
        The number of columns of ``X``; there is one parameter more, the intercept ``w[0]``.
    l2 : float, default: 0.0
        How much of half the squared length of ``w[1:]`` is added to the loss.
    """

    n_features: int
    l2: float = 0.0

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
            Not used: a convex loss can be started anywhere.

        Returns
        -------
        numpy.ndarray, shape (d + 1,)
            Zeros.
        """
        del seed
        return np.zeros(self.n_parameters)

    def loss(self, w: Vector, batch: Batch) -> float:
        """Return the mean cross-entropy over the examples of a batch.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray or scipy.sparse.csr_matrix (m, d), and numpy.ndarray (m,)
            Examples and classes, 0 or 1.

        Returns
        -------
        float
            In nats, with the part of ``l2``.
        """
        X, y = self._checked(batch)
        return self._mean_loss(w, self._margin(w, X), y)

    def predict(self, w: Vector, X: Any) -> NDArray[np.int64]:
        """Return the likelier class of each example.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        X : numpy.ndarray or scipy.sparse.csr_matrix, shape (m, d)
            The examples.

        Returns
        -------
        numpy.ndarray of int, shape (m,)
            0 or 1.
        """
        return (self._margin(w, X) > 0).astype(np.int64)

    def gradient(self, w: Vector, batch: Batch, weight: float = 1.0) -> tuple[float, Vector]:
        """Return the mean loss over a batch and its gradient.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray or scipy.sparse.csr_matrix (m, d), and numpy.ndarray (m,)
            Examples and classes, 0 or 1; at least one.
        weight : float, default: 1.0
            What part of a larger batch this one is: loss and gradient are multiplied by it.

        Returns
        -------
        loss : float
            What ``loss`` returns, weighted.
        gradient : numpy.ndarray, shape (d + 1,)
            The mean of (probability - class) * x, and ``l2 * w``; weighted.

        Raises
        ------
        ValueError
            If the batch is empty.
        """
        check_not_empty(batch)
        X, y = self._checked(batch)
        margin = self._margin(w, X)
        error = (np.exp(-np.logaddexp(0, -margin)) - y) / len(y)
        grad = np.concatenate([[error.sum()], X.T @ error + self.l2 * w[1:]])
        return weight * self._mean_loss(w, margin, y), weight * grad

    def backward_layers(self, w: Vector, batch: Batch) -> Iterator[tuple[Layer, Vector]]:
        """Yield the gradient of the one layer.

        Parameters
        ----------
        w : numpy.ndarray, shape (d + 1,)
            The parameters.
        batch : tuple of numpy.ndarray or scipy.sparse.csr_matrix (m, d), and numpy.ndarray (m,)
            Examples and classes, 0 or 1; at least one.

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
        batch : tuple of numpy.ndarray or scipy.sparse.csr_matrix (m, d), and numpy.ndarray (m,)
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
        batch : tuple of numpy.ndarray or scipy.sparse.csr_matrix (m, d), and numpy.ndarray (m,)
            Examples and classes.

        Returns
        -------
        float
            4 for each number of ``X`` that is stored, and for each row's intercept.
        """
        X, y = batch
        stored = X.size if isinstance(X, np.ndarray) else X.nnz
        return 4.0 * (stored + len(y))

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count the floating-point operations of the one layer.

        Parameters
        ----------
        batch : tuple of numpy.ndarray or scipy.sparse.csr_matrix (m, d), and numpy.ndarray (m,)
            Examples and targets.

        Returns
        -------
        tuple of LayerFlops
            One: half of ``flops`` forward, half of it back.
        """
        return (LayerFlops(self.flops(batch) / 2, self.flops(batch) / 2),)

    def _checked(self, batch: Batch) -> Batch:
        X, y = batch
        check_targets(X, y, self.n_features)
        check_two_classes(y)
        return batch

    def _margin(self, w: Vector, X: Any) -> Vector:
        return np.asarray(w[0] + X @ w[1:])

    def _mean_loss(self, w: Vector, margin: Vector, y: Any) -> float:
        penalty = 0.5 * self.l2 * float(w[1:] @ w[1:])
        # log(1 + exp(margin)) - y * margin, without overflow
        return float(np.mean(np.logaddexp(0, margin) - y * margin) + penalty)
