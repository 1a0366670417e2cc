"""Faults by a schedule: what happens to messages and ranks, and what a learner is told.

The hand-computed cases use a latency of 10 s and 1 s a byte, so that every time is a small integer.
"""

import math

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import (
    DeadlockError,
    PeerFinishedError,
    RunError,
    SimulationError,
    UnreceivedMessagesWarning,
    WorkerKilled,
)
from course_lib.comm.simulated.faults import (
    Crash,
    Delay,
    Drop,
    Duplicate,
    Faults,
    Partition,
    SlowLink,
    schedule,
)
from course_lib.comm.simulated.network import Network

HAND = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)
BIG = EAGER_BYTES + 1


def simulate(fn, *args, faults=(), survivors_go_on=False, **options):
    schedule = Faults(faults, survivors_go_on=survivors_go_on)
    options = {"workers": 2, "network": HAND, "backend": "simulated", **options}
    return run(fn, *args, faults=schedule, **options)


def told(trace):
    return [(fault.kind, fault.rank, fault.time_s) for fault in trace.faults]


def busy(comm, seconds):
    with comm.compute("busy", flops=float(seconds)):
        pass


def numbers(comm, n_sent, n_received, n_bytes=5):
    """Rank 0 sends 1, 2, 3, ...; rank 1 returns what it receives, and when."""
    if comm.rank == 0:
        for number in range(1, n_sent + 1):
            comm.send(np.full(n_bytes, number, "u1"), dst=1)
        return comm.clock()
    return [(int(comm.recv(src=0)[0]), comm.clock()) for _ in range(n_received)]


# Messages

TIMES = {
    "none": ([], 3, 3, [(1, 15), (2, 20), (3, 25)]),
    "dropped": ([Drop(0, 1, 2)], 3, 2, [(1, 15), (3, 25)]),
    "of the other direction": ([Drop(1, 0, 2)], 3, 3, [(1, 15), (2, 20), (3, 25)]),
    "doubled": ([Duplicate(0, 1, 2)], 3, 4, [(1, 15), (2, 20), (2, 25), (3, 30)]),
    "delayed, and what comes behind": ([Delay(0, 1, 1, 7.0)], 3, 3, [(1, 22), (2, 27), (3, 32)]),
    "delayed by little": ([Delay(0, 1, 2, 1.0)], 3, 3, [(1, 15), (2, 21), (3, 26)]),
    "slow": ([SlowLink(0, 1, 3.0)], 2, 2, [(1, 45), (2, 60)]),
    "slow for a while": ([SlowLink(0, 1, 3.0, 5.0, 8.0)], 3, 3, [(1, 15), (2, 50), (3, 50)]),
    "cut off for a while": ([Partition((1,), 4.0, 50.0)], 3, 3, [(1, 15), (2, 65), (3, 70)]),
    "cut off with the sender": ([Partition((0, 1), 4.0, 50.0)], 3, 3, [(1, 15), (2, 20), (3, 25)]),
    "lost while cut off": ([Partition((0,), 4.0, 9.0, True)], 3, 2, [(1, 15), (3, 25)]),
}


@pytest.mark.parametrize("name", TIMES)
def test_what_arrives_and_when(name):
    faults, n_sent, n_received, expected = TIMES[name]
    result = simulate(numbers, n_sent, n_received, faults=faults)
    assert result.values == [5.0 * n_sent, expected]  # the sender's card does not notice


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize("n_bytes", [5, BIG])
def test_large_messages_and_those_in_rendezvous_meet_with_the_same_faults(n_bytes, rendezvous):
    faults = [Drop(0, 1, 1), Duplicate(0, 1, 2), Drop(0, 1, 4)]
    values = simulate(numbers, 4, 3, n_bytes, faults=faults, rendezvous=rendezvous).values
    assert [number for number, _ in values[1]] == [2, 2, 3]
    assert values[0] >= 4.0 * n_bytes


def test_faults_of_messages_are_on_the_trace_and_name_no_failed_rank():
    faults = [Drop(0, 1, 2), Duplicate(0, 1, 3), Delay(0, 1, 1, 7.0), SlowLink(0, 1, 1.0, 2.0)]
    result = simulate(numbers, 3, 3, faults=faults)
    assert told(result.trace) == [
        ("Delay", None, 0.0), ("SlowLink", None, 2.0), ("Drop", None, 5.0),
        ("Duplicate", None, 10.0),
    ]  # fmt: skip
    assert result.trace.faults[2].text == "message 2 from rank 0 to rank 1 was dropped"
    sent = [(m.posted_s, m.received_s is None) for m in result.trace.messages]
    assert sent == [(0, False), (5, True), (10, False), (10, False)]


def test_recv_any_takes_a_copy_too():
    def gather(comm):
        if comm.rank == 0:
            return [comm.recv_any()[0] for _ in range(3)]
        return comm.send(np.zeros(5, "u1"), dst=0)

    result = simulate(gather, workers=3, faults=[Duplicate(2, 0, 1)])
    assert result.values[0] == [1, 2, 2]


def test_a_copy_that_nobody_receives_is_a_warning():
    with pytest.warns(UnreceivedMessagesWarning, match="1 unreceived message"):
        simulate(numbers, 1, 1, faults=[Duplicate(0, 1, 1)])


def test_who_waits_for_a_dropped_message_is_told_so():
    with pytest.raises(PeerFinishedError) as raised:
        simulate(numbers, 3, 3, faults=[Drop(0, 1, 2)])
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("rank 1 waits in recv(src=0), at test_faults.py, line")
    assert lines[2:] == [
        "a message from rank 0 to rank 1, which waits for it, had been lost",
        "faults that had happened:",
        "  at 5 s: message 2 from rank 0 to rank 1 was dropped",
        "the same again: faults=Faults([Drop(src=0, dst=1, nth=2)])",
    ]
    assert told(raised.value.trace)[0] == ("Drop", None, 5.0)


def test_messages_on_started_functions_communicators_count_with_the_others():
    def swap(child):
        return child.sendrecv(np.full(5, child.rank, "u1"), 1 - child.rank, 1 - child.rank)

    def beside(comm):
        pending = comm.start(swap)
        other = 1 - comm.rank
        comm.sendrecv(np.zeros(5, "u1"), other, other)
        return int(pending.wait()[0])

    assert simulate(beside, faults=[Delay(0, 1, 2, 3.0)]).values == [1, 0]
    with pytest.raises(DeadlockError, match=r"world/start 1|which waits for it, had been lost"):
        simulate(beside, faults=[Drop(0, 1, 2), Drop(1, 0, 2)])


def test_a_message_that_waits_for_its_card_again_is_counted_once():
    def beside(child):
        if child.rank == 0:
            return child.send(np.zeros(BIG), dst=1)  # at 0 s; at 2 s its card is in use
        busy(child, 2)
        return child.recv(src=0).size

    def numbered(comm):
        pending = comm.start(beside)
        busy(comm, 1)
        if comm.rank == 1:
            assert pending.wait() == BIG
            return [int(comm.recv(src=0)[0]) for _ in range(2)]
        for number in range(3):
            comm.send(np.full(100, number, "u1"), dst=1)
            pending.wait()
        return None

    assert simulate(numbered, faults=[Drop(0, 1, 3)]).values[1] == [0, 2]


# Crashes


def wait_for(comm, what):
    """Rank 2 is in ``what`` when it crashes at 20 s; the others have nothing to do with it."""
    if comm.rank == 2:
        if what == "compute":
            busy(comm, 100)
        elif what == "recv":
            comm.recv(src=0)
        elif what == "send":
            comm.send(np.zeros(BIG), dst=0)
        elif what == "card":
            comm.send(np.zeros(100, "u1"), dst=3)
        elif what == "started":
            comm.start(busy, 100).wait()
    else:
        if what == "started":
            comm.start(busy, 1).wait()
        if what == "card" and comm.rank == 3:
            return comm.recv(src=2).size
        busy(comm, 30)
    return comm.rank


WHATS = ["compute", "recv", "send", "card", "started"]


@pytest.mark.parametrize("what", WHATS)
def test_survivors_that_do_not_need_the_dead_rank_return(what):
    result = simulate(wait_for, what, workers=4, faults=[Crash(2, 20.0)], survivors_go_on=True)
    last = 100 if what == "card" else 3  # a message that had begun to leave gets through
    assert result.values == [0, 1, None, last]
    (fault,) = result.trace.faults
    assert (fault.kind, fault.rank, fault.time_s) == ("Crash", 2, 20.0)


@pytest.mark.parametrize("what", WHATS)
def test_a_crash_ends_the_run_and_says_where_everybody_was(what):
    with pytest.raises(WorkerKilled) as raised:
        simulate(wait_for, what, workers=4, faults=[Crash(2, 20.0)])
    text = str(raised.value)
    assert raised.value.rank == 2
    assert text.startswith("rank 2 crashed at 20 s of virtual time, as the schedule of faults says")
    assert "test_faults.py, line" in text.splitlines()[0]
    assert "the same again: faults=Faults([Crash(rank=2, at_s=20.0" in text
    assert "rank 0 could go on, at test_faults.py, line" in text
    if what == "recv":
        assert "; it waited in recv(src=0), at" in text


def test_who_waits_for_a_dead_rank_is_told():
    def wait(comm):
        if comm.rank == 2:
            busy(comm, 100)
        elif comm.rank == 3:
            comm.recv(src=2)

    with pytest.raises(WorkerKilled) as raised:
        simulate(wait, workers=4, faults=[Crash(2, 20.0)], survivors_go_on=True)
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("rank 3 waits in recv(src=2), at test_faults.py, line")
    assert lines[0].endswith(", but rank 2 crashed at 20 s of virtual time")
    assert "let rank 3 do without rank 2, or start it again" in lines[1]
    assert raised.value.rank == 2


@pytest.mark.parametrize("verb", ["barrier", "recv_any", "send", "split"])
def test_who_needs_a_dead_rank_in_any_verb_is_told(verb):
    def wait(comm):
        if comm.rank == 1:
            busy(comm, 100)
        arguments = {"send": (np.zeros(BIG), 1), "split": (0,)}.get(verb, ())
        getattr(comm, verb)(*arguments)

    with pytest.raises(WorkerKilled, match=rf"rank 0 waits in {verb}\(.*but rank 1 crashed at 20"):
        simulate(wait, faults=[Crash(1, 20.0)], survivors_go_on=True)


def test_a_rank_that_dies_in_a_barrier_is_not_in_it_any_more():
    def meet(comm):
        busy(comm, 10 * comm.rank)
        comm.barrier()

    with pytest.raises(WorkerKilled, match=r"rank 1 waits in barrier\(\).*but rank 0 crashed"):
        simulate(meet, workers=3, faults=[Crash(0, 15.0)], survivors_go_on=True)


def test_recv_any_goes_on_with_those_that_are_left():
    def gather(comm):
        if comm.rank == 0:
            return sorted(comm.recv_any()[0] for _ in range(3))
        busy(comm, 10 * comm.rank)
        comm.send(np.zeros(1), dst=0)
        return comm.rank

    result = simulate(gather, workers=5, faults=[Crash(2, 15.0)], survivors_go_on=True)
    assert result.values == [[1, 3, 4], 1, None, 3, 4]


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
        return comm.recv(src=0) if waits else comm.rank

    faults = [Crash(0, 20.0)]
    assert simulate(stubborn, False, faults=faults, survivors_go_on=True).values == [None, 1]
    with pytest.raises(WorkerKilled, match=r"rank 1 waits in recv.*but rank 0 crashed at 20 s"):
        simulate(stubborn, True, faults=faults, survivors_go_on=True)


# Restarts


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


def test_what_waits_in_the_card_of_a_dead_rank_is_gone_too():
    def send_five(child):
        if child.rank == 0:
            child.send(np.zeros(5, "u1"), dst=1)  # waits for the card until 100 s

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


# Schedules


def test_a_schedule_is_the_same_for_the_same_seed_and_has_what_was_asked_for():
    counts = {"crash": 1, "restart": 2, "slow_link": 1, "drop": 2, "duplicate": 1, "delay": 1,
              "partition": 1}  # fmt: skip
    drawn = [schedule(seed, 8, within_s=2.0, **counts) for seed in range(20)]
    assert drawn == [schedule(seed, 8, within_s=2.0, **counts) for seed in range(20)]
    assert len(set(drawn)) == 20
    for faults in drawn:
        faults.check(8)
        crashes = [event for event in faults.events if isinstance(event, Crash)]
        assert len({event.rank for event in crashes}) == 3
        assert sum(event.restart_at_s is None for event in crashes) == 1
        assert all(0 < event.at_s < 2.0 for event in crashes)
        kinds = [type(event).__name__ for event in faults.events]
        assert [kinds.count(kind) for kind in ("SlowLink", "Drop", "Partition")] == [1, 2, 1]


def test_a_schedule_can_be_pasted_from_the_error():
    faults = schedule(
        3, 4, within_s=9.0, restart=1, slow_link=1, drop=1, duplicate=1, delay=1, partition=1,
        survivors_go_on=True,
    )  # fmt: skip
    assert eval(repr(faults), {**globals(), "inf": math.inf}) == faults


def test_schedules_that_differ_are_not_equal():
    assert Faults([Drop(0, 1, 1)]) == Faults([Drop(0, 1, 1)])
    assert Faults([Drop(0, 1, 1)]) != Faults([Drop(0, 1, 2)])
    assert Faults([]) != Faults([], survivors_go_on=True)
    assert Faults([]) != ()


@pytest.mark.parametrize(
    ("make", "exception", "text"),
    [
        (lambda: Crash(-1, 1.0), ValueError, "rank must be 0 or more"),
        (lambda: Crash(0, -1.0), ValueError, "at_s must be 0 or more"),
        (lambda: Crash(0, math.nan), ValueError, "at_s must be 0 or more"),
        (lambda: Crash(0, "soon"), TypeError, "at_s must be a number"),
        (lambda: Crash(0, 2.0, 2.0), ValueError, "restart_at_s must be above at_s=2.0"),
        (lambda: Drop(0, 0, 1), ValueError, "dst must be another rank"),
        (lambda: Drop(0, 1, 0), ValueError, "nth must be 1 or more"),
        (lambda: Duplicate(0, 1.0, 1), TypeError, "dst must be an int"),
        (lambda: Delay(0, 1, 1, -1.0), ValueError, "by_s must be 0 or more"),
        (lambda: Delay(0, 1, 1, math.nan), ValueError, "by_s must be 0 or more"),
        (lambda: Partition((), 0.0, 1.0), TypeError, "group must be a tuple"),
        (lambda: Partition((0,), 1.0, 0.5), ValueError, "until_s must be above from_s"),
        (lambda: Partition((0,), 1.0, math.inf), ValueError, "until_s must be finite"),
        (lambda: Faults(["crash"]), TypeError, "events must be Crash"),
        (lambda: Faults([], survivors_go_on=1), TypeError, "survivors_go_on must be True or"),
        (lambda: Faults([Crash(0, 1.0, 3.0), Crash(0, 2.0)]), ValueError, "has it down"),
        (lambda: Faults([Crash(0, 1.0), Crash(0, 1.0)]), ValueError, "has it down"),
        (lambda: schedule(1, 4, within_s=0.0), ValueError, "within_s must be above 0"),
        (lambda: schedule(1, 4, within_s=math.nan), ValueError, "within_s must be above 0"),
        (lambda: schedule(-1, 4, within_s=1.0), ValueError, "seed must be 0 or more"),
        (lambda: schedule(1, 4, within_s=1.0, drop=1.5), TypeError, "drop must be an int"),
        (lambda: schedule(1, 4, within_s=1.0, crash=3, restart=2), ValueError, "at most workers=4"),
        (lambda: schedule(1, 1, within_s=1.0, drop=1), ValueError, "workers must be 2 or more"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_by_name(make, exception, text):
    with pytest.raises(exception, match=text):
        make()


@pytest.mark.parametrize(
    "event", [Crash(2, 1.0), Drop(0, 2, 1), SlowLink(2, 0, 2.0), Partition((0, 2), 1.0, 2.0)]
)
def test_a_schedule_must_fit_the_run(event):
    def never(comm):
        raise AssertionError("this must not start")

    with pytest.raises(ValueError, match=r"faults has .*, but workers=2: there is no rank 2"):
        simulate(never, faults=[event])


def test_faults_are_for_the_simulator_and_of_their_kind():
    with pytest.raises(ValueError, match='faults is only for backend="simulated"'):
        run(numbers, 1, 1, workers=2, faults=Faults([]))
    with pytest.raises(TypeError, match="faults must be Faults such as"):
        run(numbers, 1, 1, workers=2, backend="simulated", faults=[Drop(0, 1, 1)])


def test_an_error_without_any_fault_yet_says_so():
    def fail(comm):
        raise ValueError("mine")

    with pytest.raises(RunError, match=r"mine(.|\n)*no fault had happened yet\nthe same again: f"):
        simulate(fail, faults=[Drop(0, 1, 5)])
