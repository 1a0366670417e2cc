"""What messages cost: hand-computed cases, closed forms, and wrong models that must not pass.

The hand-computed cases use a latency of 10 s and 1 s a byte, so that every time is a small integer.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.simulated.communicator import SimulatedCommunicator
from course_lib.comm.simulated.networks import Network

SLOW = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)


def data(n_bytes):
    return np.zeros(n_bytes, dtype="u1")


def timed(comm, call):
    call()
    return comm.clock()


def one_message(comm, n_bytes, send_late_s, recv_late_s):
    """Return (when send or recv returned)."""
    if comm.rank == 0:
        with comm.compute("late", flops=send_late_s):
            pass
        comm.send(data(n_bytes), dst=1)
    else:
        with comm.compute("late", flops=recv_late_s):
            pass
        comm.recv(src=0)
    return comm.clock()


def two_senders(comm, late_s):
    """Ranks 1 and 2 send five bytes each to rank 0; return when both are in."""
    if comm.rank == 0:
        return [timed(comm, lambda src=src: comm.recv(src=src)) for src in (1, 2)]
    with comm.compute("late", flops=late_s[comm.rank]):
        pass
    comm.send(data(5), dst=0)
    return comm.clock()


def both_ways(comm, sizes):
    other = 1 - comm.rank
    comm.sendrecv(data(sizes[comm.rank]), dst=other, src=other)
    return comm.clock()


def one_after_the_other(comm):
    if comm.rank == 0:
        return [timed(comm, lambda: comm.send(data(5), dst=1)) for _ in range(3)]
    return [timed(comm, lambda: comm.recv(src=0)) for _ in range(3)]


# (function, arguments, workers, rendezvous, what every rank returns)
CASES = {
    "one message": (one_message, (5, 0.0, 0.0), 2, False, [5, 15]),
    "no bytes cost the latency": (one_message, (0, 0.0, 0.0), 2, False, [0, 10]),
    "a late receiver finds it there": (one_message, (5, 0.0, 40.0), 2, False, [5, 40]),
    "a late sender": (one_message, (5, 7.0, 0.0), 2, False, [12, 22]),
    "rendezvous waits for the receive": (one_message, (5, 0.0, 7.0), 2, True, [12, 22]),
    "rendezvous, receive first": (one_message, (5, 7.0, 0.0), 2, True, [12, 22]),
    "two senders share a receiver": (two_senders, ([0, 0, 0],), 3, False, [[15, 20], 5, 5]),
    "the NIC serves by time, not by rank": (
        two_senders, ([0, 3, 1],), 3, False, [[21, 21], 8, 6]
    ),
    "the NIC stands still between": (two_senders, ([0, 0, 12],), 3, False, [[15, 27], 5, 17]),
    "a NIC sends and receives at once": (both_ways, ([5, 5],), 2, False, [15, 15]),
    "sendrecv ends with its later part": (both_ways, ([100, 1],), 2, False, [100, 110]),
    "sendrecv in rendezvous": (both_ways, ([5, 7],), 2, True, [17, 15]),
    "a sender's messages queue on its NIC": (
        one_after_the_other, (), 2, False, [[5, 10, 15], [15, 20, 25]]
    ),
}  # fmt: skip


def simulate(case):
    fn, args, workers, rendezvous, expected = case
    result = run(
        fn, *args, workers=workers, backend="simulated", network=SLOW, rendezvous=rendezvous
    )
    return result, expected


@pytest.mark.parametrize("name", CASES)
def test_times_computed_by_hand(name):
    result, expected = simulate(CASES[name])
    assert result.values == expected
    ends = [end for ends in expected for end in (ends if isinstance(ends, list) else [ends])]
    assert result.elapsed_s == max(ends)


def wrong_transfer(busiest):
    """Make a ``_transfer`` that computes (sender free, arrived) in a wrong way."""

    def transfer(self, message, receiver, start_s):
        n_s = message.data.nbytes * self.world.beta_s_per_byte
        mine, to = self.nic.receives_free_s, receiver.nic.receives_free_s
        free_s, message.arrived_s = busiest(mine, to, start_s, n_s, self.world.alpha_s)
        receiver.nic.receives_free_s = max(to, message.arrived_s)
        message.number = self.mail.add(
            self.rank, receiver.rank, message.sent, 0, start_s, free_s, message.arrived_s
        )
        return free_s

    return transfer


WRONG_MODELS = {
    "no queue at the receiver": lambda mine, to, s, n, alpha: (s + n, s + alpha + n),
    "store and forward": lambda mine, to, s, n, alpha: (
        s + n, max(s + n + alpha, to) + n
    ),
    "half duplex": lambda mine, to, s, n, alpha: (
        max(s, mine) + n, max(max(s, mine) + alpha, to) + n
    ),
    "latency keeps the sender busy": lambda mine, to, s, n, alpha: (
        s + alpha + n, max(s + alpha, to) + n
    ),
    "latency again in the queue": lambda mine, to, s, n, alpha: (
        s + n, max(s, to) + alpha + n
    ),
    "no latency": lambda mine, to, s, n, alpha: (s + n, max(s, to) + n),
    "free of charge to send": lambda mine, to, s, n, alpha: (s, max(s + alpha, to) + n),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_MODELS)
def test_a_wrong_model_would_be_seen(monkeypatch, name):
    monkeypatch.setattr(SimulatedCommunicator, "_transfer", wrong_transfer(WRONG_MODELS[name]))
    seen = 0
    for case in CASES.values():
        result, expected = simulate(case)
        seen += result.values != expected
    assert seen >= 1


def test_a_planted_model_that_is_right_would_pass(monkeypatch):
    right = wrong_transfer(lambda mine, to, s, n, alpha: (s + n, max(s + alpha, to) + n))
    monkeypatch.setattr(SimulatedCommunicator, "_transfer", right)
    for case in CASES.values():
        result, expected = simulate(case)
        assert result.values == expected


def test_messages_wait_for_their_receive_above_eager_bytes_alone():
    for n_bytes, sender_returns in ((EAGER_BYTES, EAGER_BYTES), (EAGER_BYTES + 1, 99_000.0)):
        values = run(
            one_message,
            n_bytes,
            0.0,
            99_000.0 - n_bytes,
            workers=2,
            backend="simulated",
            network=SLOW,
        ).values
        assert values[0] == sender_returns


def test_a_barrier_ends_when_the_last_rank_enters_and_costs_nothing():
    def meet(comm):
        with comm.compute("late", flops=float(3 * comm.rank)):
            pass
        comm.barrier()
        return comm.clock()

    result = run(meet, workers=4, backend="simulated", network=SLOW)
    assert result.values == [9.0] * 4
    assert [(w.rank, w.verb, w.peer, w.start_s, w.end_s) for w in result.trace.waits] == [
        (rank, "barrier", None, 3.0 * rank, 9.0) for rank in range(3)
    ]


def test_recv_any_takes_the_earliest_arrival_and_then_the_smaller_rank():
    def gather(comm, late_s, n_bytes):
        if comm.rank == 0:
            with comm.compute("late", flops=late_s[0]):
                pass
            return [(comm.recv_any()[0], comm.clock()) for _ in range(comm.size - 1)]
        with comm.compute("late", flops=late_s[comm.rank]):
            pass
        comm.send(data(n_bytes), dst=0)
        return None

    def order(late_s, n_bytes=5, rendezvous=False):
        return run(
            gather, late_s, n_bytes, workers=len(late_s), backend="simulated", network=SLOW,
            rendezvous=rendezvous,
        ).values[0]  # fmt: skip

    assert order([0.0, 9.0, 3.0, 6.0]) == [(2, 18.0), (3, 23.0), (1, 28.0)]
    assert order([50.0, 9.0, 3.0, 6.0]) == [(2, 50.0), (3, 50.0), (1, 50.0)]
    assert order([0.0, 2.0, 2.0, 2.0]) == [(1, 17.0), (2, 22.0), (3, 27.0)]
    assert order([50.0, 2.0, 2.0, 2.0], n_bytes=0) == [(1, 50.0), (2, 50.0), (3, 50.0)]
    # In rendezvous they start one by one when they are taken, the first to post first.
    assert order([50.0, 9.0, 3.0, 6.0], rendezvous=True) == [(2, 65.0), (3, 80.0), (1, 95.0)]


def test_compute_is_priced_by_each_ranks_own_speed():
    def work(comm):
        with comm.compute("work", flops=60.0):
            pass
        return comm.clock()

    network = Network("mixed", 0.0, 1.0, flops_per_s=(60.0, 30.0, 1.0))
    result = run(work, workers=3, backend="simulated", network=network)
    assert result.values == [1.0, 2.0, 60.0]
    assert result.elapsed_s == 60.0


def test_a_message_nobody_reads_does_not_make_the_run_longer():
    def leave_it(comm):
        if comm.rank == 0:
            comm.send(data(5), dst=1)

    with pytest.warns(UserWarning, match="1 unreceived message"):
        result = run(leave_it, workers=2, backend="simulated", network=SLOW)
    assert result.elapsed_s == 5.0
    assert result.trace.messages[0].arrived_s is None


networks = st.builds(
    Network,
    st.just("any"),
    latency_s=st.floats(1e-7, 1e-2),
    bandwidth_bytes_per_s=st.floats(1e6, 1e11),
    flops_per_s=st.just(1e9),
)


def exactly(time_s, expected_s, mistake_s, tolerance=1e-9):
    """Assert a time to 1e-9, and that the likely mistake would be ten times farther off."""
    assert abs(time_s - expected_s) <= tolerance * expected_s
    assert abs(mistake_s - expected_s) >= 10 * tolerance * expected_s


@given(networks, st.integers(2, 8), st.integers(1, 2000), st.booleans())
@settings(max_examples=40, deadline=None)
def test_ring_allreduce_takes_its_closed_form(network, workers, length, rendezvous):
    n_bytes = 8 * length * workers

    def reduce(comm):
        allreduce_ring(comm, np.ones(length * comm.size))

    result = run(
        reduce, workers=workers, backend="simulated", network=network, rendezvous=rendezvous
    )
    rounds, busiest = 2 * (workers - 1), 2 * (workers - 1) / workers * n_bytes
    expected = rounds * network.latency_s + busiest * network.beta_s_per_byte
    one_round_less = expected - network.latency_s
    exactly(result.elapsed_s, expected, one_round_less, tolerance=1e-9)
    assert result.trace.rounds() == rounds


@given(networks, st.integers(2, 8), st.integers(1, 2000))
@settings(max_examples=40, deadline=None)
def test_a_central_server_takes_its_closed_form(network, workers, length):
    def through_rank_0(comm):
        x = np.ones(length)
        if comm.rank == 0:
            for src in range(1, comm.size):
                comm.recv(src=src, out=x, op="sum")
            for dst in range(1, comm.size):
                comm.send(x, dst=dst)
        else:
            comm.send(x, dst=0)
            comm.recv(src=0, out=x)

    result = run(through_rank_0, workers=workers, backend="simulated", network=network)
    beta_n = 8 * length * network.beta_s_per_byte
    expected = 2 * network.latency_s + 2 * (workers - 1) * beta_n
    nobody_queues = 2 * network.latency_s + 2 * beta_n
    if workers > 2 and beta_n > 1e-6 * network.latency_s:
        exactly(result.elapsed_s, expected, nobody_queues)
    else:
        assert math.isclose(result.elapsed_s, expected, rel_tol=1e-9)
    assert result.trace.rounds() == 2
