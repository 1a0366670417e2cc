"""Servers of shards that may be lost, and how replicas talk to them: every push has its number.

A replica pushes to one server after the other, each of which confirms, and to the one that deals
last. Who is told that a server was lost asks it again; a server that has made an update of a lot
confirms it and does not make it twice. So a lot that was lost with its replica may be computed once
more, and each shard has it once. A push is one number longer then, and 8 bytes confirm it.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RankLost
from course_lib.models.model import Array, Model
from course_lib.schemes.replicas import Replicas, again, check_goes_on, is_again, over
from course_lib.training import SGD, Lots, Optimizer, Training, check_plan
from course_lib.training.kept_shard import KeepShards, KeptShard
from course_lib.training.shards import Shard, dealer, pack, unpack
from course_lib.words.namespace import namespace

__all__ = ["check_servers", "fetch", "first_lot", "idle", "push", "receive_model", "serve"]

MOST_TIMES = 101
"""How often a server is asked: once, and each time when it was started again, at most."""


class ShardServer:
    """A shard, what steps it, and what is kept of it."""

    def __init__(
        self, comm: Communicator, model: Model, lots: Lots, own: Shard, keep: KeepShards | None,
        optimizer: Optimizer,
    ) -> None:  # fmt: skip
        self.comm, self.own = comm, own
        self.w = model.initial(lots.plan.seed)
        self.part = pack(self.w, own)
        self.stepper = optimizer(self.part, lots.plan)
        is_back = comm.incarnation > 0
        self.kept = KeptShard(self.stepper, keep, comm.rank, is_back, comm.run_name)
        self.version_of: dict[int, int] = {}  # how many updates each has read
        if comm.incarnation:
            comm.note("lost_updates", self.kept.n_lost)

    def send(self, data: Array, dst: int, tag: str) -> None:
        """Send to somebody; if it is lost, so is the message."""
        with suppress(RankLost):
            self.comm.send(data, dst, tag=tag)

    def hand_out(self, dst: int) -> None:
        """Send the shard as it is."""
        self.version_of[dst] = len(self.kept.done)
        self.send(self.part, dst, "parameters")

    def take(self, message: Array, src: int) -> None:
        """Step with a push, unless that has been done."""
        lot, version = int(message[-1]), len(self.kept.done)
        if lot in self.kept.done:
            return
        if src in self.version_of:  # else it read from who was lost
            self.comm.note("staleness", version - self.version_of[src])
        with self.comm.compute("update", flops=2.0 * len(self.part)):
            self.stepper.step(message[:-1], norm=0.0)  # replicas have clipped
        if len(self.part) == len(self.w) == 2:
            self.comm.note("w", self.part)  # a point that can be drawn
        self.kept.update_done(lot)


def serve(
    comm: Communicator, model: Model, lots: Lots, shards: Sequence[Shard], keep: KeepShards | None,
    warm_start: int = 0, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Keep a shard, and go on with what was kept of it if this rank was lost."""
    server = ShardServer(comm, model, lots, shards[comm.rank], keep, optimizer)
    if comm.rank == dealer(shards):
        return _deal(server, lots, shards, warm_start)
    while True:
        src, message = comm.recv_any()
        check_goes_on(message)
        if src == dealer(shards):
            if not is_again(message):  # the model: this is the end
                return Training(message, lots.losses)
            server.kept.save()
            server.send(server.part, src, "parameters")
        elif len(message) == 0:
            server.hand_out(src)
        else:
            server.take(message, src)
            server.send(np.array([int(message[-1])]), src, "confirmed")


def _deal(
    server: ShardServer, lots: Lots, shards: Sequence[Shard], warm_start: int = 0
) -> Training:
    """Keep a shard and deal lots until all are done; then put the model together."""
    comm, done = server.comm, server.kept.done
    first = len(shards)
    replicas = Replicas(comm, lots, range(first, comm.size), warm_start, kept=server.kept)
    for version in islice(lots.walk(server.part), len(done), None):
        only = first if version < warm_start else None
        src, message = replicas.receive(only)
        while len(message) == 0 or int(message[-1]) in done:
            if len(message) == 0:
                server.hand_out(src)
            else:
                replicas.answer_again(src)
            src, message = replicas.receive(only)
        server.take(message, src)
        replicas.deal(src)
    w = server.w
    unpack(server.part, server.own, w)
    server.kept.save()
    others = [rank for rank in range(first) if rank != comm.rank]
    for src in others:
        unpack(_ask(comm, src, np.array([0]), "last"), shards[src], w)
    replicas.see_off(w)
    for dst in others:
        _persist(partial(comm.send, w, dst, tag="model"))
    return Training(w, lots.losses)


def check_servers(
    comm: Communicator, lots: Lots, shards: Sequence[Shard], push_returns: bool,
    keep: KeepShards | None,
) -> None:  # fmt: skip
    """Refuse what cannot go on without a lost rank, in a run that shall, and what only then can."""
    if len(shards) > 1:
        check_plan(lots.plan, "downpour in shards", "on_epoch")  # no rank holds the model then
    if not comm.survives:
        if keep is not None:
            raise ValueError(f"keep must be None where the run has no survive=True; got {keep}")
        return
    if push_returns:
        raise ValueError("push_returns must be False where the run has survive=True; got True")
    if keep is not None:
        check_plan(lots.plan, "downpour with servers that are kept", "on_epoch")
    if len(lots) > 2**24:  # a number that goes with gradients, in float32
        raise ValueError(
            f"lots must be 2**24 at most where the run has survive=True; got {len(lots)}, and "
            "fewer with larger batches, fewer epochs or n_push"
        )


def fetch(comm: Communicator, shards: Sequence[Shard], w: Array) -> None:
    """Get all shards, one after the other."""
    for server in _servers(shards):
        unpack(_of_server(comm, shards, server, w[:0], "fetch"), shards[server], w)


def push(comm: Communicator, shards: Sequence[Shard], grad: Array, lot: int) -> int:
    """Push the parts of a lot's gradient; return which lot is next."""
    number = namespace(grad).full_like(grad[:1], lot)
    for server in reversed(_servers(shards)):  # who deals is last: the lot is done everywhere then
        part = namespace(grad).concat([pack(grad, shards[server]), number])
        answer = _of_server(comm, shards, server, part, "gradient")
    return int(answer[0])


def first_lot(comm: Communicator, shards: Sequence[Shard]) -> int:
    """Have a replica that was started again get a lot."""
    return int(_ask(comm, dealer(shards), again(comm.incarnation), "again")[0])


def idle(comm: Communicator, shards: Sequence[Shard]) -> int:
    """Wait for a lot, of somebody who is lost, or for the end."""
    try:
        return int(comm.recv(dealer(shards), tag="lot")[0])
    except RankLost:  # it is back, and does not know that this replica waits
        return first_lot(comm, shards)


def receive_model(comm: Communicator, shards: Sequence[Shard], w: Array) -> None:
    """Receive the whole model, when all lots are done."""
    src = dealer(shards)
    try:
        comm.recv(src, out=w, tag="parameters")
    except RankLost:  # it is back, and does not know that this replica waits
        _persist(lambda: _say_and_receive(comm, src, w))


def _say_and_receive(comm: Communicator, src: int, w: Array) -> None:
    comm.send(again(comm.incarnation), src, tag="again")
    comm.recv(src, tag="lot")
    comm.recv(src, out=w, tag="parameters")


def _of_server(
    comm: Communicator, shards: Sequence[Shard], server: int, request: Array, tag: str
) -> Array:
    """Ask a server; if it comes no more, tell the others, who would wait for each other."""
    try:
        return _ask(comm, server, request, tag)
    except RankLost:
        for other in _servers(shards) * MOST_TIMES:  # each life of each
            with suppress(RankLost):
                comm.send(over(server), other, tag="over")
                comm.recv(other)  # it ends: a message of who is lost before it came is dropped
        raise


def _ask(comm: Communicator, server: int, request: Array, tag: str) -> Array:
    """Send a request and receive its answer, again if the server is lost in between."""

    def once() -> Array:
        comm.send(request, server, tag=tag)
        return comm.recv(server)

    return _persist(once)


def _persist(call: Callable[[], Array | None]) -> Array:
    """Call until the rank that is needed was there; raise if it comes no more."""
    for times in range(MOST_TIMES):
        try:
            return call()
        except RankLost:
            if times == MOST_TIMES - 1:
                raise
    raise AssertionError("unreachable")


def _servers(shards: Sequence[Shard]) -> list[int]:
    return [rank for rank, shard in enumerate(shards) if shard]
