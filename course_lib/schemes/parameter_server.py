"""The synchronous parameter server: one rank keeps the model, the others compute gradients."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training, partial_gradient

__all__ = ["parameter_server", "serve", "work"]

SERVER = 0


def parameter_server(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train with the model on rank 0: gradients go in, new parameters come out.

    In every step each worker fetches the parameters, computes the gradient over its part of the
    batch and pushes it. The server waits for all of them, adds up, and takes the step. Its network
    NIC sees every byte; that is what the other schemes are about.

    Notes
    -----
    Cost of one step, for W = P - 1 workers and n bytes of parameters: 2 rounds; W messages and W n
    bytes out of the server's NIC, and as many into it. After the last step the server sends W n
    bytes more, so that all ranks end with the model.

    Invariant: all workers compute at the parameters of the same step.

    References
    ----------
    M. Li, D. G. Andersen, J. W. Park et al., "Scaling distributed machine learning with the
    parameter server", OSDI 2014.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    if comm.size < 2:
        raise ValueError("a dedicated server needs a worker: workers must be 2 or more, got 1")
    if comm.rank == SERVER:
        return serve(comm, model, len(y), plan, optimizer)
    return work(comm, model, X, y, plan)


def serve(
    comm: Communicator, model: Model, n_examples: int, plan: Plan, optimizer: Optimizer = SGD
) -> Training:
    """Keep the model: hand it out, add up the gradients, take the step."""
    workers = range(1, comm.size)
    w = model.initial(plan.seed)
    sgd = optimizer(w, plan)
    losses = []
    for _ in plan.shares(n_examples, w=w):
        for dst in workers:
            comm.send(w, dst, tag="parameters")
        comm.note("loss_partial", 0.0)  # it computes nothing of the loss
        losses.append(0.0)
        total = w * 0
        for src in workers:  # in rank order, so that every run rounds alike
            comm.recv(src, out=total, op="sum", tag="gradient")
        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(total)
    for dst in workers:
        comm.send(w, dst, tag="parameters")
    return Training(w, losses)


def work(comm: Communicator, model: Model, X: Array, y: Array, plan: Plan) -> Training:
    """Fetch the model, compute the gradient over this worker's part of the batch, push it."""
    w = model.initial(plan.seed)  # as long as the server's, which every fetch puts in its place
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank - 1, comm.size - 1):
        comm.recv(SERVER, out=w, tag="parameters")
        batch = X[examples], y[examples]
        with comm.compute("gradient", flops=model.flops(batch)):
            loss, grad = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        comm.send(grad, SERVER, tag="gradient")
    comm.recv(SERVER, out=w, tag="parameters")
    return Training(w, losses)
