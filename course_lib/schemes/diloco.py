"""DiLoCo: train alone for long, then take one step along the way that all have come together."""

from collections.abc import Callable

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import AdamW, Optimizer, Plan, Training, check_finite, check_training
from course_lib.training.checking import check_outer

__all__ = ["diloco"]


def diloco(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, every: int = 500,
    outer_rate: float = 0.7, outer_momentum: float = 0.9,
    allreduce: Callable[..., Array] = allreduce_ring, optimizer: Optimizer = AdamW,
) -> Training:  # fmt: skip
    """Let every rank take many steps of its own, and treat what they come to as one gradient.

    The *outer gradient* is how far the ranks have come on average: the old parameters minus the
    mean of the new ones. Along it the old parameters take a step with Nesterov's momentum, and from
    there all go on. Models of steps left over at the end, too few for an outer one, are averaged.

    With ``outer_rate=1`` and ``outer_momentum=0`` the step leads to the mean, which is
    ``local_sgd``; with ``every=1``, SGD and equal shares as well, it is ``data_parallel``.

    Parameters
    ----------
    every : int, default: 500
        How many inner steps lie between two outer ones, H; 1 or more.
    outer_rate, outer_momentum : float, default: 0.7 and 0.9
        Of the outer steps; above 0, and from 0 to below 1.

    Notes
    -----
    Cost: an all-reduce of n bytes after every ``every`` steps, and after the last one, for n = the
    bytes of the parameters. Before the first step: a broadcast of n bytes.

    Invariant: after every outer step all ranks hold the same parameters and the same outer
    momentum, bit for bit; each keeps an inner optimizer of its own.

    References
    ----------
    A. Douillard, Q. Feng, A. A. Rusu et al., "DiLoCo: Distributed low-communication training of
    language models", arXiv:2311.08105, 2023, algorithm 1.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer, allreduce=allreduce)
    check_outer(every, outer_rate, outer_momentum)
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    inner = optimizer(w, plan)
    w_outer = plan.keep(w + 0)
    velocity = plan.keep(w * 0)
    losses = []
    is_together = True
    shares = plan.shares(len(y), comm.rank, comm.size, w)
    steps_before = plan.first_epoch * plan.steps_per_epoch(len(y))
    for step, (examples, weight) in enumerate(shares, start=steps_before + 1):
        batch = X[examples], y[examples]
        loss = 0.0
        if weight:
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, grad = model.gradient(w, batch)
            check_finite(loss, step - 1, plan.learning_rate)
            with comm.compute("update", flops=2.0 * model.n_parameters):
                inner.step(grad)
        comm.note("loss_partial", weight * loss)
        losses.append(weight * loss)
        is_together = step % every == 0
        if is_together:
            outer_grad = w_outer - w
            allreduce(comm, outer_grad, out=outer_grad)
            with comm.compute("outer update", flops=7.0 * model.n_parameters):
                outer_grad /= comm.size
                velocity *= outer_momentum
                velocity += outer_grad
                w_outer -= outer_rate * (outer_grad + outer_momentum * velocity)  # Nesterov
                w[...] = w_outer
    if not is_together:
        allreduce(comm, w, out=w)
        w /= comm.size
    return Training(w, losses)
