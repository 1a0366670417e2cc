"""Ranks that crash, and perhaps come back: who goes on, what is lost, and what is told.

The hand-computed cases use a latency of 10 s and 1 s a byte, so that every time is a small integer.
"""

import re

import numpy as np
import pytest

from course_lib.comm.errors import DeadlockError, RankLost, WorkerKilled
from course_lib.comm.result import Lost
from course_lib.comm.simulated.faults import Crash
from tests.simulated.test_faults import BIG, busy, numbers, simulate


def wait_for(comm, what):
    """Rank 2 is in ``what`` when it crashes at 20 s; the others have nothing to do with it."""
    if comm.rank == 2:
        if what == "compute":
            busy(comm, 100)
        elif what == "recv":
            comm.recv(src=0)
        elif what == "send":
            comm.send(np.zeros(BIG), dst=0)
        elif what == "nic":
            comm.send(np.zeros(100, "u1"), dst=3)
        elif what == "started":
            comm.start(busy, 100).wait()
    else:
        if what == "started":
            comm.start(busy, 1).wait()
        if what == "nic" and comm.rank == 3:
            with pytest.raises(RankLost):
                comm.recv(src=2)
            return "lost"
        busy(comm, 30)
    return comm.rank


WHATS = ["compute", "recv", "send", "nic", "started"]


@pytest.mark.parametrize("what", WHATS)
def test_survivors_that_do_not_need_the_dead_rank_return(what):
    result = simulate(wait_for, what, workers=4, faults=[Crash(2, 20.0)], survive=True)
    values = result.values
    last = "lost" if what == "nic" else 3  # what had not arrived is lost
    assert [values[0], values[1], values[3]] == [0, 1, last]
    assert values[2].reason.startswith("rank 2 crashed at 20 s of virtual time")
    told = [(fault.kind, fault.rank, fault.time_s) for fault in result.trace.faults]
    assert told == [("Crash", 2, 20.0), ("RankLost", 2, 20.0)]


@pytest.mark.parametrize("what", WHATS)
def test_a_crash_ends_the_run_and_says_where_everybody_was(what):
    with pytest.raises(WorkerKilled) as raised:
        simulate(wait_for, what, workers=4, faults=[Crash(2, 20.0)])
    text = str(raised.value)
    assert raised.value.rank == 2
    assert text.startswith("rank 2 crashed at 20 s of virtual time, as the schedule of faults says")
    assert re.search(r"at test_\w+\.py, line \d+", text.splitlines()[0])  # some are in busy
    assert "the same again: faults=Faults([Crash(rank=2, at_s=20.0" in text
    assert "rank 0 could go on, at test_faults.py, line" in text
    if what == "recv":
        assert "; it waited in recv(src=0), at" in text


@pytest.mark.parametrize("verb", ["recv", "barrier", "recv_any", "send", "split"])
def test_who_needs_a_dead_rank_in_any_verb_is_told_at_that_moment(verb):
    def wait(comm):
        if comm.rank == 1:
            busy(comm, 100)
        arguments = {"recv": (1,), "send": (np.zeros(BIG), 1), "split": (0,)}.get(verb, ())
        with pytest.raises(RankLost) as raised:
            getattr(comm, verb)(*arguments)
        return raised.value.rank, comm.clock()

    result = simulate(wait, faults=[Crash(1, 20.0)], survive=True)
    assert result.values[0] == (1, 20.0)
    assert result.elapsed_s == 20.0


def test_a_rank_that_dies_in_a_barrier_is_not_in_it_any_more():
    def meet(comm):
        busy(comm, 10 * comm.rank)
        with pytest.raises(RankLost):
            comm.barrier()
        return comm.clock()

    result = simulate(meet, workers=3, faults=[Crash(0, 15.0)], survive=True)
    assert result.values[1:] == [15.0, 20.0]


def test_the_schedule_says_when_a_rank_is_started_again_and_restart_may_be_left_out():
    def work(comm):
        if comm.rank == 1:
            busy(comm, 10)
            comm.send(np.full(5, comm.incarnation, np.uint8), dst=0)
            return comm.incarnation, comm.clock()
        with pytest.raises(RankLost):
            comm.recv(src=1)
        return comm.recv(src=1).tolist(), comm.clock()

    crashes = [Crash(1, 5.0, restart_at_s=50.0)]
    result = simulate(work, faults=crashes, survive=True)
    assert result.values == [([1] * 5, 75.0), (1, 65.0)]
    told = [(fault.kind, fault.time_s) for fault in result.trace.faults]
    assert told == [("Crash", 5.0), ("RankLost", 5.0), ("Restart", 50.0)]


def test_recv_any_goes_on_with_those_that_are_left():
    def gather(comm):
        if comm.rank == 0:
            return sorted(comm.recv_any()[0] for _ in range(3))
        busy(comm, 10 * comm.rank)
        comm.send(np.zeros(1), dst=0)
        return comm.rank

    result = simulate(gather, workers=5, faults=[Crash(2, 15.0)], survive=True)
    assert result.values[:2] + result.values[3:] == [[1, 3, 4], 1, 3, 4]


def test_who_waits_for_anybody_waits_first_of_all_for_those_who_live():
    def circle(comm):
        if comm.rank == 0:
            comm.recv_any()
        elif comm.rank == 1:
            busy(comm, 100)
        else:
            comm.recv(src=0)

    with pytest.raises(DeadlockError) as raised:
        simulate(circle, workers=3, faults=[Crash(1, 20.0)], survive=True)
    assert raised.value.cycle == [0, 2]
    assert "at 20 s: rank 1 crashed at 20 s of virtual time" in str(raised.value)


def test_a_crash_after_the_rank_has_returned_is_none():
    result = simulate(numbers, 1, 1, faults=[Crash(0, 6.0), Crash(1, 99.0)])
    assert result.values == [5.0, [(1, 15.0)]]
    assert result.trace.faults == []
    assert result.elapsed_s == 15.0


def swallow_for_ever(comm):
    while True:
        try:
            comm.recv(src=1)
        except BaseException:
            continue


def swallow_and_return(comm):
    try:
        comm.recv(src=1)
    except BaseException:
        return "I do not die"


@pytest.mark.parametrize("swallow", [swallow_for_ever, swallow_and_return])
def test_what_a_dying_rank_does_changes_nothing(swallow):
    def stubborn(comm, waits):
        if comm.rank == 0:
            return swallow(comm)
        busy(comm, 30)
        if waits:
            with pytest.raises(RankLost):
                comm.recv(src=0)
        return comm.rank

    for waits in (False, True):
        values = simulate(stubborn, waits, faults=[Crash(0, 20.0)], survive=True).values
        assert isinstance(values[0], Lost)
        assert values[1] == 1
