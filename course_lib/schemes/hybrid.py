"""One weird trick: convolutions are data-parallel, fully connected layers are split."""

from collections.abc import Callable

import numpy as np

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain, partial_loss
from course_lib.models.model import Array
from course_lib.split import all_at_once, check_grid, n_unsplit, norm_of_split, split_by_units
from course_lib.split.passes import backward, forward
from course_lib.training import SGD, Optimizer, Plan, Training, check_plan, check_training, in_parts
from course_lib.training.shards import split_evenly

__all__ = ["hybrid"]


def hybrid(
    comm: Communicator, model: Chain, X: Array, y: Array, plan: Plan, splits: int | None = None,
    join: Callable[..., Array] = all_at_once, allreduce: Callable[..., Array] = allreduce_ring,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train convolutions, if there are any, and fully connected layers, each in their own way.

    Each rank takes its own examples through all convolutions. A row shares the layers behind them:
    a rank has some units, and ``join`` brings it all examples of the row. A column has the same.

    Parameters
    ----------
    splits : int or None, default: None
        The ranks of a row; it divides the number of ranks. None puts all into one row.
    join : callable, default: all_at_once
        Whose examples a row computes when: one of ``JOINS`` of ``course_lib.split``.

    Notes
    -----
    Cost of one step: all-reduces of the gradient, the convolutions' over all ranks, the others'
    over a column. In a row of K ranks with m examples, each sends 2(K-1)/K m numbers for each
    output of the last convolution and of every fully connected layer but the last, half for those.

    Invariant: convolutions are the same on all ranks, parts in a column. See ``join_model``.

    References
    ----------
    A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014.
    """
    check_training(model, X, y, optimizer=optimizer, allreduce=allreduce, join=join)
    check_plan(plan, "hybrid", "on_epoch")  # no rank holds the model
    splits = comm.size if splits is None else splits
    check_grid(model, comm.size, splits)
    row = _group(comm, comm.rank // splits)  # shares the fully connected layers
    column = _group(comm, comm.rank % splits)  # has the same units, for other rows' examples
    net, n_convs = split_by_units(row, model, sums=False), n_unsplit(model)
    w = net.initial(plan.seed)
    grad = np.zeros_like(w)
    of_convs, of_fully_connected = np.split(grad, [net.layers[n_convs].part.start])  # views
    sgd = optimizer(w, plan)
    losses = []
    for of_row, weight in plan.shares(len(y), comm.rank // splits, comm.size // splits):
        grad[...] = 0
        losses.append(0.0)
        for examples, share in in_parts(of_row, plan.accumulate):
            fully = _FullyConnected(net, n_convs, w, grad, y[examples], weight * share)
            if n_convs:
                cut = split_evenly(len(examples), splits)
                own = examples[cut[row.rank]]
                x, kept = forward(net, range(n_convs), w, model.examples(X[own]))
                dx = join(row, x, cut, fully)  # fully() goes forward and back, once or more often
                backward(net, range(n_convs), w, kept, dx, grad)
            else:  # what is to be joined is the examples, and everybody has them
                fully(model.examples(X[examples]), np.arange(len(examples)))
            losses[-1] += fully.loss if row.rank == 0 else 0.0
        comm.note("loss_partial", losses[-1])
        if n_convs:
            allreduce(comm, of_convs, out=of_convs)
        allreduce(column, of_fully_connected, out=of_fully_connected)
        norm = norm_of_split(row, plan, net, grad)  # a row has the whole gradient
        with comm.compute("update", flops=2.0 * len(w)):
            sgd.step(grad, norm)
    return Training(w, losses)


class _FullyConnected:
    """One step of a row's part of the fully connected layers, for some examples at a time."""

    def __init__(
        self, net: Chain, first: int, w: Array, grad: Array, y: Array, weight: float
    ) -> None:
        self._net, self._layers = net, range(first, len(net.parts))
        self._w, self._grad, self._y, self._weight = w, grad, y, weight
        self.loss = 0.0

    def __call__(self, x: Array, numbers: Array) -> Array:
        """Go forward and back, add to loss and gradient; return these units' part of x's slope."""
        outputs, kept = forward(self._net, self._layers, self._w, x)
        weight = self._weight * len(numbers) / max(len(self._y), 1)
        loss, slope = partial_loss(outputs, self._y[numbers], weight)
        self.loss += loss
        return backward(self._net, self._layers, self._w, kept, slope, self._grad)


def _group(comm: Communicator, color: int) -> Communicator:
    group = comm.split(color)
    assert group is not None
    return group
