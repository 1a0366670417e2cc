"""Parameter averaging (local SGD): train alone for a while, then take the mean of the models."""

from collections.abc import Callable

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.divergence import check_finite
from course_lib.words.whole import whole

__all__ = ["parameter_averaging"]


def parameter_averaging(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, every: int = 1,
    allreduce: Callable[..., Array] = allreduce_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Let every rank take steps of its own, and replace all models by their mean now and then.

    With equal shares and ``every=1`` this is data-parallel SGD: the mean of steps from one place is
    the step along the mean gradient, and the mean of momenta is the momentum of the mean. With more
    steps between two averages it is another algorithm, that sends less. A step whose batch leaves a
    rank without an example is no step for it.

    Parameters
    ----------
    every : int, default: 1
        How many steps lie between two averages, 1 or more; there is one after the last step, too.

    Notes
    -----
    Cost: an all-reduce of n bytes after every ``every`` steps, for n = the bytes of the parameters.
    Before the first step: a broadcast of n bytes.

    Invariant: after every average all ranks hold the same parameters, bit for bit; each keeps a
    momentum of its own.

    References
    ----------
    S. U. Stich, "Local SGD converges fast and communicates little", International Conference on
    Learning Representations, 2019.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer, allreduce=allreduce)
    whole("every", every, least=1)
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    sgd = optimizer(w, plan)
    losses = []
    is_averaged = True
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
                sgd.step(grad)
        if model.n_parameters == 2:
            comm.note("w", w)  # a point that can be drawn
        comm.note("loss_partial", weight * loss)
        losses.append(weight * loss)
        is_averaged = step % every == 0
        if is_averaged:
            allreduce(comm, w, out=w)
            w /= comm.size
            if model.n_parameters == 2:
                comm.note("w", w)
    if not is_averaged:
        allreduce(comm, w, out=w)
        w /= comm.size
        if model.n_parameters == 2:
            comm.note("w", w)
    return Training(w, losses)
