"""The parameter server without a rank of its own: the one that keeps the model works as well."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training, partial_gradient

__all__ = ["parameter_server_on_worker"]

SERVER = 0


def parameter_server_on_worker(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train with the model on rank 0, which computes a part of the gradient like everybody else.

    For as many workers it needs one rank less than ``parameter_server``, and what the server
    computes itself does not cross its NIC. It is ``map_reduce`` for any model and for
    mini-batches.

    Notes
    -----
    Cost of one step, for P workers and n bytes of parameters: 2 rounds; P - 1 messages and (P-1) n
    bytes out of the server's NIC, and as many into it. After the last step the server sends
    (P-1) n bytes more, so that all ranks end with the model.

    Invariant: all workers compute at the parameters of the same step.

    References
    ----------
    M. Li, D. G. Andersen, J. W. Park et al., "Scaling distributed machine learning with the
    parameter server", OSDI 2014.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    w = model.initial(plan.seed)  # only the server's counts: the others fetch it
    sgd = optimizer(w, plan)
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size, w):
        hand_out(comm, w)
        batch = X[examples], y[examples]
        with comm.compute("gradient", flops=model.flops(batch)):
            loss, grad = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        if comm.rank != SERVER:
            comm.send(grad, SERVER, tag="gradient")
        else:
            for src in range(1, comm.size):  # in rank order, so that every run rounds alike
                comm.recv(src, out=grad, op="sum", tag="gradient")
            with comm.compute("update", flops=2.0 * model.n_parameters):
                sgd.step(grad)
    hand_out(comm, w)
    return Training(w, losses)


def hand_out(comm: Communicator, w: Array) -> None:
    """Let everybody have the server's parameters."""
    if comm.rank != SERVER:
        comm.recv(SERVER, out=w, tag="parameters")
    else:
        for dst in range(1, comm.size):
            comm.send(w, dst, tag="parameters")
