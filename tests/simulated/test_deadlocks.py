"""When nobody can go on: who waits for whom, where, and what to do about it."""

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import DeadlockError, PeerFinishedError
from tests.source_lines import line_of


def simulate(fn, workers, **options):
    return run(fn, workers=workers, backend="simulated", **options)


def both_receive_first(comm):
    other = 1 - comm.rank
    if comm.rank == 0:
        comm.recv(src=other, tag="a")
        comm.send(np.zeros(1), dst=other)
    else:
        comm.recv(src=other)  # rank 1
        comm.send(np.zeros(1), dst=other)


def test_both_receive_first():
    with pytest.raises(DeadlockError) as raised:
        simulate(both_receive_first, 2)
    error = raised.value
    text = str(error)
    assert error.cycle == [0, 1]
    assert f"rank 0 waits in recv(src=1, tag='a'), at {line_of(both_receive_first, 'tag=')}" in text
    assert f"rank 1 waits in recv(src=0), at {line_of(both_receive_first, '# rank 1')}" in text
    assert "cycle 0 -> 1 -> 0" in text
    assert "let one of them send first, or use sendrecv" in text
    assert error.trace.n_messages == 0


def ring_receive_first(comm):
    received = comm.recv(src=(comm.rank - 1) % comm.size)
    comm.send(received, dst=(comm.rank + 1) % comm.size)


@pytest.mark.parametrize("workers", [2, 3, 4, 5, 8, 9])
def test_a_ring_that_receives_first(workers):
    with pytest.raises(DeadlockError) as raised:
        simulate(ring_receive_first, workers)
    cycle = raised.value.cycle
    assert cycle == [0, *range(workers - 1, 0, -1)]  # each waits for its left neighbour
    for rank in range(workers):
        assert f"rank {rank} waits in recv(src={(rank - 1) % workers})" in str(raised.value)


def test_a_long_circle_is_cut_short_in_the_text_alone():
    with pytest.raises(DeadlockError) as raised:
        simulate(ring_receive_first, 200)
    assert len(raised.value.cycle) == 200
    assert len(str(raised.value).splitlines()) < 20
    assert "and 190 more ranks in the cycle" in str(raised.value)


def ring_send_first(comm):
    comm.send(np.zeros(1), dst=(comm.rank + 1) % comm.size)
    return comm.recv(src=(comm.rank - 1) % comm.size)


@pytest.mark.parametrize("workers", [2, 3, 4, 5])
def test_a_ring_that_sends_first_hangs_in_rendezvous_alone(workers):
    simulate(ring_send_first, workers)
    with pytest.raises(
        DeadlockError, match="each sends before it receives: use sendrecv"
    ) as raised:
        simulate(ring_send_first, workers, rendezvous=True)
    assert sorted(raised.value.cycle) == list(range(workers))


def barrier_but_one(comm):
    if comm.rank == 2:
        comm.recv(src=0)  # not in the barrier
    comm.barrier()
    if comm.rank == 0:
        comm.send(np.zeros(1), dst=2)


def test_a_barrier_that_one_rank_does_not_reach():
    with pytest.raises(DeadlockError) as raised:
        simulate(barrier_but_one, 4)
    text = str(raised.value)
    assert raised.value.cycle == [0, 2]
    assert "rank 0 waits in barrier() for rank 2" in text
    assert f"rank 2 waits in recv(src=0), at {line_of(barrier_but_one, '# not in')}" in text
    assert "every rank must call barrier() equally often" in text
    assert len(raised.value.consequences) == 2  # ranks 1 and 3, in the barrier too
    assert all("waited in barrier()" in line for line in raised.value.consequences)


def test_a_barrier_that_one_rank_never_calls():
    def skip(comm):
        if comm.rank != 1:
            comm.barrier()

    with pytest.raises(PeerFinishedError, match="rank 1 has already returned") as raised:
        simulate(skip, 3)
    assert "rank 0 waits in barrier()" in str(raised.value)


def test_a_rank_that_waits_for_one_that_has_returned():
    def stop_early(comm):
        if comm.rank == 0:
            for _ in range(3):
                comm.recv(src=1)
        elif comm.rank == 1:
            comm.send(np.zeros(1), dst=0)
            comm.send(np.zeros(1), dst=0)

    with pytest.raises(PeerFinishedError) as raised:
        simulate(stop_early, 3)
    text = str(raised.value)
    assert "rank 0 waits in recv(src=1)" in text
    assert "rank 1 has already returned; it sent 2 messages to rank 0" in text
    assert raised.value.rank == 0
    assert raised.value.trace.n_messages == 2
    assert raised.value.consequences == ("rank 2 had returned",)


def test_a_send_that_is_never_received():
    def no_receiver(comm):
        if comm.rank == 0:
            comm.send(np.zeros(1), dst=1)

    with pytest.raises(PeerFinishedError, match="rank 1 has already returned without receiving"):
        simulate(no_receiver, 2, rendezvous=True)


def test_recv_any_with_nobody_left():
    def one_too_many(comm):
        if comm.rank > 0:
            comm.send(np.zeros(1), dst=0)
            return
        for _ in range(comm.size):
            comm.recv_any()

    with pytest.raises(PeerFinishedError, match="all other ranks have already returned"):
        simulate(one_too_many, 3)


def test_recv_any_waits_for_those_who_are_left():
    def all_listen(comm):
        if comm.rank < 2:
            comm.recv_any()

    with pytest.raises(DeadlockError) as raised:
        simulate(all_listen, 4)
    assert raised.value.cycle == [0, 1]
    assert "rank 0 waits in recv_any()" in str(raised.value)


def test_an_unread_message_from_somebody_else_is_named():
    def wrong_peer(comm):
        if comm.rank == 0:
            comm.recv(src=1)
        elif comm.rank == 1:
            comm.recv(src=0)
        else:
            comm.send(np.zeros((2, 3)), dst=0, tag=7)

    with pytest.raises(DeadlockError) as raised:
        simulate(wrong_peer, 3)
    assert "an unread message from rank 2 is there: tag=7, shape (2, 3)" in str(raised.value)


def test_sendrecv_with_partners_that_do_not_match():
    def skewed(comm):
        comm.sendrecv(np.zeros(1), dst=(comm.rank + 1) % 3, src=(comm.rank + 1) % 3)

    with pytest.raises(DeadlockError) as raised:
        simulate(skewed, 3)
    assert sorted(raised.value.cycle) == [0, 1, 2]
    assert "rank 0 waits in sendrecv(src=1)" in str(raised.value)


def test_a_circle_that_not_everybody_is_in():
    def two_in_a_circle(comm):
        if comm.rank < 2:
            comm.recv(src=comm.rank + 1)  # 0 and 1 wait for the circle, and are not in it
        else:
            comm.recv(src=5 - comm.rank)

    with pytest.raises(DeadlockError) as raised:
        simulate(two_in_a_circle, 4)
    assert raised.value.cycle == [2, 3]
    assert [line.split(",")[0] for line in raised.value.consequences] == [
        "rank 0 waited in recv(src=1)", "rank 1 waited in recv(src=2)"
    ]  # fmt: skip


def test_the_partial_trace_shows_what_happened_until_then():
    def first_well(comm):
        other = 1 - comm.rank
        comm.sendrecv(np.zeros(2), dst=other, src=other)
        with comm.compute("work", flops=1e6 * comm.rank):
            comm.note("loss", 1.0)
        comm.recv(src=other)

    with pytest.raises(DeadlockError) as raised:
        simulate(first_well, 2)
    trace = raised.value.trace
    assert trace.n_messages == 2
    assert [w.rank for w in trace.waits if w.verb == "recv"] == [0]  # rank 1 only began to wait
    assert len(trace.notes) == 2
    (fault,) = trace.faults
    assert (fault.rank, fault.kind) == (0, "DeadlockError")
    assert fault.text.startswith("deadlock: no rank can go on")
    assert trace.waits[-1].end_s == fault.time_s == trace.end_s


def test_without_a_trace_a_deadlock_is_explained_as_well():
    with pytest.raises(DeadlockError) as raised:
        simulate(both_receive_first, 2, trace=False)
    assert raised.value.trace is None
    assert raised.value.cycle == [0, 1]


def in_pairs(comm):
    if comm.rank < 4:
        comm.recv(src=comm.rank ^ 1)  # in pairs
    else:
        comm.recv(src=3)


def test_two_circles_are_both_told():
    with pytest.raises(DeadlockError) as raised:
        simulate(in_pairs, 5)
    error = raised.value
    assert error.cycles == [[0, 1], [2, 3]]
    assert error.cycle == [0, 1]
    text = str(error)
    assert "each waits for the next in 2 cycles, 0 -> 1 -> 0, 2 -> 3 -> 2:" in text
    place = line_of(in_pairs, "# in pairs")
    for rank in range(4):
        assert f"rank {rank} waits in recv(src={rank ^ 1}), at {place}" in text
    assert text.count("let one of them send first") == 1
    (outside,) = error.consequences
    assert outside.startswith("rank 4 waited in recv(src=3)")
