"""The parameter server in shards: every server keeps a part, so that no card carries everything."""

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, partial_gradient
from course_lib.training.shards import (
    Shard,
    pack,
    shards_by_name,
    shards_evenly,
    unpack,
)

__all__ = ["sharded_parameter_server"]


def sharded_parameter_server(
    comm: Communicator,
    model: Model,
    X: Array,
    y: Array,
    plan: Plan,
    servers: int = 2,
    dedicated: bool = True,
    balanced: bool = True,
    optimizer: Optimizer = SGD,
) -> Training:
    """Train with the model cut into shards, one on each of the first ``servers`` ranks.

    A worker fetches the parts of the model from their servers and pushes the parts of its gradient
    to them; a server updates its part when all workers have pushed. A server without a part is
    never spoken to.

    Parameters
    ----------
    servers : int, default: 2
        How many shards there are, on ranks 0 to ``servers - 1``.
    dedicated : bool, default: True
        Whether the servers only serve. If not, they are workers as well.
    balanced : bool, default: True
        Shards of equal length, or layers by the hash of their names.

    Notes
    -----
    Cost of one step, for W workers, S balanced servers and n bytes of parameters: W n/S bytes into
    a dedicated server's card and as many out. With shards on all P ranks 2(P-1)/P n bytes each way,
    as on a ring. After the last step every rank fetches the parameters once more.

    Invariant: all workers compute at the parameters of the same step.

    References
    ----------
    J. Dean, G. S. Corrado, R. Monga et al., "Large scale distributed deep networks", Advances in
    Neural Information Processing Systems 25, 2012.
    """
    first_worker = servers if dedicated else 0
    if not 1 <= servers <= comm.size or first_worker >= comm.size:
        raise ValueError(
            f"servers must be from 1 to {comm.size - 1 if dedicated else comm.size} of "
            f"{comm.size} ranks, so that a worker is left; got {servers}"
        )
    n_workers = comm.size - first_worker
    shards = (
        shards_evenly(model.n_parameters, servers)
        if balanced
        else shards_by_name(model.layers, servers)
    )
    own = shards[comm.rank] if comm.rank < servers else []
    w = model.initial(plan.seed)  # of each server only its own shard counts: the others fetch it
    kept = pack(w, own)
    sgd = optimizer(kept, plan)
    losses = []
    for examples, weight in plan.shares(len(y), max(comm.rank - first_worker, 0), n_workers):
        _fetch(comm, shards, kept, w, first_worker)
        loss, grad = 0.0, w * 0
        if comm.rank >= first_worker:
            batch = X[examples], y[examples]
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, grad = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        total = _push(comm, shards, grad, first_worker)
        with comm.compute("update", flops=2.0 * len(kept)):
            sgd.step(total)
    _fetch(comm, shards, kept, w, 0)
    return Training(w, losses)


def _fetch(
    comm: Communicator, shards: list[Shard], kept: Array, w: Array, first_reader: int
) -> None:
    """Let the ranks from ``first_reader`` on have all shards, each from its server."""
    own = shards[comm.rank] if comm.rank < len(shards) else []
    unpack(kept, own, w)
    for server, reader in _rounds(comm, len(shards), first_reader):
        outgoing = None if reader is None or not own else kept
        theirs = [] if server is None else shards[server]
        arrived = _exchange(comm, reader, outgoing, server if theirs else None)
        if theirs:
            unpack(arrived, theirs, w)


def _push(comm: Communicator, shards: list[Shard], grad: Array, first_worker: int) -> Array:
    """Give every server its part of the gradient; return the sum of what this one was given."""
    own = shards[comm.rank] if comm.rank < len(shards) else []
    total = pack(grad, own)
    for server, worker in _rounds(comm, len(shards), first_worker):
        theirs = [] if server is None else shards[server]
        outgoing = pack(grad, theirs) if theirs else None
        arrived = _exchange(comm, server, outgoing, worker if own else None)
        if arrived is not None:
            total += arrived
    return total


def _rounds(
    comm: Communicator, n_servers: int, first_worker: int
) -> list[tuple[int | None, int | None]]:
    """List, round by round, the server this worker talks to, and the worker this server talks to.

    In round k server s has worker s + k, modulo the larger number: nobody has two at a time, so
    all cards are busy and nobody waits in a circle. None where there is none but oneself.
    """
    n_workers, worker = comm.size - first_worker, comm.rank - first_worker
    rounds: list[tuple[int | None, int | None]] = []
    for k in range(n_rounds := max(n_servers, n_workers)):
        theirs, mine = (worker - k) % n_rounds, (comm.rank + k) % n_rounds
        is_served = worker >= 0 and theirs < n_servers and theirs != comm.rank
        serves = comm.rank < n_servers and mine < n_workers and first_worker + mine != comm.rank
        rounds.append((theirs if is_served else None, first_worker + mine if serves else None))
    return rounds


def _exchange(
    comm: Communicator, dst: int | None, outgoing: Array | None, src: int | None
) -> Array:
    """Send, receive, or do both at the same time; return what was received, if anything."""
    if dst is None or outgoing is None:
        return None if src is None else comm.recv(src)
    if src is None:
        comm.send(outgoing, dst)
        return None
    return comm.sendrecv(outgoing, dst=dst, src=src)
