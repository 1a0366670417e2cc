"""Asynchronous parameter averaging: replicas train alone and now and then mix with a centre."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.schemes.replicas import Replicas, say_again
from course_lib.training import SGD, Lots, Optimizer, Plan, Stepper, Training, check_training
from course_lib.training.divergence import check_finite
from course_lib.words.real import real
from course_lib.words.whole import whole

__all__ = ["asynchronous_averaging", "check_mixing", "serve", "work"]

SERVER = 0


def asynchronous_averaging(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    every: int = 1, mixing: float | None = None, elastic: bool = False, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train replicas alone, and have a server mix each one's model into its own now and then.

    The server's model, the *centre*, moves towards that of the replica, which then goes on from the
    new centre (the algorithm of [1]). Or it is *elastic*: the replica moves towards the old centre
    by as much as the centre towards it, and keeps some distance (EASGD [2]).

    Parameters
    ----------
    every : int, default: 1
        How many batches a replica trains between two exchanges.
    mixing : float or None, default: None
        How much of the way they go, above 0 to 1; None: 1/W, so that W replicas count as one mean.
    elastic : bool, default: False
        Which of the two.

    Notes
    -----
    Cost of an exchange: n bytes into the server's NIC, and n + 8 out of it. Each replica has an
    optimizer of its own; the model that is trained is the centre.

    References
    ----------
    [1] C. Xie, S. Koyejo and I. Gupta, "Asynchronous federated optimization", arXiv:1903.03934,
    2019. [2] S. Zhang, A. Choromanska and Y. LeCun, "Deep learning with elastic averaging SGD",
    Advances in Neural Information Processing Systems 28, 2015.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    check_mixing(comm.size, every, mixing)
    lots, rate = Lots(plan, len(y), every), 1 / (comm.size - 1) if mixing is None else mixing
    if comm.rank == SERVER:
        return serve(comm, model, lots, rate, elastic, optimizer)
    return work(comm, model, X, y, lots, rate, elastic, optimizer)


def serve(
    comm: Communicator, model: Model, lots: Lots, mixing: float, elastic: bool = False,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Keep the centre: mix with whoever comes."""
    centre = model.initial(lots.plan.seed)
    kept = optimizer(centre, lots.plan)  # takes no step; checkpoints keep what an optimizer steps
    replicas = Replicas(comm, lots, range(1, comm.size))
    version_of = [0] * comm.size
    for version in lots.walk(centre):
        src, theirs = replicas.receive()
        while len(theirs) == 0:  # it was started again, and has no model yet
            replicas.send(centre, src, tag="centre")
            version_of[src] = version
            src, theirs = replicas.receive()
        comm.note("staleness", version - version_of[src])
        old = centre * 1.0 if elastic else centre
        with comm.compute("average", flops=3.0 * model.n_parameters):
            centre *= 1 - mixing
            centre += mixing * theirs
        if model.n_parameters == 2:
            comm.note("w", centre)  # a point that can be drawn
        version_of[src] = version + 1
        kept.n_steps = lots.steps(version).stop // (comm.size - 1)  # as many as a replica
        replicas.done(src)  # mixed in, also if it is lost before it has the centre
        if replicas.send(old, src, tag="centre"):
            replicas.deal(src)
    replicas.see_off(centre)
    return Training(centre, lots.losses)


def work(
    comm: Communicator, model: Model, X: Array, y: Array, lots: Lots, mixing: float,
    elastic: bool = False, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train on one lot after the other, and exchange models after each."""
    plan, account = lots.plan, lots.account(comm.note, is_numbered=comm.survives)
    w = model.initial(plan.seed)
    sgd = optimizer(w, plan)
    lot = _begin(comm, lots, w, sgd)
    while lot < len(lots):
        for step, examples in account.batches(lot):
            batch = X[examples], y[examples]
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, grad = model.gradient(w, batch)
            account.enter(step, check_finite(loss, step, plan.learning_rate))
            with comm.compute("update", flops=2.0 * model.n_parameters):
                sgd.step(grad)
        comm.send(w, SERVER, tag="model")
        centre = comm.recv(SERVER, tag="centre")
        w[...] = (1 - mixing) * w + mixing * centre if elastic else centre
        lot = int(comm.recv(SERVER, tag="lot")[0])
    losses = account.close()
    if not comm.survives:
        comm.barrier()
    comm.recv(SERVER, out=w)
    return Training(w, losses)


def _begin(comm: Communicator, lots: Lots, w: Array, sgd: Stepper) -> int:
    """Return which lot is first; who was started again takes over the centre."""
    lot = comm.rank - 1
    if comm.incarnation:
        say_again(comm, SERVER)
    elif lot < len(lots) or not comm.survives:
        return lot
    lot = int(comm.recv(SERVER, tag="lot")[0])  # there may be one of somebody who is lost
    if lot < len(lots):
        comm.send(w[:0], SERVER, tag="fetch")
        w[...] = comm.recv(SERVER, tag="centre")
    sgd.n_steps = lots.steps(lot).start // (comm.size - 1)
    return lot


def check_mixing(size: int, every: int, mixing: float | None) -> None:
    """Refuse what cannot be done, by name."""
    if size < 2:
        raise ValueError(f"a server needs a replica: workers must be 2 or more, got {size}")
    whole("every", every, least=1)
    if mixing is not None:
        real("mixing", mixing)
    if mixing is not None and not 0 < mixing <= 1:
        raise ValueError(f"mixing must be above 0 and 1 or less, or None, got {mixing!r}")
