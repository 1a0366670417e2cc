"""Functions beside each other in virtual time: hand-computed cases, and mistakes that would show.

As in ``test_virtual_time``: a latency of 10 s, 1 s a byte, 1 s an operation. A rank's functions
share its NIC: one message leaves it after the other, and one comes in after the other.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.simulated.networks import Network
from course_lib.comm.simulated.nics import Nic

SLOW = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)


def simulate(fn, *args, workers=2, **options):
    return run(fn, *args, workers=workers, backend="simulated", network=SLOW, **options)


def nap(comm, seconds):
    with comm.compute("nap", flops=float(seconds)):
        pass


def talk(comm, late_s, sends):
    """Be late, then pass one message, if it is this rank's; return the time.

    ``sends`` is (src, dst, n_bytes), and ``late_s`` a time for each rank.
    """
    nap(comm, late_s[comm.rank])
    src, dst, n_bytes = sends
    if comm.rank == src:
        comm.send(np.zeros(n_bytes, "u1"), dst=dst)
    elif comm.rank == dst:
        comm.recv(src=src)
    return comm.clock()


def all_at_once(comm, talks):
    """Start all talks but the first, do that one, and return when each was over on this rank."""
    pending = [comm.start(talk, *each) for each in talks[1:]]
    return [talk(comm, *talks[0]), *(each.wait() for each in pending)]


NOBODY = [0, 0, 0, 0]

# ([(how late each rank is, (src, dst, n_bytes))], rendezvous, when each rank was done with each)
CASES = {
    "two messages leave one NIC one after the other": (
        [(NOBODY, (0, 1, 5)), (NOBODY, (0, 2, 5))], False,
        [[5, 10], [15, 0], [0, 20], [0, 0]],
    ),
    "two messages come in one after the other": (
        [(NOBODY, (1, 0, 5)), (NOBODY, (2, 0, 5))], False,
        [[15, 20], [5, 0], [0, 5], [0, 0]],
    ),
    "a NIC sends and receives at once": (
        [(NOBODY, (0, 1, 5)), (NOBODY, (1, 0, 7))], False,
        [[5, 17], [15, 7], [0, 0], [0, 0]],
    ),
    "who posts first leaves first, not who started first": (
        [(NOBODY, (0, 1, 10)), ([3, 0, 0, 0], (0, 2, 5)), ([1, 0, 0, 0], (0, 3, 5))], False,
        [[10, 20, 15], [20, 0, 0], [0, 30, 0], [0, 0, 25]],
    ),
    "a message that has not left keeps no receiver busy": (
        [(NOBODY, (0, 1, 100)), (NOBODY, (0, 2, 5)), ([0, 0, 0, 1], (3, 2, 5))], False,
        [[100, 105, 0], [110, 0, 0], [0, 115, 16], [0, 0, 6]],
    ),
    "messages without bytes wait for their turn too": (
        [(NOBODY, (0, 1, 8)), (NOBODY, (0, 2, 0)), (NOBODY, (0, 3, 2))], False,
        [[8, 8, 10], [18, 0, 0], [0, 18, 0], [0, 0, 20]],
    ),
    "rendezvous: the receive comes while the NIC is busy": (
        [([0, 20, 0, 0], (0, 1, 100)), ([0, 0, 50, 0], (0, 2, 5))], True,
        [[120, 125], [130, 0], [0, 135], [0, 0]],
    ),
    "rendezvous: the NIC is busy when it is posted": (
        [(NOBODY, (0, 1, 100)), ([7, 0, 0, 0], (0, 2, 5))], True,
        [[100, 105], [110, 0], [0, 115], [0, 0]],
    ),
    "rendezvous: a message that waits for its receive lets others leave": (
        [([0, 90, 0, 0], (0, 1, 5)), (NOBODY, (0, 2, 5)), (NOBODY, (0, 3, 5))], True,
        [[95, 5, 10], [105, 0, 0], [0, 15, 0], [0, 0, 20]],
    ),
}  # fmt: skip


def times(case):
    talks, rendezvous, expected = case
    values = simulate(all_at_once, talks, workers=4, rendezvous=rendezvous).values
    shown = [
        [t if rank in sends[:2] else 0 for t, (_, sends) in zip(found, talks, strict=True)]
        for rank, found in enumerate(values)
    ]
    return shown, expected


@pytest.mark.parametrize("name", CASES)
def test_flows_share_the_nic_of_their_rank(name):
    found, expected = times(CASES[name])
    assert found == expected


def no_turns(self, message, receiver):
    """Forget that a NIC sends one message after the other."""
    busy_until_s, self.sends_free_s = self.sends_free_s, -math.inf
    sender = message.sender
    sender._post_send(message, receiver, sender.flow.now_s)
    sender.flow.open_parts -= 1
    self.sends_free_s = max(self.sends_free_s, busy_until_s)


def reserve_at_once(self, message, receiver):
    """Let a message take its place on the receiver's NIC before it leaves."""
    sender, start_s = message.sender, self.sends_free_s
    self.sends_free_s = -math.inf
    sender._post_send(message, receiver, start_s)
    sender.flow.open_parts -= 1


@pytest.mark.parametrize("wrong", [no_turns, reserve_at_once])
def test_a_wrong_nic_would_be_seen(monkeypatch, wrong):
    monkeypatch.setattr(Nic, "enqueue", wrong)
    pairs = [times(case) for case in CASES.values() if not case[1]]
    assert any(found != expected for found, expected in pairs)
    assert any(found == expected for found, expected in pairs)


talks = st.tuples(
    st.lists(st.integers(0, 30), min_size=4, max_size=4),
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 20)).map(
        lambda pair: (pair[0], (pair[0] + pair[1]) % 4, pair[2])
    ),
)


def arrivals(sent):
    """Serve (posted, src, dst, bytes, number of the flow) NIC by NIC; return the arrivals."""
    leaving, free_s = [], dict.fromkeys(range(4), 0)
    in_turn = sorted(sent, key=lambda row: (row[0], row[4]))
    for turn, (posted_s, src, dst, n_bytes, _) in enumerate(in_turn):
        leaves_s = max(posted_s, free_s[src])
        queued = free_s[src] > posted_s
        free_s[src] = leaves_s + n_bytes
        leaving.append((leaves_s, src, not queued, turn, dst, n_bytes))
    arrived, free_s = [], dict.fromkeys(range(4), 0)
    for leaves_s, src, _, _, dst, n_bytes in sorted(leaving):
        free_s[dst] = max(leaves_s + 10, free_s[dst]) + n_bytes
        arrived.append((src, dst, n_bytes, leaves_s + n_bytes, free_s[dst]))
    return sorted(arrived)


@given(st.lists(talks, min_size=1, max_size=9))
@settings(max_examples=150, deadline=None)
def test_nics_serve_any_messages_as_two_queues_would(talks):
    trace = simulate(all_at_once, talks, workers=4).trace
    sent = [
        (late_s[src], src, dst, n_bytes, number)
        for number, (late_s, (src, dst, n_bytes)) in enumerate(talks)
    ]
    found = [(m.src, m.dst, m.n_bytes, m.sent_s, m.arrived_s) for m in trace.messages]
    assert sorted(found) == arrivals(sent)


def test_neither_half_of_a_sendrecv_waits_for_the_other():
    def exchange(comm):
        other = 1 - comm.rank
        comm.sendrecv(np.zeros(5, "u1"), dst=other, src=other)
        return comm.clock()

    def main(comm):
        pending = comm.start(exchange)
        if comm.rank == 0:
            comm.send(np.zeros(100, "u1"), dst=1)
        else:
            comm.recv(src=0)
        return comm.clock(), pending.wait()

    result = simulate(main)
    assert result.values == [(100, 105), (110, 115)]
    (reply,) = result.trace.between(1, 0)
    assert reply.arrived_s == 15  # although rank 0 had not yet sent its own


@pytest.mark.parametrize(("main_s", "child_s", "expected"), [(7, 30, 30), (7, 3, 7), (7, 7, 7)])
def test_wait_moves_the_clock_to_the_later_of_both(main_s, child_s, expected):
    def beside(comm):
        nap(comm, 100)
        pending = comm.start(nap, child_s)
        nap(comm, main_s)
        pending.wait()
        again = comm.clock()
        pending.wait()
        return again, comm.clock()

    result = simulate(beside)
    assert result.values == [(100 + expected, 100 + expected)] * 2
    assert result.elapsed_s == 100 + expected
    waits = [(w.verb, w.peer, w.start_s, w.end_s, w.comm) for w in result.trace.waits]
    expected_wait = ("wait", None, 100 + main_s, 100 + child_s, "world/start 1")
    assert waits == ([expected_wait] * 2 if child_s > main_s else [])


def test_a_run_is_as_long_as_what_nobody_waits_for():
    assert simulate(lambda comm: comm.start(nap, 12) and None).elapsed_s == 12


def train_step(comm, seconds, n_bytes, overlapped):
    """Go back through two layers; exchange the gradient of each when it is there."""

    def exchange(comm, gradient):
        other = 1 - comm.rank
        comm.sendrecv(gradient, dst=other, src=other)

    pending = []
    for layer in (1, 0):  # the last layer first
        nap(comm, seconds[layer])
        gradient = np.zeros(n_bytes[layer], "u1")
        if overlapped:
            pending.append(comm.start(exchange, gradient))
        else:
            exchange(comm, gradient)
    for each in pending:
        each.wait()
    return comm.clock()


@pytest.mark.parametrize(
    ("seconds", "n_bytes", "expected"),
    [
        ((15, 20), (5, 30), 20 + 10 + 30 + 5),  # the NIC is the bottleneck from 20 on
        ((50, 20), (5, 3), 20 + 50 + 10 + 5),  # arithmetic hides the first exchange
        ((30, 20), (5, 30), 20 + 30 + 10 + 5),  # both ways are equally long
    ],
)
@pytest.mark.parametrize("rendezvous", [False, True])
def test_a_step_that_overlaps_takes_its_critical_path(seconds, n_bytes, expected, rendezvous):
    found = simulate(train_step, seconds, n_bytes, True, rendezvous=rendezvous).values
    assert found == [expected] * 2
    serial = sum(seconds) + sum(n_bytes) + 2 * 10
    assert simulate(train_step, seconds, n_bytes, False).values == [serial] * 2
    assert serial > expected
    two_nics = max(sum(seconds) + 10 + n_bytes[0], seconds[1] + 10 + n_bytes[1])
    assert expected >= two_nics
    if seconds == (15, 20):
        assert expected > two_nics  # what it would be if each exchange had a NIC of its own


def test_groups_of_a_rank_share_its_nic():
    def main(comm):
        row, column = comm.split(comm.rank // 2), comm.split(comm.rank % 2)
        pending = row.start(talk, [0, 0], (0, 1, 5))
        return talk(column, [0, 0], (0, 1, 5)), pending.wait()

    assert simulate(main, workers=4).values == [(5, 10), (5, 20), (15, 5), (15, 20)]


def test_a_split_and_a_shared_array_end_when_the_last_rank_enters():
    def main(comm):
        nap(comm, 3 * comm.rank)
        comm.split(0)
        first = comm.clock()
        nap(comm, comm.rank)
        comm.shared_array(5)
        return first, comm.clock()

    result = simulate(main, workers=3)
    assert result.values == [(6, 8)] * 3
    assert [(w.rank, w.verb, w.peer) for w in result.trace.waits] == [
        (0, "split", None), (1, "split", None), (0, "shared_array", None), (1, "shared_array", None)
    ]  # fmt: skip


def test_nested_starts_do_not_use_up_the_stack():
    def deeper(comm, left):
        return comm.start(deeper, left - 1).wait() + 1 if left else comm.rank

    assert simulate(deeper, 500).values == [500, 501]
