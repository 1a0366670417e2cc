"""One weird trick: convolutions are data-parallel, fully connected layers are split."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.shards import split_evenly

if TYPE_CHECKING:
    from course_lib.models.chain import Chain

__all__ = ["check_grid", "hybrid"]


def hybrid(
    comm: Communicator, model: "Chain", X: Array, y: Array, plan: Plan, splits: int | None = None,
    join: Callable[..., Array] | None = None, allreduce: Callable[..., Array] = allreduce_ring,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train a network of convolutions and fully connected layers, each kind in its own way.

    Convolutions have few weights and take long: every rank has all of them and goes through its own
    examples. Fully connected layers have most of the weights, and few activations: every rank has a
    part of their units and goes through the examples of all. Ranks stand in a grid: a row of
    ``splits`` ranks is one replica of the fully connected layers, and in a column all have the same
    part of them.

    Parameters
    ----------
    splits : int or None, default: None
        Over how many ranks a fully connected layer is split; it divides the number of ranks. None
        takes all of them: then there is one replica.
    join : callable or None, default: None
        Whose examples a row computes when: one of ``JOINS`` of ``course_lib.split``; None takes
        ``all_at_once``.

    Returns
    -------
    Training
        This rank's convolutions and its part of the fully connected layers. The losses of a row are
        those of its first rank.

    Raises
    ------
    TypeError
        If ``model`` is no ``Chain``.
    ValueError
        If ``splits`` does not divide the number of ranks, or is more than a layer has units, or the
        model is not convolutions and then fully connected layers.

    Notes
    -----
    Cost of one step: for the weights, an all-reduce of the convolutions' gradient over all ranks
    and one of the own part of the others' over its column. For the activations of m examples in a
    row of K ranks: 2(K-1)/K m units for the convolutions' last layer, and as many numbers for each
    fully connected layer but the last, sent by each rank; and (K-1)/K m classes for the outputs,
    which all get. Before the first step: nothing, all draw the same.

    Invariant: at the start of every step the convolutions are the same on all ranks, and the parts
    of the fully connected layers on all ranks of a column, bit for bit.

    References
    ----------
    A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
    arXiv:1404.5997, 2014.
    """
    from course_lib.split.joins import all_at_once
    from course_lib.split.model import n_unsplit, split_by_units
    from course_lib.split.passes import backward, forward

    check_training(model, X, y)
    splits = comm.size if splits is None else splits
    check_grid(model, comm.size, splits)
    row = _group(comm, comm.rank // splits)  # shares the fully connected layers
    column = _group(comm, comm.rank % splits)  # has the same part of them
    net, n_convs = split_by_units(row, model, sums=False), n_unsplit(model)
    w = net.initial(plan.seed)
    grad = np.zeros_like(w)
    of_convs, of_fully = np.split(grad, [net.layers[n_convs].part.start])  # views
    sgd = optimizer(w, plan)
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank // splits, comm.size // splits):
        grad[...] = 0
        parts = split_evenly(len(examples), splits)  # of the row's examples
        own = examples[parts[row.rank]]
        x, kept = forward(net, range(n_convs), w, model.examples(X[own]))
        fully = _Fully(net, n_convs, w, grad, y[examples], weight)
        dx = (join or all_at_once)(row, x, parts, fully)
        backward(net, range(n_convs), w, kept, dx, grad)
        losses.append(fully.loss if row.rank == 0 else 0.0)
        comm.note("loss_partial", losses[-1])
        allreduce(comm, of_convs, out=of_convs)
        allreduce(column, of_fully, out=of_fully)
        with comm.compute("update", flops=2.0 * len(w)):
            sgd.step(grad)
    return Training(w, losses)


class _Fully:
    """One step of a row's part of the fully connected layers, for some examples at a time."""

    def __init__(
        self, net: "Chain", first: int, w: Array, grad: Array, y: Array, weight: float
    ) -> None:
        self._net, self._layers = net, range(first, len(net.parts))
        self._w, self._grad, self._y, self._weight = w, grad, y, weight
        self.loss = 0.0

    def __call__(self, x: Array, numbers: Any) -> Array:
        """Go forward and back, add to loss and gradient; return the own part of the slope in x."""
        from course_lib.models.chain import partial_loss
        from course_lib.split.passes import backward, forward

        outputs, kept = forward(self._net, self._layers, self._w, x)
        weight = self._weight * len(numbers) / max(len(self._y), 1)
        loss, slope = partial_loss(outputs, self._y[numbers], weight)
        self.loss += loss
        return backward(self._net, self._layers, self._w, kept, slope, self._grad)


def check_grid(model: "Chain", size: int, splits: int) -> None:
    """Refuse a grid that so many ranks do not fill, or a model that cannot be divided over a row.

    Parameters
    ----------
    model : Chain
        What is to be trained.
    size : int
        The number of ranks.
    splits : int
        That of a row.

    Raises
    ------
    TypeError, ValueError
        Saying which, and what was given.
    """
    from course_lib.split.model import check_split, n_unsplit, split_by_units

    if isinstance(splits, bool) or not isinstance(splits, int):
        raise TypeError(f"splits must be an int, got {splits!r} ({type(splits).__name__})")
    if splits < 1 or size % splits:
        raise ValueError(
            f"splits must divide the number of ranks, so that replicas x splits = {size}; "
            f"got {splits}"
        )
    if n_unsplit(model) == 0:
        raise ValueError(
            "model must begin with layers that are not fully connected, as alexnet() does, "
            f"got {model.parts[0].name} first; split_weights trains such a model"
        )
    check_split(model, splits, split_by_units)


def _group(comm: Communicator, color: int) -> Communicator:
    group = comm.split(color)
    assert group is not None
    return group
