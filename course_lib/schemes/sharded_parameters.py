"""Data-parallel SGD with a shard of everything on every rank: ZeRO, stage 3, or FSDP."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from course_lib.collectives import allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain, ChainLayer, partial_loss
from course_lib.models.model import Array, Layer
from course_lib.training import SGD, Optimizer, Plan, Training, check_plan, norm_of_all
from course_lib.training.checking import check_training
from course_lib.training.held import numbers_held
from course_lib.training.shards import length, places, shards_by_layer, split_evenly, unpack

__all__ = ["join_shards", "sharded_parameters"]


def sharded_parameters(
    comm: Communicator, model: Chain, X: Array, y: Array, plan: Plan,
    reduce_scatter: Callable[..., Array] = reduce_scatter_ring,
    allgather: Callable[..., Array] = allgather_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train on all ranks together; nobody ever has more than one layer of the model.

    A rank keeps a part of each layer. Parts are gathered before the layer is used, and again for
    the slope in its inputs, and let go; its gradient is summed and sharded at once.

    Parameters
    ----------
    reduce_scatter, allgather : callable, default: those on a ring
        Both cut by ``split_evenly``, as ``shards_by_layer`` does.

    Notes
    -----
    Cost of one step: a reduce-scatter and two all-gathers for each layer, one for the first; on
    rings 3(P-1)/P n bytes each way, n = those of the parameters, less (P-1)/P of the first's; so
    often as a plan accumulates. Numbers held, for Q parameters and K of state: (2 + K) Q/P, noted
    as ``"numbers_held"`` (K is one less than in stages 1 and 2); a layer's for a moment.
    Invariant: between two layers a rank holds its shard alone; but a ``TorchLayer``'s graph keeps
    the parameters it was given until it has gone back. ``join_shards`` makes the whole.

    References
    ----------
    Y. Zhao, A. Gu, R. Varma et al., "PyTorch FSDP", PVLDB 16(12), 2023.
    """
    check_training(
        model, X, y, optimizer=optimizer, reduce_scatter=reduce_scatter, allgather=allgather
    )
    check_plan(plan, "sharded_parameters", "on_epoch")  # no rank holds the model
    if not isinstance(model, Chain):  # whose layers take their parameters one by one
        raise TypeError(
            f"model must be a Chain, got {type(model).__name__}; docs/own_model.md says how one is "
            "made of torch modules"
        )
    w_shard = _initial(comm, model, plan.seed)  # shape (Q/P,): a part of every layer
    grad_shard = np.zeros_like(w_shard)
    sgd = optimizer(w_shard, plan)
    here = places(shards_by_layer(model.layers, comm.size)[comm.rank])
    layers = list(zip(model.parts, here, strict=True))
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size):
        losses.append(0.0)
        grad_shard[...] = 0
        for cut in split_evenly(len(examples), plan.accumulate):
            some = examples[cut]  # perhaps none: all ranks gather as often
            x, kept = model.examples(X[some]), []
            for layer, place in layers:
                x, saved = _forward(comm, layer, allgather(comm, w_shard[place]), x)
                kept.append(saved)
            loss, dx = partial_loss(x, y[some], weight * len(some) / max(len(examples), 1))
            losses[-1] += loss
            for layer, place in reversed(layers):
                saved = kept.pop()
                grad = _weight_gradient(comm, layer, saved, dx)
                grad_shard[place] += reduce_scatter(comm, grad)
                del grad  # what is not this rank's part of the sum is let go
                if kept:  # somebody stands before this layer
                    dx = _input_gradient(comm, layer, allgather(comm, w_shard[place]), saved, dx)
        comm.note("loss_partial", losses[-1])
        norm = norm_of_all(plan, grad_shard, partial(allreduce_ring, comm))
        with comm.compute("update", flops=2.0 * len(w_shard)):
            sgd.step(grad_shard, norm)
        comm.note("numbers_held", numbers_held(w_shard, grad_shard, sgd))
    return Training(w_shard, losses)


# What is gathered has no name in the loop above, so that it is let go when one of these returns.
# ``saved`` does not hold it where a layer's mathematics are ours; a graph of torch's does.


def _forward(comm: Communicator, part: ChainLayer, w: Array, x: Array) -> tuple[Array, Array]:
    with comm.compute(f"forward {part.name}", flops=part.flops(len(x)).forward):
        return part.forward(w, x)


def _weight_gradient(comm: Communicator, part: ChainLayer, saved: Array, dy: Array) -> Array:
    with comm.compute(f"weight gradient {part.name}", flops=part.flops(len(dy)).weight_gradient):
        return part.weight_gradient(saved, dy)


def _input_gradient(
    comm: Communicator, part: ChainLayer, w: Array, saved: Array, dy: Array
) -> Array:
    with comm.compute(f"input gradient {part.name}", flops=part.flops(len(dy)).input_gradient):
        return part.input_gradient(w, saved, dy)


def _initial(comm: Communicator, model: Chain, seed: int) -> Array:
    """Draw one layer after another, and keep this rank's part of each."""
    own = shards_by_layer(model.layers, comm.size)[comm.rank]
    w_shard = np.empty(length(own), model.dtype)
    for k, (part, place) in enumerate(zip(own, places(own), strict=True)):
        first = model.layers[k].part.start
        w_shard[place] = model.initial_of(k, seed)[part.start - first : part.stop - first]
    return w_shard


def join_shards(w_shards: Sequence[Array], layers: Sequence[Layer] | None) -> Array:
    """Put the parameters together from the shards of all ranks.

    Parameters
    ----------
    w_shards : sequence of array
        By rank.
    layers : sequence of Layer or None
        Those of the model, of each of which a shard has a part; None where a shard is one piece of
        the flat vector, as in stage 1.

    Returns
    -------
    array, shape (n_parameters,)
        The whole.
    """
    if layers is None:
        return np.concatenate(list(w_shards))
    w = np.empty(layers[-1].part.stop, w_shards[0].dtype)
    for own, w_shard in zip(shards_by_layer(layers, len(w_shards)), w_shards, strict=True):
        unpack(w_shard, own, w)
    return w
