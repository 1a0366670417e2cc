"""Bounded staleness (stale synchronous parallel): run ahead, but not too far."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.schemes.downpour import work
from course_lib.schemes.replicas import Replicas
from course_lib.training import SGD, Lots, Optimizer, Plan, Training, check_training
from course_lib.training.divergence import warn_past_edge
from course_lib.training.shards import shards_evenly
from course_lib.words.whole import whole

__all__ = ["bounded_staleness", "check_bound", "serve"]

SERVER = 0


def bounded_staleness(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    bound: int | None = 1, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train as ``downpour`` does, but let no replica be too many batches ahead of the slowest.

    A replica's *clock* says how often it has asked for parameters. Who asks and is more than
    ``bound`` ahead of somebody that still works gets no answer until that one has caught up; so it
    sees all that others have pushed up to ``bound + 1`` clocks ago.

    Parameters
    ----------
    bound : int or None, default: 1
        How many clocks. 0: all read the same parameters, as in synchronous training; None: no
        limit, which is ``downpour``.

    Notes
    -----
    Cost: that of ``downpour``. The server notes by how many clocks a reader leads: ``"lead"``. The
    clock of a lost replica counts no more; one that is started again begins where the slowest is.

    Invariant: who reads is ``bound`` clocks ahead of the slowest at most; who waits, one more.

    References
    ----------
    Q. Ho, J. Cipar, H. Cui et al., "More effective distributed ML via a stale synchronous parallel
    parameter server", Advances in Neural Information Processing Systems 26, 2013.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    check_bound(comm.size, bound)
    lots = Lots(plan, len(y))
    if comm.rank == SERVER and optimizer is SGD:
        warn_past_edge(model, X, plan, comm.size - 1, "stale" if bound != 0 else "together")
    if comm.rank == SERVER:
        return serve(comm, model, lots, bound, optimizer)
    return work(comm, model, X, y, lots, shards_evenly(model.n_parameters, 1))


def serve(
    comm: Communicator, model: Model, lots: Lots, bound: int | None, optimizer: Optimizer = SGD
) -> Training:
    """Step with whatever comes; answer who asks as soon as the slowest is near enough."""
    w = model.initial(lots.plan.seed)
    sgd = optimizer(w, lots.plan)
    clocks = dict.fromkeys(range(1, min(comm.size, 1 + len(lots))), 0)  # of who has work left
    version_of: dict[int, int] = {}
    waiting: list[int] = []

    def answer_who_may_read(version: int) -> None:
        for src in list(waiting):
            lead = clocks.get(src, 0) - min(clocks.values(), default=0)
            if src in waiting and (bound is None or lead <= bound):  # else it was lost meanwhile
                waiting.remove(src)
                replicas.send(w, src, tag="parameters")
                comm.note("lead", lead)
                version_of[src] = version

    def forget(lost: int) -> None:
        clocks.pop(lost, None)
        waiting[:] = [src for src in waiting if src != lost]
        answer_who_may_read(version)

    replicas = Replicas(comm, lots, range(1, comm.size), on_loss=forget)
    for version in lots.walk(w):
        src, message = replicas.receive(unanswered=waiting)
        while len(message) == 0:  # no gradient: it asks for the parameters
            clocks.setdefault(src, min(clocks.values(), default=0))  # it was started again
            clocks[src] += 1
            waiting.append(src)
            answer_who_may_read(version)
            src, message = replicas.receive(unanswered=waiting)
        comm.note("staleness", version - version_of[src])
        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(message, norm=0.0)  # replicas have clipped
        if model.n_parameters == 2:
            comm.note("w", w)  # a point that can be drawn
        version += 1  # who is answered from here on has read this update, too
        if replicas.deal(src) >= len(lots) and src in clocks:
            del clocks[src]  # it has no work left: nobody waits for it
            answer_who_may_read(version)
    replicas.see_off(w)
    return Training(w, lots.losses)


def check_bound(size: int, bound: int | None) -> None:
    """Refuse a bound that is none, and a run without replicas."""
    if bound is not None:
        whole("bound", bound, least=0, or_what=" or None")
    if size < 2:
        raise ValueError(f"a server needs a replica: workers must be 2 or more, got {size}")
