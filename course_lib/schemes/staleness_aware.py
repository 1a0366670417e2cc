"""Staleness-aware asynchronous SGD: the older a gradient's parameters, the shorter its step."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.schemes.downpour import work
from course_lib.schemes.replicas import Replicas
from course_lib.training import SGD, Lots, Optimizer, Plan, Training, check_training
from course_lib.training.divergence import warn_past_edge
from course_lib.training.shards import shards_evenly

__all__ = ["serve", "staleness_aware"]

SERVER = 0


def staleness_aware(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, optimizer: Optimizer = SGD
) -> Training:
    """Train as ``downpour`` does, with the learning rate divided by each gradient's staleness.

    A gradient that is stale by one update or none has the plan's rate. Instead of the rate the
    gradient is divided, which for SGD without momentum is the same.

    Notes
    -----
    Cost: that of ``downpour``.

    References
    ----------
    W. Zhang, S. Gupta, X. Lian and J. Liu, "Staleness-aware async-SGD for distributed deep
    learning", arXiv:1511.05950, 2015.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    if comm.size < 2:
        raise ValueError("a server needs a replica: workers must be 2 or more, got 1")
    lots = Lots(plan, len(y))
    if comm.rank == SERVER and optimizer is SGD:
        warn_past_edge(model, X, plan, comm.size - 1, "by staleness")
    if comm.rank == SERVER:
        return serve(comm, model, lots, optimizer)
    return work(comm, model, X, y, lots, shards_evenly(model.n_parameters, 1))


def serve(comm: Communicator, model: Model, lots: Lots, optimizer: Optimizer = SGD) -> Training:
    """Answer whoever asks; step with whatever comes, shorter if it comes late."""
    w = model.initial(lots.plan.seed)
    sgd = optimizer(w, lots.plan)
    replicas = Replicas(comm, lots, range(1, comm.size))
    version_of = [0] * comm.size
    for version in lots.walk(w):
        src, message = replicas.receive()
        while len(message) == 0:  # no gradient: it asks for the parameters
            replicas.send(w, src, tag="parameters")
            version_of[src] = version
            src, message = replicas.receive()
        staleness = version - version_of[src]
        comm.note("staleness", staleness)
        with comm.compute("update", flops=3.0 * model.n_parameters):
            message /= max(staleness, 1)
            sgd.step(message, norm=0.0)  # replicas have clipped
        if model.n_parameters == 2:
            comm.note("w", w)  # a point that can be drawn
        replicas.deal(src)
    replicas.see_off(w)
    return Training(w, lots.losses)
