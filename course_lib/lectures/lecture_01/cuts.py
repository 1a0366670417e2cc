"""What one step is made of, and a linear regression's gradient, cut in two in two ways."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain, partial_loss
from course_lib.models.model import Batch
from course_lib.training.shards import split_evenly

__all__ = ["by_columns", "by_rows", "one_step"]

Vector = NDArray[np.float64]


def by_rows(comm: Communicator, data: Batch, w: Vector) -> Vector:
    """Compute a gradient on two workers: each has half the examples and all weights.

    Parameters
    ----------
    comm : Communicator
        Two ranks.
    data : tuple of numpy.ndarray, shapes (m, d) and (m,)
        All examples and targets; each rank uses its rows.
    w : numpy.ndarray, shape (d,)
        The weights.

    Returns
    -------
    numpy.ndarray, shape (d,)
        The gradient of half the sum of squared errors, on both ranks.

    Raises
    ------
    ValueError
        If there are not two ranks.

    Notes
    -----
    Cost: d numbers to the other rank.
    """
    X, y = data
    mine = split_evenly(len(y), _two(comm))[comm.rank]
    with comm.compute("my examples", flops=4.0 * X[mine].size):
        gradient_partial = X[mine].T @ (X[mine] @ w - y[mine])
    return _sum_of_both(comm, gradient_partial)


def by_columns(comm: Communicator, data: Batch, w: Vector) -> Vector:
    """Compute a gradient on two workers: each has all examples and half the weights.

    Parameters
    ----------
    comm : Communicator
        Two ranks.
    data : tuple of numpy.ndarray, shapes (m, d) and (m,)
        All examples and targets; each rank uses its columns.
    w : numpy.ndarray, shape (d,)
        The weights; each rank uses its own.

    Returns
    -------
    numpy.ndarray
        The gradient for this rank's weights.

    Raises
    ------
    ValueError
        If there are not two ranks.

    Notes
    -----
    Cost: m numbers to the other rank.
    """
    X, y = data
    mine = split_evenly(X.shape[1], _two(comm))[comm.rank]
    with comm.compute("predict from my columns", flops=2.0 * X[:, mine].size):
        predicted_partial = X[:, mine] @ w[mine]
    predicted = _sum_of_both(comm, predicted_partial)
    with comm.compute("my weights", flops=2.0 * X[:, mine].size):
        return np.asarray(X[:, mine].T @ (predicted - y))


def _two(comm: Communicator) -> int:
    if comm.size != 2:
        raise ValueError(f"workers must be 2, got {comm.size}")
    return 2


def _sum_of_both(comm: Communicator, partial: Vector) -> Vector:
    """Swap partial sums with the other rank, and add them up."""
    other = 1 - comm.rank
    return np.asarray(partial + comm.sendrecv(partial, other, other))


def one_step(comm: Communicator, model: Chain, batch: Batch, w: Vector) -> tuple[list[str], Vector]:
    """Take the gradient of one batch layer by layer, each piece of work with its name.

    Parameters
    ----------
    comm : Communicator
        Whose timeline shows the work.
    model : Chain
        Its layers.
    batch : tuple of arrays
        Examples and the numbers of their classes.
    w : numpy.ndarray, shape (n_parameters,)
        The parameters.

    Returns
    -------
    order : list of str
        What was computed, in order: ``"forward fc1"``, ``"input gradient fc2"``,
        ``"weight gradient fc2"`` and so on.
    gradient : numpy.ndarray, shape (n_parameters,)
        The gradient of the mean loss.
    """
    X, y = batch
    order: list[str] = []

    @contextmanager
    def named(name: str, flops: float) -> Iterator[None]:
        order.append(name)
        with comm.compute(name, flops=flops):
            yield

    x, saved, gradient = model.examples(X), [], np.empty_like(w)
    for part, layer in zip(model.parts, model.layers, strict=True):
        with named(f"forward {part.name}", part.flops(len(y)).forward):
            x, kept = part.forward(w[layer.part], x)
        saved.append(kept)
    dy = partial_loss(x, y)[1]
    for number in reversed(range(len(model.parts))):
        part, where, kept = model.parts[number], model.layers[number].part, saved[number]
        with named(f"weight gradient {part.name}", part.flops(len(y)).weight_gradient):
            gradient[where] = part.weight_gradient(kept, dy)
        if number:  # nobody stands before the first layer
            with named(f"input gradient {part.name}", part.flops(len(y)).input_gradient):
                dy = part.input_gradient(w[where], kept, dy)
    return order, gradient
