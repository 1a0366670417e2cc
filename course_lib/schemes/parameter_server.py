"""The synchronous parameter server: one rank keeps the model, the others compute gradients."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, partial_gradient

__all__ = ["parameter_server"]

SERVER = 0


def parameter_server(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, dedicated: bool = True,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train with the model on rank 0: gradients go in, new parameters come out.

    In every step each worker fetches the parameters, computes the gradient over its part of the
    batch and pushes it. The server waits for all of them, adds up, and takes the step. Its network
    card sees every byte; that is what the other schemes are about.

    Parameters
    ----------
    dedicated : bool, default: True
        Whether the server only serves, so that ranks 1 to P - 1 are the workers (two ranks at
        least). If not, rank 0 is a worker as well.

    Notes
    -----
    Cost of one step, for W workers on other ranks (P - 1 of them, dedicated or not) and n bytes of
    parameters: 2 rounds; W messages and W n bytes out of the server's card, and as many into it.
    After the last step the server sends W n bytes more, so that all ranks end with the model.

    Invariant: all workers compute at the parameters of the same step.

    References
    ----------
    M. Li, D. G. Andersen, J. W. Park et al., "Scaling distributed machine learning with the
    parameter server", OSDI 2014.
    """
    workers = range(1, comm.size)
    if dedicated and not workers:
        raise ValueError("a dedicated server needs a worker: workers must be 2 or more, got 1")
    first_worker = 1 if dedicated else 0
    is_worker = comm.rank >= first_worker
    number, n_workers = max(comm.rank - first_worker, 0), comm.size - first_worker

    w = model.initial(plan.seed)  # only the server's counts: the others fetch it
    sgd = optimizer(w, plan)
    losses = []
    for examples, weight in plan.shares(len(y), number, n_workers):
        _fetch(comm, w)
        loss, total = 0.0, w * 0
        if is_worker:
            batch = X[examples], y[examples]
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, total = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        if comm.rank != SERVER:
            comm.send(total, SERVER, tag="gradient")
            continue
        for src in workers:  # in rank order, so that every run rounds alike
            comm.recv(src, out=total, op="sum", tag="gradient")
        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(total)
    _fetch(comm, w)
    return Training(w, losses)


def _fetch(comm: Communicator, w: Array) -> None:
    """Let everybody have the server's parameters."""
    if comm.rank != SERVER:
        comm.recv(SERVER, out=w, tag="parameters")
    else:
        for dst in range(1, comm.size):
            comm.send(w, dst, tag="parameters")
