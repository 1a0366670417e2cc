"""The parameter server in shards: every server keeps a part, so that no NIC carries everything."""

from collections.abc import Sequence
from functools import partial

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_plan, check_training
from course_lib.training.clipping import norm_of_all
from course_lib.training.plan import partial_gradient
from course_lib.training.shards import Shard, pack, unpack
from course_lib.training.whole_shards import check_shards

__all__ = ["serve", "sharded_parameter_server", "work"]


def sharded_parameter_server(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    shards: Sequence[Shard], optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train with the model cut into shards, on the first ranks; the others are workers.

    A worker fetches the parts of the model from their servers and pushes the parts of its gradient
    to them; a server updates its part when all workers have pushed. A server without a part is
    never spoken to.

    Parameters
    ----------
    shards : sequence of list of slice
        What each server keeps, from rank 0 on, as ``course_lib.training.shards`` makes them: evenly
        cut, by size, or by name.

    Notes
    -----
    Cost of one step, for W workers, S servers with even shards and n bytes of parameters: W n/S
    bytes into a server's NIC and as many out. After the last step every rank fetches once more. A
    plan that clips has every server send 8 bytes to each other one in a step.

    Invariant: all workers compute at the parameters of the same step.

    References
    ----------
    J. Dean, G. S. Corrado, R. Monga et al., "Large scale distributed deep networks", Advances in
    Neural Information Processing Systems 25, 2012.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    check_plan(plan, "sharded_parameter_server", "on_epoch")  # no rank holds the model then
    check_shards(shards, model.n_parameters, comm.size, beside="worker")
    if comm.rank < len(shards):
        return serve(comm, model, len(y), plan, shards, optimizer)
    return work(comm, model, X, y, plan, shards)


def serve(
    comm: Communicator, model: Model, n_examples: int, plan: Plan, shards: Sequence[Shard],
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Keep a shard: hand it out, add up the parts of the gradients, take the step there.

    With R the larger of the numbers of servers and workers: in round k server s turns to worker
    (s + k) mod R, and worker w to server (w - k) mod R; who is not there is passed over. So nobody
    has two at a time, all of the smaller side are busy, and nobody waits in a circle.
    """
    n_servers, n_workers = len(shards), comm.size - len(shards)
    n_rounds = max(n_servers, n_workers)
    numbers = [(comm.rank + k) % n_rounds for k in range(n_rounds)]
    own = shards[comm.rank]
    servers = [rank for rank, shard in enumerate(shards) if shard]
    workers = [n_servers + number for number in numbers if number < n_workers]
    if not own:
        workers = []  # nobody has a word with it

    w = model.initial(plan.seed)
    kept = pack(w, own)
    sgd = optimizer(kept, plan)
    losses = []
    for _ in plan.shares(n_examples):
        for dst in workers:
            comm.send(kept, dst, tag="parameters")
        comm.note("loss_partial", 0.0)  # it computes nothing of the loss
        losses.append(0.0)
        total = kept * 0
        for src in workers:  # in another order than other servers, in the same in every run
            total += comm.recv(src, tag="gradient")
        norm = norm_of_all(plan, total, partial(add_up, comm, servers)) if own else None
        with comm.compute("update", flops=2.0 * len(kept)):
            sgd.step(total, norm)
    unpack(kept, own, w)
    share_out(comm, shards, w)
    return Training(w, losses)


def work(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, shards: Sequence[Shard]
) -> Training:
    """Fetch all shards, compute the gradient over this worker's part of the batch, push its parts.

    Its order of servers is the other side of that in ``serve``.
    """
    number, n_workers = comm.rank - len(shards), comm.size - len(shards)
    n_rounds = max(len(shards), n_workers)
    ranks = [(number - k) % n_rounds for k in range(n_rounds)]
    servers = [rank for rank in ranks if rank < len(shards) and shards[rank]]

    w = model.initial(plan.seed)  # as long as it must be; every fetch replaces all of it
    losses = []
    for examples, weight in plan.shares(len(y), number, n_workers):
        for src in servers:
            unpack(comm.recv(src, tag="parameters"), shards[src], w)
        batch = X[examples], y[examples]
        with comm.compute("gradient", flops=model.flops(batch)):
            loss, grad = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        for dst in servers:
            comm.send(pack(grad, shards[dst]), dst, tag="gradient")
    share_out(comm, shards, w)
    return Training(w, losses)


def add_up(comm: Communicator, servers: Sequence[int], number: Array) -> Array:
    """Sum a number over the servers that have a shard; each sends its own to all others."""
    me, n = servers.index(comm.rank), len(servers)
    found = {me: number}
    for k in range(1, n):
        dst, src = (me + k) % n, (me - k) % n
        found[src] = comm.sendrecv(number, dst=servers[dst], src=servers[src], tag="norm")
    return sum(found[server] for server in range(n))  # in one order, so that all have the same bits


def share_out(comm: Communicator, shards: Sequence[Shard], w: Array) -> None:
    """Let everybody have all shards: in round k from the rank that is k places to the left."""
    kept_by = [*shards, *([] for _ in range(comm.size - len(shards)))]
    own = kept_by[comm.rank]
    for k in range(1, comm.size):
        dst, src = (comm.rank + k) % comm.size, (comm.rank - k) % comm.size
        if own and kept_by[src]:
            unpack(comm.sendrecv(pack(w, own), dst=dst, src=src), kept_by[src], w)
        elif own:
            comm.send(pack(w, own), dst)
        elif kept_by[src]:
            unpack(comm.recv(src), kept_by[src], w)
