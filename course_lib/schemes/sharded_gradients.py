"""Data-parallel SGD with a shard of the optimizer and of the gradient on every rank: ZeRO 2."""

from collections.abc import Callable
from functools import partial

from course_lib.collectives import allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training, norm_of_all
from course_lib.training.held import numbers_held
from course_lib.training.layers import PartialPasses
from course_lib.training.shards import pack, places, shards_by_layer, split_evenly

__all__ = ["sharded_gradients"]


def sharded_gradients(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    reduce_scatter: Callable[..., Array] = reduce_scatter_ring,
    allgather: Callable[..., Array] = allgather_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train as ``sharded_data_parallel`` does, and keep no more of the gradient than one's shard.

    Who takes the step for a shard needs the gradient of that shard. So every layer's gradient is
    summed and sharded as soon as back-propagation has found it, and what belongs to others is
    forgotten. A rank keeps its part of every layer, and the whole gradient of one layer at a time.

    Parameters
    ----------
    reduce_scatter, allgather : callable, default: those on a ring
        Both cut by ``split_evenly``, as ``shards_by_layer`` does.

    Notes
    -----
    Cost of one step: a reduce-scatter and an all-gather for each layer; on rings 2(P-1) rounds a
    layer and 2(P-1)/P n bytes each way, for n = the bytes of the parameters. Before the first one:
    the all-gathers once more. A plan that accumulates sums and shards each part's gradient.

    Numbers held, for Q parameters and K of state for each, where the stepped shard is state: Q +
    Q/P + K Q/P, noted as ``"numbers_held"``; and for a moment the gradient of a layer and its sum.

    Invariant: at the start of every step all ranks hold the same parameters, bit for bit.

    References
    ----------
    That of ``sharded_data_parallel``, section 5.2.
    """
    model = check_training(
        model, X, y, optimizer=optimizer, reduce_scatter=reduce_scatter, allgather=allgather
    )  # no plan: parts are cut below
    w = model.initial(plan.seed)
    own = shards_by_layer(model.layers, comm.size)[comm.rank]
    layers = list(zip(model.layers, places(own), strict=True))
    w_shard = pack(w, own)  # shape (Q/P,): a part of every layer
    grad_shard = w_shard * 0
    sgd = optimizer(w_shard, plan)
    for layer, place in layers:
        allgather(comm, w_shard[place], out=w[layer.part])
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size, w):
        losses.append(0.0)
        grad_shard[...] = 0
        for cut in split_evenly(len(examples), plan.accumulate):
            some = examples[cut]  # perhaps none: all ranks send as often
            share = weight * len(some) / max(len(examples), 1)
            passes = PartialPasses(comm.compute, model, w, (X[some], y[some]), share)
            for layer in model.layers:
                passes.forward(layer)
            losses[-1] += passes.loss()
            for layer, place in reversed(layers):  # what belongs to others is let go
                grad_shard[place] += reduce_scatter(comm, passes.backward(layer))
        comm.note("loss_partial", losses[-1])
        norm = norm_of_all(plan, grad_shard, partial(allreduce_ring, comm))
        with comm.compute("update", flops=2.0 * len(w_shard)):
            sgd.step(grad_shard, norm)
        comm.note("numbers_held", numbers_held(w, grad_shard, sgd))
        for layer, place in layers:
            allgather(comm, w_shard[place], out=w[layer.part])
    return Training(w, losses)
