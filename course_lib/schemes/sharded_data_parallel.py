"""Data-parallel SGD with a shard of the optimizer on every rank: ZeRO, stage 1."""

from collections.abc import Callable
from functools import partial

from course_lib.collectives import allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training, norm_of_all
from course_lib.training.held import numbers_held
from course_lib.training.plan import partial_gradient
from course_lib.training.shards import pack, shards_evenly

__all__ = ["sharded_data_parallel"]


def sharded_data_parallel(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    reduce_scatter: Callable[..., Array] = reduce_scatter_ring,
    allgather: Callable[..., Array] = allgather_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train on all ranks together; each takes the step for its shard of the parameters only.

    An all-reduce is a reduce-scatter and an all-gather. Between the two every rank holds its part
    of the sum: all it needs to update its part of the parameters. So what an optimizer keeps is
    kept once and not P times, and what is gathered is parameters: a server on every rank.

    Parameters
    ----------
    reduce_scatter, allgather : callable, default: those on a ring
        Both cut by ``split_evenly``, as ``shards_evenly`` does.

    Notes
    -----
    Cost of one step: that of the two collectives; on rings 2(P-1) rounds and 2(P-1)/P n bytes each
    way, for n = the bytes of the parameters. Before the first step: one all-gather more. A plan
    that clips adds an all-reduce of one number. Numbers held, for Q parameters and K of state for
    each, noted as ``"numbers_held"``: 2Q + K Q/P, where the shard that is stepped counts as state;
    the peak is higher, as the last step's gradient is still there while the next one is made.

    Invariant: at the start of every step all ranks hold the same parameters, bit for bit.

    References
    ----------
    S. Rajbhandari, J. Rasley, O. Ruwase and Y. He, "ZeRO: Memory optimizations toward training
    trillion parameter models", SC 2020.
    """
    model = check_training(
        model, X, y, plan, optimizer=optimizer, reduce_scatter=reduce_scatter, allgather=allgather
    )
    own = shards_evenly(model.n_parameters, comm.size)[comm.rank]
    w_shard = pack(model.initial(plan.seed), own)  # shape (n/P,)
    sgd = optimizer(w_shard, plan)
    w = allgather(comm, w_shard)
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size, w):
        batch = X[examples], y[examples]
        with comm.compute("gradient", flops=model.flops(batch)):
            loss, grad = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        grad_shard = reduce_scatter(comm, grad)  # shape (n/P,), of the sum
        norm = norm_of_all(plan, grad_shard, partial(allreduce_ring, comm))
        with comm.compute("update", flops=2.0 * len(w_shard)):
            sgd.step(grad_shard, norm)
        comm.note("numbers_held", numbers_held(w, grad, sgd))
        w[...] = allgather(comm, w_shard)
    return Training(w, losses)
