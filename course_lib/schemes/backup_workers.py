"""Backup workers: synchronous training that does not wait for the last to come."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RankLost
from course_lib.models.model import Array, Model
from course_lib.schemes.replicas import is_again, refuse_again, say_again
from course_lib.training import SGD, Optimizer, Plan, Training, check_training, partial_gradient
from course_lib.training.divergence import check_finite
from course_lib.words.split import split_evenly
from course_lib.words.whole import whole

__all__ = ["backup_workers", "check_backups", "serve", "work"]

SERVER = 0


def backup_workers(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    backups: int = 1, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train as ``parameter_server`` does, but take each step with the first gradients that come.

    Of W workers, W - ``backups`` are enough; the step goes along the mean over their examples. A
    later gradient is dropped, and who sent it goes on with the step under way: none is ever stale.

    Parameters
    ----------
    backups : int, default: 1
        For how many workers no step waits; 0 is ``parameter_server``.

    Notes
    -----
    Cost of one step: that of ``parameter_server`` at most, and 8 bytes to each worker, the step's
    number. Its time: ``course_lib.costs.backup_step``. The server notes how many gradients were
    ``"dropped"`` in each step. After the last one it waits for those that still compute.

    Invariant: every gradient of a step was computed at the parameters of that step.

    References
    ----------
    J. Chen et al., "Revisiting distributed synchronous SGD", arXiv:1604.00981, 2016.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    check_backups(comm.size, backups)
    if comm.rank == SERVER:
        return serve(comm, model, len(y), plan, backups, optimizer)
    return work(comm, model, X, y, plan)


def serve(
    comm: Communicator, model: Model, n_examples: int, plan: Plan, backups: int,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Hand out the model to whoever is free; step when enough gradients are there."""
    refuse_again(comm)
    workers = range(1, comm.size)
    w = model.initial(plan.seed)
    sgd = optimizer(w, plan)
    free, step_of, losses = list(workers), {}, []
    for step, (examples, _) in enumerate(plan.shares(n_examples, w=w)):
        in_time: dict[int, Array] = {}
        n_dropped = 0
        while len(in_time) < len(workers) - backups:
            for dst in free:
                hand_out(comm, step, w, dst)
                step_of[dst] = step
            src, grad = comm.recv_any()
            if src in in_time:  # it was started again: it gets the next step with the others
                free = []
            elif step_of[src] == step and not is_again(grad):
                in_time[src], free = grad, []
            else:  # it comes too late, or was lost, and goes on with this step
                free, n_dropped = [src], n_dropped + 1
        comm.note("dropped", n_dropped)
        comm.note("loss_partial", 0.0)  # it computes nothing of the loss
        losses.append(0.0)
        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(mean(in_time, split_evenly(len(examples), len(workers)), w))
        if model.n_parameters == 2:
            comm.note("w", w)  # a point that can be drawn
        free = list(in_time)
    for src in set(workers) - set(free):  # they still compute
        wait_for(comm, src)
    for dst in workers:
        hand_out(comm, len(losses), w, dst)
    return Training(w, losses)


def work(comm: Communicator, model: Model, X: Array, y: Array, plan: Plan) -> Training:
    """Compute the gradient of the step that the server names; pass over those in between."""
    w = model.initial(plan.seed)  # as long as the server's
    losses = []
    say_again(comm, SERVER)
    current = take_over(comm, w)
    shares = plan.shares(len(y), comm.rank - 1, comm.size - 1)
    steps_before = plan.first_epoch * plan.steps_per_epoch(len(y))
    for step, (examples, weight) in enumerate(shares):
        loss = 0.0
        if step == current:
            batch = X[examples], y[examples]
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, grad = partial_gradient(model, w, batch, weight)
            check_finite(loss, steps_before + step, plan.learning_rate)
            comm.send(grad, SERVER, tag="gradient")
            current = take_over(comm, w)
        comm.note("loss_partial", loss)
        losses.append(loss)
    return Training(w, losses)


def hand_out(comm: Communicator, step: int, w: Array, dst: int) -> None:
    """Tell a worker which step it is, and give it the parameters; if it is lost, go on."""
    with suppress(RankLost):
        comm.send(np.array([step]), dst, tag="step")
        comm.send(w, dst, tag="parameters")


def wait_for(comm: Communicator, src: int) -> None:
    """Receive what a worker sends last, if it is not lost for good."""
    for _ in range(2):  # told of its loss once, and again where it does not come back
        with suppress(RankLost):
            comm.recv(src)
            return


def take_over(comm: Communicator, w: Array) -> int:
    """Receive parameters; return of which step they are, past the last one at the end."""
    step = comm.recv(SERVER, tag="step")
    comm.recv(SERVER, out=w, tag="parameters")
    return int(step[0])


def mean(partial: dict[int, Array], parts: Sequence[slice], w: Array) -> Array:
    """Add up parts of a batch's gradient, weighed as if they were all of it."""
    total = w * 0
    for src in sorted(partial):  # in rank order, so that every run rounds alike
        total += partial[src]
    n_there = sum(parts[src - 1].stop - parts[src - 1].start for src in partial)
    total *= parts[-1].stop / max(n_there, 1)  # the last batch may have been too small for all
    return total


def check_backups(size: int, backups: int) -> None:
    """Refuse what leaves nobody to wait for."""
    if size < 2:
        raise ValueError(f"a server needs a worker: workers must be 2 or more, got {size}")
    whole("backups", backups, least=0)
    if backups >= size - 1:
        raise ValueError(
            f"backups must be less than the {size - 1} workers, so that a step waits for one; "
            f"got {backups}"
        )
