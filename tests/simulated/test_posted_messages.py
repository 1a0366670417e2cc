"""When messages of ``isend`` and ``irecv`` travel: NICs, routes, overlap, and faults.

The hand-computed cases use a latency of 10 s and 1 s a byte, so that every time is a small integer;
a message of more than ``EAGER_BYTES`` is a large one, and waits until its receive is posted.
"""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.comm.errors import PeerFinishedError, RankLost
from course_lib.comm.simulated.faults import Crash, Delay, Drop, Duplicate
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.topologies import SlowLink, SlowNic
from tests.simulated.test_faults import BIG, HAND, busy, simulate, told

LATENCY_S = HAND.latency_s
FAR = Network("far", latency_s=100.0, bandwidth_bytes_per_s=0.5, flops_per_s=1.0)


def stream(comm, sizes, posts):
    """Rank 0 sends to the last rank, which receives, each in its way; return when all was over."""
    last = comm.size - 1
    if comm.rank == 0:
        if posts:
            for going in [comm.isend(np.ones(size, "u1"), last) for size in sizes]:
                going.wait()
        else:
            for size in sizes:
                comm.send(np.ones(size, "u1"), last)
    elif comm.rank == last:
        if posts:
            for coming in [comm.irecv(0) for _ in sizes]:
                coming.wait()
        else:
            for _ in sizes:
                comm.recv(0)
    return comm.clock()


def seconds(fn, *args, network=HAND, workers=2, **options):
    values = run(fn, *args, workers=workers, network=network, backend="simulated", **options).values
    return values[-1]


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(1, 40), min_size=2, max_size=8))
def test_messages_that_are_awaited_stream_back_to_back(sizes):
    posted = seconds(stream, sizes, True, rendezvous=True)
    assert posted == pytest.approx(LATENCY_S + sum(sizes), rel=1e-9)
    one_by_one = len(sizes) * LATENCY_S + sum(sizes)  # a latency for each
    assert one_by_one - posted >= 10 * 1e-9 * posted
    assert seconds(stream, sizes, False, rendezvous=True) == pytest.approx(one_by_one, rel=1e-9)


# network, workers, when messages of 5, 7 and 3 bytes are there: latencies + bytes of the narrowest
ROUTES = {
    "a ring's neighbours": (networks.ring(HAND), 2, 10 + 15),
    "a ring, the other way round": (networks.ring(HAND), 4, 10 + 15),
    "inside a host": (networks.two_level(HAND, FAR, 2), 2, 10 + 15),
    "between hosts": (networks.two_level(HAND, FAR, 1), 2, 100 + 2 * 15),
    "a slow NIC": (dataclasses.replace(HAND, slow=(SlowNic(1, 3.0),)), 2, 30 + 3 * 15),
    "a slow link": (dataclasses.replace(HAND, slow=(SlowLink(0, 1, 4.0),)), 2, 40 + 4 * 15),
}


@pytest.mark.parametrize("case", ROUTES)
def test_a_stream_over_any_route_pays_the_latency_once(case):
    network, workers, expected = ROUTES[case]
    found = seconds(stream, [5, 7, 3], True, network=network, workers=workers, rendezvous=True)
    assert found == pytest.approx(expected, rel=1e-9)
    each = seconds(stream, [5, 7, 3], False, network=network, workers=workers, rendezvous=True)
    assert each - found >= 10 * 1e-9 * found


def overlapped(comm, n_bytes, compute_s, posts):
    other = 1 - comm.rank
    if not posts:
        comm.sendrecv(np.ones(n_bytes, "u1"), other, other)
        busy(comm, compute_s)
        return comm.clock()
    going, coming = comm.isend(np.ones(n_bytes, "u1"), other), comm.irecv(other)
    busy(comm, compute_s)
    coming.wait()
    going.wait()
    return comm.clock()


@settings(max_examples=30)
@given(n_bytes=st.integers(1, 100), compute_s=st.integers(1, 200), rendezvous=st.booleans())
def test_a_message_and_a_computation_take_as_long_as_the_longer(n_bytes, compute_s, rendezvous):
    message_s = LATENCY_S + n_bytes
    found = seconds(overlapped, n_bytes, compute_s, True, rendezvous=rendezvous)
    assert found == pytest.approx(max(message_s, compute_s), rel=1e-9)
    one_after_the_other = seconds(overlapped, n_bytes, compute_s, False, rendezvous=rendezvous)
    assert one_after_the_other == pytest.approx(message_s + compute_s, rel=1e-9)
    assert one_after_the_other - found >= 10 * 1e-9 * found


def test_a_nic_sends_one_message_after_another_to_whomever():
    def scatter(comm):
        if comm.rank == 0:
            for going in [comm.isend(np.ones(5, "u1"), dst) for dst in range(1, comm.size)]:
                going.wait()
        else:
            comm.irecv(0).wait()
        return comm.clock()

    values = run(scatter, workers=4, network=HAND, backend="simulated").values
    assert values == [15, 15, 20, 25]  # not 15 each: that would be three NICs


def test_a_nic_receives_one_message_after_another_from_whomever():
    def collect(comm):
        if comm.rank > 0:
            comm.send(np.ones(5, "u1"), 0)
            return None
        coming = [comm.irecv(src) for src in range(1, comm.size)]
        return [(pending.wait().size, comm.clock())[1] for pending in coming]

    assert seconds_of_first(collect, 4) == [15, 20, 25]


def seconds_of_first(fn, workers):
    return run(fn, workers=workers, network=HAND, backend="simulated").values[0]


def test_the_transfer_of_a_large_message_begins_when_both_have_posted_it():
    def late(comm, first):
        if comm.rank != first:
            busy(comm, 50)
        pending = comm.isend(np.ones(BIG, "u1"), 1) if comm.rank == 0 else comm.irecv(0)
        busy(comm, 1000)
        pending.wait()
        return comm.clock()

    for first in (0, 1):
        values = run(late, first, workers=2, network=HAND, backend="simulated").values
        assert values == [50 + BIG, 50 + LATENCY_S + BIG]


def test_a_small_message_leaves_behind_a_large_one_that_was_posted_before_it():
    def work(comm):
        if comm.rank == 0:
            large, small = comm.isend(np.ones(BIG, "u1"), 1), comm.isend(np.ones(5, "u1"), 1)
            small.wait()
            sent_s = comm.clock()
            large.wait()
            return sent_s
        busy(comm, 100)
        comm.recv(0)
        busy(comm, 100)
        comm.recv(0)
        return comm.clock()

    result = simulate(work)
    assert result.values == [100 + BIG + 5, 100 + LATENCY_S + BIG + 100]
    large, small = result.trace.messages
    assert (large.n_bytes, small.n_bytes) == (BIG, 5)
    assert (large.sent_s, small.sent_s) == (100 + BIG, 105 + BIG)
    assert small.arrived_s == 100 + LATENCY_S + BIG + 5


def test_asking_again_and_again_costs_no_time_of_its_own():
    def ask(comm):
        if comm.rank == 0:
            busy(comm, 70)
            comm.send(np.ones(5, "u1"), 1)
            return None
        coming = comm.irecv(0)
        assert not coming.test()
        while not coming.test():
            pass
        return comm.clock()

    assert seconds(ask) == 85.0


# Faults


def posted(comm, n_sent, n_received, n_bytes=5):
    """Rank 0 sends 1, 2, 3, ...; rank 1 has posted all receives: return what came, and when."""
    if comm.rank == 0:
        for number in range(1, n_sent + 1):
            comm.isend(np.full(n_bytes, number, "u1"), dst=1)
        return None
    coming = [comm.irecv(0) for _ in range(n_received)]
    return [(int(pending.wait()[0]), comm.clock()) for pending in coming]


TIMES = {
    "none": ([], 3, 3, [(1, 15), (2, 20), (3, 25)]),
    "dropped": ([Drop(0, 1, 2)], 3, 2, [(1, 15), (3, 25)]),
    "doubled": ([Duplicate(0, 1, 2)], 3, 4, [(1, 15), (2, 20), (2, 25), (3, 30)]),
    "the first doubled": ([Duplicate(0, 1, 1)], 2, 3, [(1, 15), (1, 20), (2, 25)]),
    "held up": ([Delay(0, 1, 2, 7.0)], 3, 3, [(1, 15), (2, 27), (3, 32)]),
}


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize("case", TIMES)
def test_faults_meet_posted_messages_as_others(case, rendezvous):
    faults, n_sent, n_received, expected = TIMES[case]
    result = simulate(posted, n_sent, n_received, faults=faults, rendezvous=rendezvous)
    assert result.values[1] == expected


def test_a_copy_comes_right_behind_its_message_also_where_others_wait_behind_that():
    def work(comm):
        if comm.rank == 0:
            for number in (1, 2, 3):
                comm.isend(np.full(BIG, number, "u1"), 1)
            return None
        busy(comm, 10)  # all three lie there
        return [int(comm.recv(0)[0]) for _ in range(4)]

    assert simulate(work, faults=[Duplicate(0, 1, 1)]).values[1] == [1, 1, 2, 3]


def test_who_waits_for_a_posted_message_that_was_lost_is_told():
    with pytest.raises(PeerFinishedError, match="rank 0 to rank 1, which waits for it, had been"):
        simulate(posted, 1, 1, faults=[Drop(0, 1, 1)])


def test_messages_that_a_crashed_rank_had_begun_to_send_are_not_sent():
    def work(comm):
        if comm.rank == 0:
            for number in (1, 2):
                comm.isend(np.full(BIG, number, "u1"), 1)
            busy(comm, 100)
            return None
        busy(comm, 60)  # neither has left when rank 0 crashes
        return [int(comm.recv(0)[0]) for _ in range(2)]

    result = simulate(work, faults=[Crash(0, 50.0, restart_at_s=200.0)])
    assert result.values[1] == [1, 2]  # of its second life
    assert [message.posted_s for message in result.trace.messages] == [200.0, 200.0]


def test_what_a_crashed_rank_had_posted_takes_nothing_any_more():
    def work(comm):
        if comm.rank == 0:
            busy(comm, 100)
            for number in (1, 2):
                comm.isend(np.full(5, number, "u1"), 1)
            return None
        coming = [comm.irecv(0) for _ in range(2)]
        busy(comm, 10)
        return [int(pending.wait()[0]) for pending in coming]

    result = simulate(work, faults=[Crash(1, 5.0, restart_at_s=40.0)])
    assert result.values[1] == [1, 2]
    assert told(result.trace) == [("Crash", 1, 5.0), ("Restart", 1, 40.0)]


def test_messages_that_were_there_for_a_crashed_rank_are_lost_with_it():
    def work(comm):
        if comm.rank == 0:
            comm.isend(np.full(5, 1, "u1"), 1)
            busy(comm, 200)
            comm.isend(np.full(5, 2, "u1"), 1)
            return None
        coming = comm.irecv(0)
        busy(comm, 50)
        return int(coming.wait()[0])

    result = simulate(work, faults=[Crash(1, 20.0, restart_at_s=100.0)])
    assert result.values[1] == 2
    assert "1 unread message went with it" in result.trace.faults[0].text
    assert [message.received_s for message in result.trace.messages] == [None, 215.0]


def test_a_large_message_waits_for_the_second_life_of_its_receiver():
    def work(comm):
        if comm.rank == 0:
            going = comm.isend(np.ones(BIG, "u1"), 1)
            small = comm.isend(np.ones(5, "u1"), 1)
            going.wait()
            small.wait()
            return comm.clock()
        busy(comm, 50)
        coming = [comm.irecv(0) for _ in range(2)]
        return [(len(pending.wait()), comm.clock()) for pending in coming]

    result = simulate(work, faults=[Crash(1, 20.0, restart_at_s=100.0)])
    there_s = 150 + LATENCY_S + BIG
    assert result.values == [150 + BIG + 5, [(BIG, there_s), (5, there_s + 5)]]


def test_who_waits_for_a_posted_message_of_a_rank_that_stays_down_is_told():
    def work(comm):
        if comm.rank == 0:
            busy(comm, 100)
            return
        coming = comm.irecv(0)
        busy(comm, 1)
        with pytest.raises(RankLost) as raised:
            coming.wait()
        return raised.value.rank, comm.clock()

    assert simulate(work, faults=[Crash(0, 50.0)], survive=True).values[1] == (0, 50.0)


def test_the_receiver_returns_while_two_posted_messages_wait_for_it():
    def work(comm):
        if comm.rank == 0:
            large, small = comm.isend(np.ones(BIG, "u1"), 1), comm.isend(np.ones(5, "u1"), 1)
            with pytest.raises(PeerFinishedError, match="without receiving it"):
                large.wait()
            small.wait()  # it may be sent, and is lost
        return comm.clock()

    with pytest.warns(UserWarning, match="1 unreceived message"):
        values = simulate(work).values
    assert math.isclose(values[0], 5.0, rel_tol=1e-9)
