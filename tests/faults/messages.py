"""Messages that do not meet: circles of waiting ranks, wrong peers, tags, shapes, threads."""

import time

import numpy as np
import pytest

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import (
    CollectiveMismatchError,
    DeadlockError,
    MessageMismatchError,
    PeerFinishedError,
    UnreceivedMessagesWarning,
    WorkerError,
)
from tests.faults.table import Case, row
from tests.source_lines import line_of

HERE = "at messages.py, line "
LARGE = EAGER_BYTES // 8 + 1  # float64 elements that no eager message holds


@row(21, "both receive first", limit_s=2.0, alone=True)
def both_receiving_first_is_told_as_a_circle_with_both_lines(case: Case) -> None:
    fault = case.fault

    def work(comm):
        fault()
        comm.recv(src=1 - comm.rank)

    error = case.failing(DeadlockError, work)
    assert error.cycle == [0, 1]
    for rank in (0, 1):
        assert f"rank {rank} waits in recv(src={1 - rank}), {HERE}" in str(error)
    assert "let one of them send first" in str(error)


@row(21, "both wait for what they have begun to receive", limit_s=2.0, alone=True, spawned=())
def both_waiting_for_their_irecv_is_told_as_a_circle_with_both_lines(case: Case) -> None:
    fault = case.fault

    def work(comm):
        other = 1 - comm.rank
        coming = [comm.irecv(src=other), comm.irecv(src=other, tag="second")]
        comm.isend(np.zeros(1), dst=other)
        fault()
        coming[1].wait()

    error = case.failing(DeadlockError, work)
    assert error.cycle == [0, 1]
    for rank in (0, 1):
        assert f"rank {rank} waits in irecv(src={1 - rank}, tag='second'), {HERE}" in str(error)


@row(
    22,
    "a ring that receives first",
    limit_s=2.0,
    alone=True,
    variants={f"of {size}": size for size in (2, 3, 4, 5, 8)},
    spawned=("of 5",),
)
def a_ring_of_any_size_is_told_whole(case: Case) -> None:
    fault, size = case.fault, case.variant

    def work(comm):
        comm.barrier()
        fault()
        got = comm.recv(src=(comm.rank + 1) % comm.size)
        comm.send(got, dst=(comm.rank - 1) % comm.size)

    error = case.failing(DeadlockError, work, workers=size)
    assert error.cycle == list(range(size))
    assert "no rank can go on" in str(error)
    for rank in range(size):
        assert f"rank {rank} waits in recv(src={(rank + 1) % size}), {HERE}" in str(error)


def refusal(call):
    """Return what ``call`` raises, in words; without pytest, which workers would import."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was refused"


def send_first(comm, size, fault=lambda: None):
    fault()
    comm.send(np.zeros(size), dst=1 - comm.rank)
    return comm.recv(src=1 - comm.rank).size


@row(
    23,
    "both send first",
    limit_s=2.0,
    alone=True,
    variants={
        "more than is eager": (LARGE, False),
        "far more": (100 * LARGE, False),
        "one number, rendezvous": (1, True),
        "more, rendezvous": (LARGE, True),
    },
    spawned=("far more",),
)
def both_sending_first_is_a_deadlock_whenever_sends_wait(case: Case) -> None:
    size, rendezvous = case.variant
    error = case.failing(DeadlockError, send_first, size, case.fault, rendezvous=rendezvous)
    assert error.cycle == [0, 1]
    for rank in (0, 1):
        assert f"rank {rank} waits in send(dst={1 - rank}), {HERE}" in str(error)
    assert "use sendrecv" in str(error)
    assert ("16,384 bytes" in str(error)) != rendezvous


@row(23, "both wait for what they have begun to send", limit_s=2.0, alone=True, spawned=())
def both_waiting_for_their_isend_is_a_deadlock(case: Case) -> None:
    fault = case.fault

    def work(comm):
        going = [comm.isend(np.zeros(size), dst=1 - comm.rank) for size in (LARGE, 1)]
        fault()
        going[0].wait()
        return comm.recv(src=1 - comm.rank)

    error = case.failing(DeadlockError, work)
    assert error.cycle == [0, 1]
    for rank in (0, 1):
        assert f"rank {rank} waits in isend(dst={1 - rank}), {HERE}" in str(error)


@row(23, "both send first, small enough", alone=True, spawned=())
def both_sending_first_passes_up_to_the_eager_size(case: Case) -> None:
    for size in (0, 1, LARGE - 1):
        assert case.run(send_first, size).values == [size, size]


WAITS = {
    "recv": lambda comm, peer: comm.recv(src=peer),
    "a large send": lambda comm, peer: comm.send(np.zeros(100_000), dst=peer),
    "small sends": lambda comm, peer: [comm.send(np.zeros(1000), dst=peer) for _ in range(5000)],
    "sendrecv": lambda comm, peer: comm.sendrecv(np.zeros(1), dst=peer, src=peer),
    "irecv": lambda comm, peer: comm.irecv(src=peer).wait(),
    "a large isend": lambda comm, peer: comm.isend(np.zeros(100_000), dst=peer).wait(),
    "barrier": lambda comm, peer: comm.barrier(),
}


@row(
    24,
    "waiting for a rank that has returned",
    limit_s=1.0,
    alone=True,
    variants=WAITS,
    spawned=("recv",),
)
def waiting_for_a_rank_that_has_returned_is_an_error_at_once(case: Case) -> None:
    fault, wait = case.fault, case.variant

    def work(comm):
        if comm.rank == 1:
            wait(comm, 0)
        fault()

    error = case.failing(PeerFinishedError, work)
    assert error.rank == 1
    assert "rank 0" in str(error)
    assert "has already returned" in str(error)
    assert "messages.py, line " in str(error)
    assert error.consequences == ("rank 0 had returned",)


@row(24, "waiting for anybody when all others have returned", limit_s=1.0, least=2, spawned=())
def waiting_for_anybody_when_all_have_returned_is_an_error_at_once(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            comm.recv_any()
        fault()

    error = case.failing(PeerFinishedError, work)
    assert error.rank == bad_rank
    assert "every other rank has already returned" in str(error)


@row(24, "waiting for a function that has returned", limit_s=1.0, alone=True, spawned=())
def waiting_for_a_function_that_has_returned_is_an_error(case: Case) -> None:
    fault = case.fault

    def listen(child):
        if child.rank == 1:
            fault()
            child.recv(src=0)

    def work(comm):
        comm.start(listen).wait()
        comm.barrier()  # rank 0 lives on, and nobody can go on

    error = case.failing(PeerFinishedError, work)
    assert error.rank == 1
    assert "world/start 1" in str(error)


@row(24, "messages that nobody receives", least=2, spawned=())
def messages_that_nobody_receives_are_named_in_a_warning(case: Case) -> None:
    src = case.bad_rank
    dst = (src + 1) % case.workers

    def work(comm):
        if comm.rank == src:
            for _ in range(2):
                comm.send(np.zeros(4), dst=dst, tag=3)
        comm.barrier()

    words = rf"2 messages from rank {src} to rank {dst} \(tag=3\)"
    with pytest.warns(UnreceivedMessagesWarning, match=words) as seen:
        result = case.run(work)
    assert seen[0].filename.endswith("table.py")  # the line that called run
    assert len(result.trace.unreceived()) == 2


@row(25, "another tag than was sent", limit_s=2.0, least=2)
def another_tag_is_told_with_both(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank
    src = (bad_rank + 1) % case.workers

    def work(comm):
        if comm.rank == src:
            comm.send(np.zeros((2, 3)), dst=bad_rank, tag="a")
        elif comm.rank == bad_rank:
            fault()
            comm.recv(src=src, tag="b")

    error = case.failing(MessageMismatchError, work)
    assert error.rank == bad_rank
    assert f"rank {src} sent dtype float64 and shape (2, 3) with tag='a'" in str(error)
    assert f"rank {bad_rank} receives with tag='b'" in str(error)


@row(25, "receiving from another rank than sends", limit_s=2.0, alone=True, spawned=())
def receiving_from_the_wrong_rank_is_told_as_a_circle(case: Case) -> None:
    fault = case.fault

    def work(comm):
        if comm.rank == 0:
            comm.send(np.zeros(2), dst=1, tag="x")
        comm.barrier()
        fault()
        comm.recv(src={0: 1, 1: 2, 2: 1}[comm.rank])  # rank 1 should ask rank 0

    error = case.failing(DeadlockError, work, workers=3)
    assert error.cycle == [1, 2]
    assert f"rank 1 waits in recv(src=2), {HERE}" in str(error)
    assert any(line.startswith("rank 0 waited in recv(src=1)") for line in error.consequences)


PEERS = {
    "itself": ("rank", "ValueError", "this rank itself"),
    "a negative rank": (-1, "ValueError", "got -1"),
    "a rank too high": (2, "ValueError", "must be a rank from 0 to 1, got 2"),
    "a fraction": (1.0, "TypeError", "got 1.0 of type float"),
    "a text": ("1", "TypeError", "got '1' of type str"),
    "nothing": (None, "TypeError", "got None"),
}


@row(26, "a peer that is none", limit_s=0.1, alone=True, variants=PEERS, spawned=("itself",))
def a_peer_that_is_none_is_refused_before_any_message(case: Case) -> None:
    peer, kind, words = case.variant

    def work(comm):
        other = comm.rank if peer == "rank" else peer
        found = []
        for call in (
            lambda: comm.send(np.zeros(1), dst=other),
            lambda: comm.recv(src=other),
            lambda: comm.sendrecv(np.zeros(1), dst=other, src=1 - comm.rank),
            lambda: comm.sendrecv(np.zeros(1), dst=1 - comm.rank, src=other),
        ):
            begun_s = time.perf_counter()
            text = refusal(call)
            found.append((time.perf_counter() - begun_s, text))
        return found

    result = case.run(work)
    assert result.trace.n_messages == 0
    for taken_s, text in result.values[0] + result.values[1]:
        case.times_s.append(taken_s)
        assert text.startswith(f"{kind}: ")
        assert words in text


@row(26, "receiving from anybody where there is nobody else", limit_s=0.1, alone=True, spawned=())
def receiving_from_anybody_in_a_group_of_one_is_refused(case: Case) -> None:
    fault = case.fault

    def work(comm):
        alone = comm.split(comm.rank)
        fault()
        alone.recv_any()

    error = case.failing(WorkerError, work)
    assert "ValueError: recv_any() has nobody to receive from" in str(error)


def reduce_all(comm, x, op="sum"):
    return allreduce_ring(comm, x, op)  # reduces


def broadcast(comm, x):
    return broadcast_tree(comm, x)  # broadcasts


def reduce_largest(comm, x):
    return allreduce_ring(comm, x, op="max")  # takes the largest


def reduce_column(comm, x):
    return allreduce_ring(comm, x.reshape(-1, 1))  # a column


def exchange(comm, x):
    return comm.sendrecv(x, dst=1 - comm.rank, src=1 - comm.rank)  # exchanges


ORDERS = {
    "broadcast and all-reduce": (broadcast, "# broadcasts", "broadcast_tree #1", ""),
    "two ops": (reduce_largest, "# takes", "allreduce_ring #1 with op='max'", " with op='sum'"),
    "two shapes": (reduce_column, "# a column", "allreduce_ring #1 with shape (N, 1)",
                   " with shape (N,)"),
    "none": (exchange, "# exchanges", "no collective", ""),
}  # fmt: skip


@row(
    27,
    "collectives in different orders, or with different options",
    limit_s=1.0,
    alone=True,
    variants={
        f"{name}, {size} numbers": (size, *how)
        for name, how in ORDERS.items()
        for size in (4, 2 * LARGE)
    },
    spawned=("broadcast and all-reduce, 4 numbers",),
)
def ranks_in_different_collectives_are_told_with_both_and_their_lines(case: Case) -> None:
    size, other, words, what, option = case.variant
    fault = case.fault

    def work(comm):
        x = np.full(size, float(comm.rank))
        reduce_all(comm, x)
        fault()
        return (other if comm.rank == 0 else reduce_all)(comm, x)

    text = str(case.failing(CollectiveMismatchError, work))
    what, option = what.replace("N", str(size)), option.replace("N", str(size))
    second = f"allreduce_ring #1{option}"
    if other is exchange and "sendrecv" in text:  # it was found waiting
        what = "sendrecv(src=1, dst=1)"
    assert f"rank 0 is in {what}, rank 1 in {second}" in text
    assert f"rank 1 called allreduce_ring, at {line_of(reduce_all, '# reduces')}" in text
    told = f"is in {what}" if other is exchange else f"called {what.split()[0]}"
    assert f"rank 0 {told}, at {line_of(other, words)}" in text
    assert "must call its collectives in the same order" in text


@row(27, "one that a rank skips", limit_s=1.0, workers=3, least=2, spawned=())
def a_rank_that_skips_a_collective_is_told_with_its_line(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        fault()
        if comm.rank != bad_rank:
            allreduce_ring(comm, np.zeros(3))  # in it
        comm.barrier()  # not in it

    text = str(case.failing(CollectiveMismatchError, work))
    assert f"rank {bad_rank} is in barrier(), at {line_of(work, '# not in it')}" in text
    others = {*range(case.workers)} - {bad_rank}
    place = line_of(work, "# in it")
    assert any(f"rank {rank} called allreduce_ring, at {place}" in text for rank in others)
    assert "allreduce_ring #0" in text.splitlines()[0]
    assert f"rank {bad_rank} " in text.splitlines()[0]


@row(27, "one that a rank skips and returns", limit_s=1.0, workers=3, least=2, spawned=())
def a_rank_that_returns_before_a_collective_is_told(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        fault()
        if comm.rank != bad_rank:
            allreduce_ring(comm, np.zeros(3))

    error = case.failing(PeerFinishedError, work)
    assert f"waits in sendrecv() of allreduce_ring #0 for a message from rank {bad_rank}" in str(
        error
    )
    assert "every rank must call allreduce_ring() equally often" in str(error)


OUTS = {
    "shape": (np.zeros((3, 2)), "shape (3, 2)"),
    "dtype": (np.zeros((2, 3), "f4"), "dtype float32"),
    "byte order": (np.zeros((2, 3), ">f8"), "dtype >f8"),
    "too small": (np.zeros(1), "shape (1,)"),
    "same bytes": (np.zeros((2, 3), "i8"), "dtype int64"),
}


@row(28, "out does not fit the message", limit_s=1.0, least=2, variants=OUTS, spawned=("shape",))
def a_message_that_does_not_fit_is_told_with_both_sides(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank
    out, words = case.variant
    src = (bad_rank + 1) % case.workers

    def work(comm):
        if comm.rank == src:
            comm.send(np.zeros((2, 3)), dst=bad_rank)
        elif comm.rank == bad_rank:
            fault()
            comm.recv(src=src, out=out)

    error = case.failing(MessageMismatchError, work)
    assert error.rank == bad_rank
    assert f"rank {src} sent dtype float64 and shape (2, 3)" in str(error)
    assert f"rank {bad_rank} receives into out of dtype" in str(error)
    assert words in str(error)


@row(
    29,
    "one rank is not in the barrier",
    limit_s=2.0,
    workers=3,
    least=2,
    variants={
        "waits for a message": (lambda comm, peer: comm.recv(src=peer), DeadlockError),
        "has returned": (lambda comm, peer: None, PeerFinishedError),
    },
    spawned=("waits for a message",),
)
def the_rank_that_is_missing_in_a_barrier_is_named(case: Case) -> None:
    fault, missing = case.fault, case.bad_rank
    instead, kind = case.variant

    def work(comm):
        fault()
        if comm.rank == missing:
            instead(comm, (missing + 1) % comm.size)
        else:
            comm.barrier()

    error = case.failing(kind, work)
    assert f"barrier() for rank {missing}" in str(error)
    awaited = (missing + 1) % case.workers
    does = "had returned" if kind is PeerFinishedError else f"waits in recv(src={awaited}), {HERE}"
    assert f"rank {missing} {does}" in str(error)
