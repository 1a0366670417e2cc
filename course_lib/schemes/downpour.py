"""Downpour SGD: replicas fetch, compute and push at their own pace; nobody waits for another."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.schemes import surviving_servers
from course_lib.schemes.replicas import Replicas
from course_lib.schemes.sharded_parameter_server import share_out
from course_lib.training import SGD, KeepShards, Lots, Optimizer, Plan, Training, check_training
from course_lib.training.clipping import clip
from course_lib.training.divergence import check_finite, warn_past_edge
from course_lib.training.shards import Shard, dealer, pack, shards_evenly, unpack
from course_lib.training.whole_shards import check_shards
from course_lib.words.whole import whole

__all__ = ["downpour", "serve", "work"]


def downpour(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    shards: list[Shard] | None = None, n_fetch: int = 1, n_push: int = 1, warm_start: int = 0,
    push_returns: bool = False, keep: KeepShards | None = None, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train with servers that take a step as soon as any replica has pushed a gradient.

    Parameters
    ----------
    shards : list of list of slice or None, default: None
        What each server keeps, from rank 0 on; None: rank 0 everything. No shard waits for another.
    n_fetch, n_push : int, default: 1
        After how many batches a replica fetches, or pushes the sum; between it steps by itself.
    warm_start : int, default: 0
        How many pushes the first replica makes before the others begin.
    push_returns : bool, default: False
        Answer a push with the new parameters, so that no other comes between push and fetch.
    keep : KeepShards or None, default: None
        Where servers that are lost and come back find their shards; see ``KeepShards``.

    Notes
    -----
    Cost of a push: n bytes, 8 back; of a fetch: n bytes back. Mean staleness: W - 1 for W replicas
    where pushes return (less an edge term), else at most. Invariant: a push is one step of servers.

    References
    ----------
    J. Dean et al., "Large scale distributed deep networks", NeurIPS 2012; with ``Adagrad``.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    kept = shards_evenly(model.n_parameters, 1) if shards is None else shards
    parts = check_shards(kept, model.n_parameters, comm.size)
    _check(n_fetch, n_push, warm_start, push_returns)
    lots = Lots(plan, len(y), n_push)
    warm_start = max(0, warm_start - lots.n_before)  # a training that goes on has had them
    surviving_servers.check_servers(comm, lots, parts, push_returns, keep)
    if comm.rank == 0 and optimizer is SGD:
        warn_past_edge(model, X, plan, comm.size - len(parts))
    if comm.rank >= len(parts):
        is_numbered = comm.survives
        return work(comm, model, X, y, lots, parts, n_fetch, push_returns, warm_start, is_numbered)
    if comm.survives:
        return surviving_servers.serve(comm, model, lots, parts, keep, warm_start, optimizer)
    return serve(comm, model, lots, parts, warm_start, push_returns, optimizer)


def serve(
    comm: Communicator, model: Model, lots: Lots, shards: list[Shard], warm_start: int = 0,
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
    comm.barrier()  # else a server that still steps would take another's shard for a push
    share_out(comm, shards, w)
    return Training(w, lots.losses)


def work(
    comm: Communicator, model: Model, X: Array, y: Array, lots: Lots, shards: list[Shard],
    n_fetch: int = 1, push_returns: bool = False, warm_start: int = 0, is_numbered: bool = False,
) -> Training:  # fmt: skip
    """Compute one lot after the other, whichever a server deals to this replica, and push each."""
    plan, account = lots.plan, lots.account(comm.note, is_numbered=comm.survives)
    w = model.initial(plan.seed)  # as long as the servers'; every fetch replaces it
    lot, n_done = first_lot(comm, shards, warm_start, len(lots)), 0
    while lot < len(lots):
        accrued = None
        for step, examples in account.batches(lot):
            if n_done == 0 or (n_done % n_fetch == 0 and not push_returns):
                fetch(comm, shards, w, is_numbered)
            batch = X[examples], y[examples]
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, grad = model.gradient(w, batch)
            account.enter(step, check_finite(loss, step, plan.learning_rate))
            accrued = grad if accrued is None else accrued + grad
            n_done += 1
            if n_fetch > 1:
                w -= plan.rate(step) * grad  # until the next fetch replaces it
        clip(accrued, plan.clip)
        lot = push(comm, shards, accrued, w if push_returns else None, lot if is_numbered else None)
    losses = account.close()
    if comm.survives:
        surviving_servers.receive_model(comm, shards, w)
    else:
        comm.barrier()
        share_out(comm, shards, w)
    return Training(w, losses)


def first_lot(comm: Communicator, shards: list[Shard], warm_start: int, n_lots: int) -> int:
    """Return what a replica begins with: it knows, or is told if it was started again.

    Who finds nothing to do is told, too, where others may be lost and leave something.
    """
    if comm.incarnation:
        return surviving_servers.first_lot(comm, shards)
    number = comm.rank - len(shards)
    lot = warm_start + number if number else 0
    return surviving_servers.idle(comm, shards) if comm.survives and lot >= n_lots else lot


def fetch(comm: Communicator, shards: list[Shard], w: Array, is_numbered: bool = False) -> None:
    """Ask all servers for their shards, then take them."""
    if is_numbered:
        surviving_servers.fetch(comm, shards, w)
        return
    servers = [rank for rank, shard in enumerate(shards) if shard]
    for dst in servers:
        comm.send(w[:0], dst, tag="fetch")
    for src in servers:
        unpack(comm.recv(src, tag="parameters"), shards[src], w)


def push(
    comm: Communicator, shards: list[Shard], grad: Array, w: Array | None,
    number: int | None = None,
) -> int:  # fmt: skip
    """Send all servers their parts of a gradient; return which lot is next.

    With ``w`` the new parameters are put there. All parts are sent before anything is waited for,
    and servers are listened to in their order: so none waits for one that waits for it. With the
    number of the lot it can be sent again.
    """
    if number is not None:
        return surviving_servers.push(comm, shards, grad, number)
    servers = [rank for rank, shard in enumerate(shards) if shard]
    going = [comm.isend(pack(grad, shards[dst]), dst, tag="gradient") for dst in servers]
    lot = next_lot(comm, shards)
    if w is not None:
        for src in servers:
            unpack(comm.recv(src, tag="parameters"), shards[src], w)
    for pending in going:
        pending.wait()
    return lot


def next_lot(comm: Communicator, shards: list[Shard]) -> int:
    """Receive which lot is next; a number past the last is the end."""
    return int(comm.recv(dealer(shards), tag="lot")[0])


def _check(n_fetch: int, n_push: int, warm_start: int, push_returns: bool) -> None:
    """Refuse what cannot be done, by name."""
    whole("n_fetch", n_fetch, least=1)
    whole("n_push", n_push, least=1)
    whole("warm_start", warm_start, least=0)
    if push_returns and n_fetch != n_push:
        raise ValueError(
            f"n_fetch must be n_push={n_push} where push_returns, as a push is a fetch then; "
            f"got {n_fetch}"
        )
