"""Ranks that come back after a crash: what they remember, and what was lost meanwhile.

The hand-computed cases use a latency of 10 s and 1 s a byte, so that every time is a small integer.
"""

import numpy as np
import pytest

from course_lib.comm.errors import SimulationError, WorkerKilled
from course_lib.comm.simulated.faults import Crash
from tests.simulated.test_faults import BIG, busy, simulate, told


def lives(comm):
    """Rank 1 asks rank 0 in which life it is, works, and tells when it is done."""
    if comm.rank == 0:
        answers = 0
        while comm.recv(src=1)[0] == 0:
            answers += 1
            comm.send(np.full(5, answers, "u1"), dst=1)
        return answers
    comm.send(np.zeros(5, "u1"), dst=0)
    life = int(comm.recv(src=0)[0])
    busy(comm, 100)
    comm.send(np.ones(5, "u1"), dst=0)
    return life, comm.clock(), float(comm.rng.random())


def test_a_rank_that_is_started_again_begins_from_the_start():
    first = simulate(lives)
    again = simulate(lives, faults=[Crash(1, 60.0, restart_at_s=200.0)])
    assert first.values[1][:2] == (1, 135.0)
    assert again.values[1][:2] == (2, 335.0)
    assert again.values[1][2] == first.values[1][2]  # with the same random numbers
    assert again.values[0] == 2
    assert told(again.trace) == [("Crash", 1, 60.0), ("Restart", 1, 200.0)]


def test_a_rank_can_crash_again_and_again():
    faults = [Crash(1, 60.0, 200.0), Crash(1, 260.0, 400.0), Crash(1, 410.0, 500.0)]
    result = simulate(lives, faults=faults)
    assert result.values[1][:2] == (4, 635.0)


def test_what_had_not_been_received_dies_with_the_rank():
    def send_and_wait(comm):
        if comm.rank == 0:
            for number in range(4):  # there at 15, at 20; and lost at 40, at 60
                comm.send(np.full(5, number, "u1"), dst=1)
                busy(comm, [0, 30, 15, 50][number])
            comm.send(np.full(5, 9, "u1"), dst=1)
            return None
        busy(comm, 30)
        return int(comm.recv(src=0)[0])

    result = simulate(send_and_wait, faults=[Crash(1, 25.0, restart_at_s=100.0)])
    assert result.values[1] == 9
    assert [fault.kind for fault in result.trace.faults] == ["Crash", "Lost", "Lost", "Restart"]
    assert result.trace.faults[0].text.endswith("2 unread messages went with it")
    assert len(result.trace.unreceived()) == 4


def test_a_large_message_waits_at_its_sender_until_the_rank_is_back():
    def send_large(comm):
        if comm.rank == 0:
            busy(comm, 10)
            comm.send(np.full(BIG, 7, "u1"), dst=1)
            return comm.clock()
        busy(comm, 30)
        return int(comm.recv(src=0)[0])

    for at_s in (20.0, 5.0):  # the message is posted before, or while the rank is down
        result = simulate(send_large, faults=[Crash(1, at_s, restart_at_s=100.0)])
        assert result.values == [130.0 + BIG, 7]


def test_a_message_that_waited_at_the_dead_rank_is_gone():
    def receive_late(comm):
        if comm.rank == 0:
            busy(comm, 50)
            return int(comm.recv(src=1)[0]), comm.clock()
        comm.send(np.full(BIG, 1, "u1"), dst=0)  # at 10 s it has not started
        return None

    result = simulate(receive_late, faults=[Crash(1, 10.0, restart_at_s=70.0)])
    assert result.values[0] == (1, 80.0 + BIG)
    assert result.trace.n_messages == 1


def test_what_waits_in_the_nic_of_a_dead_rank_is_gone_too():
    def send_five(child):
        if child.rank == 0:
            child.send(np.zeros(5, "u1"), dst=1)  # waits for the NIC until 100 s

    def queue(comm):
        if comm.rank == 1:
            comm.start(send_five)
            return comm.recv(src=0).size
        if comm.clock() < 20:
            comm.start(send_five)
            comm.send(np.zeros(100, "u1"), dst=1)
        return comm.clock()

    result = simulate(queue, faults=[Crash(0, 20.0, restart_at_s=30.0)])
    assert result.values == [30.0, 100]
    assert [m.n_bytes for m in result.trace.messages] == [100]


def test_barriers_work_after_a_restart():
    def meet(comm):
        busy(comm, 10)
        comm.barrier()
        return comm.clock()

    result = simulate(meet, workers=3, faults=[Crash(1, 5.0, restart_at_s=50.0)])
    assert result.values == [60.0] * 3


@pytest.mark.parametrize("verb", ["split", "start"])
def test_a_rank_that_is_started_again_cannot_split_or_start(verb):
    def two_lives(comm):
        if verb == "split":
            comm.split(0)
        else:
            comm.start(busy, 1)
        busy(comm, 50)

    with pytest.raises(SimulationError, match=rf"rank 1 called {verb}\(\) after it had crashed"):
        simulate(two_lives, faults=[Crash(1, 20.0, restart_at_s=40.0)])


def test_who_waits_for_the_former_life_is_told():
    def in_a_group(comm):
        if comm.rank == 1 and comm.clock() > 20:
            return None
        half = comm.split(0)
        busy(comm, 30)
        return half.recv(src=1) if half.rank == 0 else busy(comm, 100)

    with pytest.raises(WorkerKilled, match=r"split 1.*but rank 1 has lost what it had to do with"):
        simulate(in_a_group, faults=[Crash(1, 40.0, restart_at_s=50.0)])
