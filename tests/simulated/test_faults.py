"""Messages that are lost, doubled, held up or slow: when they arrive, and what is told.

The hand-computed cases use a latency of 10 s and 1 s a byte, so that every time is a small integer.
"""

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import (
    DeadlockError,
    PeerFinishedError,
    UnreceivedMessagesWarning,
)
from course_lib.comm.simulated.faults import (
    Delay,
    Drop,
    Duplicate,
    Faults,
    Partition,
    SlowLink,
)
from course_lib.comm.simulated.network import Network

HAND = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)
BIG = EAGER_BYTES + 1


def simulate(fn, *args, faults=(), **options):
    options = {"workers": 2, "network": HAND, "backend": "simulated", **options}
    return run(fn, *args, faults=Faults(faults), **options)


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
    assert result.values == [5.0 * n_sent, expected]  # the sender's NIC does not notice


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


def test_a_message_that_waits_for_its_nic_again_is_counted_once():
    def beside(child):
        if child.rank == 0:
            return child.send(np.zeros(BIG), dst=1)  # at 0 s; at 2 s its NIC is in use
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
