"""Ranks that wait for each other are found soon and told by name and line."""

import time

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import DeadlockError, PeerFinishedError
from tests.source_lines import line_of

pytestmark = pytest.mark.slow

SOON_S = 20.0  # ten times what is promised, as the computer may be busy


def deadlocked(start_method, fn, *args, workers=2, **options):
    """Run ``fn``, expect a deadlock, return it; then show that the next run works."""
    begun_s = time.monotonic()
    with pytest.raises(DeadlockError) as raised:
        run(fn, *args, workers=workers, start_method=start_method, **options)
    taken_s = time.monotonic() - begun_s
    print(f"{fn.__name__}, {workers} ranks: {taken_s:.2f} s with the launch (promised: 2 s)")
    assert taken_s < SOON_S
    assert run(lambda comm: comm.rank, workers=1, start_method=start_method).values == [0]
    return raised.value


def both_receive_first(comm):
    other = 1 - comm.rank
    if comm.rank == 0:
        comm.recv(src=other)  # rank 0
        comm.send(np.zeros(1), dst=other)
    else:
        comm.recv(src=other)  # rank 1
        comm.send(np.zeros(1), dst=other)


def test_both_receive_first(start_method):
    error = deadlocked(start_method, both_receive_first)
    assert error.cycle == [0, 1]
    assert error.rank == 0
    first, second = (line_of(both_receive_first, f"# rank {rank}") for rank in (0, 1))
    assert error.graph == [(0, 1, "recv(src=1)", first), (1, 0, "recv(src=0)", second)]
    text = str(error)
    assert "no rank can go on, each waits for the next in the cycle 0 -> 1 -> 0" in text
    assert f"rank 0 waits in recv(src=1), at {first}" in text
    assert f"rank 1 waits in recv(src=0), at {second}" in text
    assert "let one of them send first, or use sendrecv" in text
    assert [fault.kind for fault in error.trace.faults] == ["DeadlockError"]


def ring_receive_first(comm):
    received = comm.recv(src=(comm.rank - 1) % comm.size)
    comm.send(received, dst=(comm.rank + 1) % comm.size)


@pytest.mark.parametrize("workers", [2, 3, 4, 5])
def test_a_ring_that_receives_first(usual_method, workers):
    error = deadlocked(usual_method, ring_receive_first, workers=workers)
    assert error.cycle == [0, *range(workers - 1, 0, -1)]  # each waits for its left neighbour
    place = line_of(ring_receive_first, "comm.recv")
    for rank in range(workers):
        call = f"recv(src={(rank - 1) % workers})"
        assert f"rank {rank} waits in {call}, at {place}" in str(error)


def ring_send_first(comm, size):
    comm.send(np.zeros(size), dst=(comm.rank + 1) % comm.size)
    return comm.recv(src=(comm.rank - 1) % comm.size).size


MOST = EAGER_BYTES // 8


@pytest.mark.parametrize("workers", [2, 3])
def test_all_send_first_hangs_exactly_where_send_waits(usual_method, workers):
    for size in (0, 1, MOST):
        values = run(ring_send_first, size, workers=workers, start_method=usual_method).values
        assert values == [size] * workers
    for size, rendezvous in ((MOST + 1, False), (10**6, False), (1, True)):
        error = deadlocked(
            usual_method, ring_send_first, size, workers=workers, rendezvous=rendezvous
        )
        assert error.cycle == [*range(workers)]
        assert "each sends before it receives: use sendrecv" in str(error)
        assert ("of more than 16,384 bytes" in str(error)) == (not rendezvous)
        assert f"rank 0 waits in send(dst=1), at {line_of(ring_send_first, 'comm.send')}" in str(
            error
        )


def test_a_thousand_small_messages_that_nobody_takes_yet_are_no_deadlock(usual_method):
    def flood(comm):
        for _ in range(1000):
            comm.send(np.zeros(MOST), dst=1 - comm.rank)
        return sum(comm.recv(src=1 - comm.rank).size for _ in range(1000))

    assert run(flood, workers=2, start_method=usual_method).values == [1000 * MOST] * 2


def test_a_rank_that_waits_for_one_that_has_returned_is_told_that_instead(usual_method):
    def stop_early(comm):
        if comm.rank == 0:
            comm.recv(src=1)

    for _ in range(5):
        with pytest.raises(PeerFinishedError, match="rank 1, which has already returned"):
            run(stop_early, workers=2, start_method=usual_method)


def test_the_wrong_peer(usual_method):
    def wrong_peer(comm):
        if comm.rank == 0:
            comm.send(np.zeros(1), dst=1)
            comm.recv(src=2)
        elif comm.rank == 1:
            comm.recv(src=2)  # it meant 0
            comm.send(np.zeros(1), dst=2)
        else:
            comm.recv(src=1)
            comm.send(np.zeros(1), dst=0)

    error = deadlocked(usual_method, wrong_peer, workers=3)
    assert error.cycle == [1, 2]
    assert f"rank 1 waits in recv(src=2), at {line_of(wrong_peer, 'it meant')}" in str(error)
    assert error.consequences[0].startswith("rank 0 waited in recv(src=2), at test_deadlocks.py")


def test_sendrecv_with_partners_that_do_not_match(usual_method):
    def skewed(comm):
        comm.sendrecv(np.zeros(1), dst=(comm.rank + 1) % 3, src=(comm.rank + 1) % 3)

    error = deadlocked(usual_method, skewed, workers=3)
    assert error.cycle == [0, 1, 2]
    assert "rank 0 waits in sendrecv(src=1)" in str(error)


@pytest.mark.parametrize("missing", [0, 2])
def test_a_barrier_that_one_rank_does_not_reach_names_it_and_its_place(usual_method, missing):
    def barrier_but_one(comm, missing):
        if comm.rank == missing:
            comm.recv(src=(missing + 1) % comm.size)  # not in the barrier
        comm.barrier()
        comm.send(np.zeros(1), dst=missing)

    error = deadlocked(usual_method, barrier_but_one, missing, workers=4)
    assert missing in error.cycle
    assert f", at {line_of(barrier_but_one, '# not in')}" in str(error)
    assert f"waits in barrier() for rank {missing}" in str(error)
    assert "every rank must call barrier() equally often" in str(error)


def test_a_barrier_that_one_rank_never_calls_names_it(usual_method):
    def skip(comm):
        if comm.rank != 1:
            comm.barrier()

    with pytest.raises(PeerFinishedError, match="rank 1, which has already returned without call"):
        run(skip, workers=3, start_method=usual_method)


def test_recv_any_of_all_who_are_left(usual_method):
    def all_listen(comm):
        if comm.rank < 2:
            comm.recv_any()

    error = deadlocked(usual_method, all_listen, workers=4)
    assert error.cycle == [0, 1]
    assert "rank 0 waits in recv_any()" in str(error)
    assert error.consequences == ("rank 2 had returned", "rank 3 had returned")


def exchange(comm, tag):
    comm.recv(src=1 - comm.rank, tag=tag)  # in what was started
    comm.send(np.zeros(1), dst=1 - comm.rank, tag=tag)


def test_functions_that_ranks_have_started_are_told_by_their_names_and_lines(usual_method):
    def start_and_wait(comm):
        if comm.rank < 2:
            pair = comm.split(0)
            first, second = pair.start(exchange, "a"), pair.start(exchange, "b")
            second.wait()  # first
            first.wait()
        else:
            comm.split(None)
            comm.recv(src=1)

    error = deadlocked(usual_method, start_and_wait, workers=3)
    place = line_of(exchange, "# in what")
    assert error.cycle == [0, 1]
    for rank in (0, 1):
        told = f"rank {rank} waits in recv(src={1 - rank}, tag='a') in "
        assert f"{told}'world/split 1 color 0/start 1', at {place}" in str(error)
    assert error.consequences[0].startswith("rank 2 waited in recv(src=1), at test_deadlocks.py")


def test_a_rank_whose_started_function_can_go_on_is_not_stuck(usual_method):
    """Its function waits, and another flow of it too, but the other side of that is at work."""

    def lend_a_hand(comm):
        pending = comm.start(late)
        if comm.rank == 0:
            comm.recv(src=1)  # which waits for what it has started, which waits for rank 0's
        pending.wait()
        if comm.rank == 1:
            comm.send(np.zeros(1), dst=0)
        return comm.rank

    def late(child):
        if child.rank == 0:
            time.sleep(1.0)
            child.send(np.zeros(1), dst=1)
        else:
            child.recv(src=0)

    assert run(lend_a_hand, workers=2, start_method=usual_method).values == [0, 1]


def test_a_circle_across_communicators(usual_method):
    def crossed(comm):
        pair = comm.split(0)
        if comm.rank == 0:
            pair.recv(src=1, tag="pair")
            comm.send(np.zeros(1), dst=1)
        else:
            comm.recv(src=0, tag="world")
            pair.send(np.zeros(1), dst=0)

    error = deadlocked(usual_method, crossed)
    assert error.cycle == [0, 1]
    assert "rank 0 waits in recv(src=1, tag='pair') on 'world/split 1 color 0', at " in str(error)
    assert "rank 1 waits in recv(src=0, tag='world'), at " in str(error)


def test_a_split_that_one_rank_does_not_reach_names_it(usual_method):
    def split_but_one(comm):
        if comm.rank == 1:
            comm.recv(src=2)
        comm.split(0)

    error = deadlocked(usual_method, split_but_one, workers=3)
    assert "rank 0 waits in split() for rank 1, at " in str(error)
    assert "every rank must call split() equally often" in str(error)


def test_a_circle_is_found_while_others_work(usual_method):
    def two_in_a_circle(comm):
        if comm.rank < 2:
            comm.recv(src=1 - comm.rank)
        while comm.rank == 2:
            pass

    error = deadlocked(usual_method, two_in_a_circle, workers=3)
    assert str(error).startswith("deadlock: ranks 0 and 1 cannot go on, each waits for the next")
    assert error.consequences[0].startswith("rank 2 was running, at test_deadlocks.py, line ")


def in_pairs(comm):
    if comm.rank < 4:
        comm.recv(src=comm.rank ^ 1)  # in pairs
    else:
        comm.recv(src=3)


def test_two_circles_are_both_told(usual_method):
    error = deadlocked(usual_method, in_pairs, workers=5)
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


def test_who_has_returned_from_a_started_function_is_not_said_to_have_started_it_too_seldom(
    usual_method,
):
    def listen_to_1(child):
        if child.rank == 0:
            child.recv(src=1)

    with pytest.raises(PeerFinishedError) as raised:
        run(lambda comm: comm.start(listen_to_1).wait(), workers=2)
    assert "if it has never started this: every rank must call start()" in str(raised.value)
