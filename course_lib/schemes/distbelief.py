"""DistBelief: replicas that are split over machines each, and shards of servers; nobody waits."""

from collections.abc import Sequence

import numpy as np

from course_lib.collectives import broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain, partial_loss
from course_lib.models.model import Array
from course_lib.schemes.downpour import fetch
from course_lib.split import backward, forward, norm_of_split, pieces_of, seat, split_by_units
from course_lib.training import SGD, Lots, Optimizer, Plan, Training, check_plan, check_training
from course_lib.training.accumulation import in_parts
from course_lib.training.clipping import clip
from course_lib.training.divergence import check_finite
from course_lib.training.shards import Shard, dealer, pack, unpack

__all__ = ["distbelief"]


def distbelief(
    comm: Communicator, model: Chain, X: Array, y: Array, plan: Plan,
    splits: int, shards: Sequence[Shard], optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train replicas by Downpour SGD, each of them split over machines by units.

    What a server keeps of a machine's part is a piece: it steps when any replica has pushed it.

    Parameters
    ----------
    splits : int
        The machines of a replica: ranks side by side, after the servers.
    shards : sequence of list of slice
        What each server keeps, from rank 0 on; ``shards_by_partition`` keeps a machine's together.

    Notes
    -----
    Cost of a gradient: n bytes pushed, n fetched, 3 messages a piece, 8 bytes of a lot to each
    machine, and what ``split_by_units`` costs; at the end n bytes to each replica.

    Invariant: each parameter is on one server and one machine of a replica; these return theirs.

    References
    ----------
    J. Dean, G. S. Corrado, R. Monga et al., "Large scale distributed deep networks", NIPS 25, 2012.
    """
    check_training(model, X, y, optimizer=optimizer)
    check_plan(plan, "distbelief", "on_epoch")  # no rank holds the model
    pieces = pieces_of(comm.size, model, splits, shards)
    lots = Lots(plan, len(y))
    is_server = comm.rank < len(shards)
    replica, machine = divmod(comm.rank - len(shards), splits)
    row = comm.split(None if is_server else replica)
    if row is None:
        return serve(comm, model, lots, pieces, optimizer)
    return work(comm, row, model, X, y, lots, pieces[machine], replica)


def serve(
    comm: Communicator, model: Chain, lots: Lots, pieces: Sequence[Sequence[Shard]],
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Keep a piece of some machines' parts: hand each out, step each with what is pushed to it."""
    splits, n_servers = len(pieces), len(pieces[0])
    n_replicas = (comm.size - n_servers) // splits
    kept, sgd, version = {}, {}, {}  # by machine
    for machine, of_servers in enumerate(pieces):
        if own := of_servers[comm.rank]:
            w_part = split_by_units(seat(machine, splits), model).initial(lots.plan.seed)
            kept[machine] = pack(w_part, own)
            sgd[machine] = optimizer(kept[machine], lots.plan)
            version[machine] = 0
    version_of = [0] * comm.size  # how many updates were in the parameters that each has read
    n_left = len(lots) * len(kept)
    walk = lots.walk()  # past an epoch when each part has been stepped with each of its lots
    while n_left > 0:
        src, message = comm.recv_any()
        machine = (src - n_servers) % splits
        if len(message) == 0:  # no gradient: it asks for the parameters
            comm.send(kept[machine], src, tag="parameters")
            version_of[src] = version[machine]
            continue
        if n_left % len(kept) == 0:
            next(walk)
        comm.note("staleness", version[machine] - version_of[src])
        with comm.compute("update", flops=2.0 * len(message)):
            sgd[machine].step(message, norm=0.0)  # replicas have clipped: they know the length
        if machine == 0 and comm.rank == dealer(pieces[0]):
            comm.send(np.array([version[0] + n_replicas]), src, tag="lot")
        version[machine] += 1
        n_left -= 1
    next(walk, None)
    for dst in range(n_servers, comm.size):
        if (machine := (dst - n_servers) % splits) in kept:
            comm.send(kept[machine], dst, tag="parameters")
    return Training(np.concatenate([*kept.values(), np.empty(0, model.dtype)]), lots.losses)


def work(
    comm: Communicator, row: Communicator, model: Chain, X: Array, y: Array, lots: Lots,
    pieces: list[Shard], replica: int,
) -> Training:  # fmt: skip
    """Compute a part of the gradient of one lot after the other, with the machines of the row."""
    plan, own = lots.plan, split_by_units(row, model)
    w = own.initial(plan.seed)  # as long as it must be; every fetch replaces it
    grad = np.empty_like(w)
    layers, account = range(len(own.parts)), lots.account(comm.note)
    lot = replica
    while lot < len(lots):
        ((step, examples),) = account.batches(lot)
        fetch(comm, pieces, w)
        grad[...] = 0
        total = 0.0
        for some, weight in in_parts(examples, plan.accumulate):
            outputs, kept = forward(own, layers, w, own.examples(X[some]))
            loss, slope = partial_loss(outputs, y[some], weight)
            backward(own, layers, w, kept, slope, grad)
            total += loss
        check_finite(total, step, plan.learning_rate)
        account.enter(step, total if row.rank == 0 else 0.0)  # all machines know it, one counts it
        clip(grad, plan.clip, norm_of_split(row, plan, own, grad))
        lot = push(comm, row, pieces, grad)
    losses = account.close()
    for src, piece in enumerate(pieces):
        if piece:
            unpack(comm.recv(src, tag="parameters"), piece, w)
    return Training(w, losses)


def push(comm: Communicator, row: Communicator, pieces: Sequence[Shard], grad: Array) -> int:
    """Send all servers their pieces of a gradient; return which lot is next, for the whole row."""
    servers = [rank for rank, piece in enumerate(pieces) if piece]
    going = [comm.isend(pack(grad, pieces[dst]), dst, tag="gradient") for dst in servers]
    lot = comm.recv(dealer(pieces), tag="lot") if row.rank == 0 else None
    for pending in going:
        pending.wait()
    return int(broadcast_tree(row, lot)[0])
