"""Downpour SGD: replicas fetch, compute and push at their own pace; nobody waits for another."""

from collections.abc import Sequence

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.schemes.replicas import Replicas, say_again
from course_lib.schemes.sharded_parameter_server import share_out
from course_lib.training import SGD, Lots, Optimizer, Plan, Training, check_plan, check_training
from course_lib.training.clipping import clip
from course_lib.training.divergence import check_finite, warn_past_edge
from course_lib.training.shards import Shard, pack, shards_evenly, unpack
from course_lib.words.whole import whole

__all__ = ["downpour", "serve", "work"]


def downpour(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    shards: Sequence[Shard] | None = None, n_fetch: int = 1, n_push: int = 1, warm_start: int = 0,
    push_returns: bool = False, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train with servers that take a step as soon as any replica has pushed a gradient.

    A push is answered with the next *lot*: the batches of a push, which nobody else has.

    Parameters
    ----------
    shards : sequence of list of slice or None, default: None
        What each server keeps, from rank 0 on; None: rank 0 everything. No shard waits for another.
    n_fetch, n_push : int, default: 1
        After how many batches a replica fetches, or pushes the sum; between it steps by itself.
    warm_start : int, default: 0
        How many pushes the first replica makes before the others begin.
    push_returns : bool, default: False
        Answer a push with the new parameters, so that no other comes between push and fetch.

    Notes
    -----
    Cost of a push: n bytes, and 8 back; of a fetch: n bytes back. Mean staleness with W replicas:
    W - 1 where pushes return, less an edge term, whatever the times; else less.
    Invariant: a batch is computed once; each server steps once with its part of every push.

    References
    ----------
    J. Dean et al., "Large scale distributed deep networks", NeurIPS 2012; with ``Adagrad``.
    """
    model = check_training(model, X, y, plan)
    parts = shards_evenly(model.n_parameters, 1) if shards is None else shards
    _check(comm.size, plan, parts, n_fetch, n_push, warm_start, push_returns)
    check_survival(comm, len(parts), push_returns)
    lots = Lots(plan, len(y), n_push)
    if comm.rank == 0 and optimizer is SGD:
        warn_past_edge(model, X, plan, comm.size - len(parts))
    if comm.rank < len(parts):
        return serve(comm, model, lots, parts, warm_start, push_returns, optimizer)
    return work(comm, model, X, y, lots, parts, n_fetch, push_returns, warm_start)


def serve(
    comm: Communicator, model: Model, lots: Lots, shards: Sequence[Shard], warm_start: int = 0,
    push_returns: bool = False, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Keep a shard: answer whoever asks for it, step with whatever comes."""
    own, first = shards[comm.rank], len(shards)
    w = model.initial(lots.plan.seed)
    kept = pack(w, own)
    sgd = optimizer(kept, lots.plan)
    replicas = Replicas(comm, lots, range(first, comm.size), warm_start)
    version_of = [0] * comm.size  # how many updates were in the parameters that each has read
    for version in lots.walk(kept) if own else ():
        only = first if version < warm_start else None
        src, message = replicas.receive(only)
        while len(message) == 0:  # no gradient: it asks for the parameters
            replicas.send(kept, src, tag="parameters")
            version_of[src] = version
            src, message = replicas.receive(only)
        comm.note("staleness", version - version_of[src])
        with comm.compute("update", flops=2.0 * len(kept)):
            sgd.step(message, norm=0.0)  # replicas have clipped: they know the whole gradient
        if len(kept) == model.n_parameters == 2:
            comm.note("w", kept)  # a point that can be drawn
        if comm.rank == dealer(shards):
            replicas.deal(src)
        if push_returns:
            comm.send(kept, src, tag="parameters")
            version_of[src] = version + 1
    unpack(kept, own, w)
    if comm.survives:
        replicas.see_off(w)
        return Training(w, lots.losses)
    comm.barrier()  # else a server that still steps would take another's shard for a push
    share_out(comm, shards, w)
    return Training(w, lots.losses)


def work(
    comm: Communicator, model: Model, X: Array, y: Array, lots: Lots, shards: Sequence[Shard],
    n_fetch: int = 1, push_returns: bool = False, warm_start: int = 0,
) -> Training:  # fmt: skip
    """Compute the batches of one lot after the other; between them are those of others."""
    plan, number = lots.plan, comm.rank - len(shards)
    w = model.initial(plan.seed)  # as long as the servers'; every fetch replaces it
    first_lot = warm_start + number if number else 0
    say_again(comm, dealer(shards))
    mine = lots.steps(first_lot if not comm.incarnation else next_lot(comm, shards))
    begin, end = lots.steps(0).start, lots.steps(len(lots)).start
    accrued, n_done = w, 0
    losses: list[float] = []
    for step, examples in lots.batches():
        if mine.start >= end == begin + len(losses):
            break
        loss = 0.0
        if step in mine:
            if n_done == 0 or (n_done % n_fetch == 0 and not push_returns):
                fetch(comm, shards, w)
            batch = X[examples], y[examples]
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, grad = model.gradient(w, batch)
            check_finite(loss, step, plan.learning_rate)
            accrued = grad if step == mine.start else accrued + grad
            n_done += 1
            if n_fetch > 1:
                w -= plan.rate(step) * grad  # until the next fetch replaces it
            if step + 1 == mine.stop:
                clip(accrued, plan.clip)
                mine = lots.steps(push(comm, shards, accrued, w if push_returns else None))
        if step == begin + len(losses):
            comm.note("loss_partial", loss)
            losses.append(loss)
        elif loss:  # of a lot that a replica had lost
            losses[step - begin] = loss
    if comm.survives:
        comm.recv(dealer(shards), out=w, tag="parameters")
    else:
        comm.barrier()
        share_out(comm, shards, w)
    return Training(w, losses)


def fetch(comm: Communicator, shards: Sequence[Shard], w: Array) -> None:
    """Ask all servers for their shards, then take them."""
    servers = [rank for rank, shard in enumerate(shards) if shard]
    for dst in servers:
        comm.send(w[:0], dst, tag="fetch")
    for src in servers:
        unpack(comm.recv(src, tag="parameters"), shards[src], w)


def push(comm: Communicator, shards: Sequence[Shard], grad: Array, w: Array | None) -> int:
    """Send all servers their parts of a gradient; return which lot is next.

    With ``w`` the new parameters are put there. All parts are sent before anything is waited for,
    and servers are listened to in their order: so none waits for one that waits for it.
    """
    servers = [rank for rank, shard in enumerate(shards) if shard]
    going = [comm.isend(pack(grad, shards[dst]), dst, tag="gradient") for dst in servers]
    lot = next_lot(comm, shards)
    if w is not None:
        for src in servers:
            unpack(comm.recv(src, tag="parameters"), shards[src], w)
    for pending in going:
        pending.wait()
    return lot


def next_lot(comm: Communicator, shards: Sequence[Shard]) -> int:
    """Receive which lot is next; a number past the last is the end."""
    return int(comm.recv(dealer(shards), tag="lot")[0])


def dealer(shards: Sequence[Shard]) -> int:
    """Name the server that deals the lots: the first that has a shard."""
    return next(rank for rank, shard in enumerate(shards) if shard)


def check_survival(comm: Communicator, n_servers: int = 1, push_returns: bool = False) -> None:
    """Refuse what cannot go on without a lost rank, in a run that shall."""
    if comm.survives and n_servers > 1:
        raise ValueError(f"shards must be 1 where the run has survive=True; got {n_servers}")
    if comm.survives and push_returns:
        raise ValueError("push_returns must be False where the run has survive=True; got True")


def _check(
    size: int, plan: Plan, shards: Sequence[Shard], n_fetch: int, n_push: int, warm_start: int,
    push_returns: bool,
) -> None:  # fmt: skip
    """Refuse what cannot be done, by name."""
    whole("n_fetch", n_fetch, least=1)
    whole("n_push", n_push, least=1)
    whole("warm_start", warm_start, least=0)
    if push_returns and n_fetch != n_push:
        raise ValueError(
            f"n_fetch must be n_push={n_push} where push_returns, as a push is a fetch then; "
            f"got {n_fetch}"
        )
    if not 1 <= len(shards) < size:
        raise ValueError(
            f"shards must be from 1 to {size - 1} of {size} ranks, so that a replica is left; "
            f"got {len(shards)}"
        )
    if len(shards) > 1:
        check_plan(plan, "downpour in shards", "on_epoch")  # no rank holds the model then
