"""Synchronous data-parallel SGD: everybody has the model, everybody has other examples."""

from collections.abc import Callable

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training, partial_gradient

__all__ = ["data_parallel"]


def data_parallel(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    allreduce: Callable[..., Array] = allreduce_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train on all ranks together, with one all-reduce of the gradient in every step.

    Every rank computes the gradient over its part of the batch, the parts are added up so that all
    ranks hold the gradient of the whole batch, and each takes the same step from the same place.

    Notes
    -----
    Cost of one step: that of the all-reduce, for n = the bytes of the parameters. Before the first
    one: a broadcast of n bytes.

    Invariant: at the start of every step all ranks hold the same parameters, bit for bit.

    References
    ----------
    D. Das, S. Avancha, D. Mudigere et al., "Distributed deep learning using synchronous stochastic
    gradient descent", arXiv:1602.06709, 2016.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer, allreduce=allreduce)
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    sgd = optimizer(w, plan)
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size, w):
        batch = X[examples], y[examples]
        with comm.compute("gradient", flops=model.flops(batch)):
            loss, grad = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        allreduce(comm, grad, out=grad)
        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(grad)
        if model.n_parameters == 2:
            comm.note("w", w)  # a point that can be drawn
        del grad  # so that the next one takes its place, which is mapped and in the cache
    return Training(w, losses)
