"""The chain of messages that a run had to wait for."""

import time
from itertools import pairwise

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES, allreduce_ring, broadcast_tree
from course_lib.trace.critical_path import critical_path, hops
from course_lib.trace.trace import Trace


def way(trace):
    return [(m.src, m.dst) for m in critical_path(trace)]


def test_the_critical_path_of_a_ring_has_a_message_a_round():
    trace = run(allreduce_ring, np.ones(4000), workers=4, backend="simulated").trace
    chain = critical_path(trace)
    assert len(chain) == 2 * (4 - 1) == trace.rounds()
    assert chain[-1].received_s == pytest.approx(trace.end_s)
    assert all(a.received_s <= b.posted_s for a, b in pairwise(chain))
    assert all(a.dst == b.src for a, b in pairwise(chain))


@pytest.mark.parametrize("size", [2, 5, 8])
@pytest.mark.parametrize("name", ALLREDUCES)
def test_the_path_of_an_algorithm_in_rounds_has_a_message_a_round(name, size):
    trace = run(ALLREDUCES[name], np.ones(60), workers=size, backend="simulated").trace
    assert len(critical_path(trace)) == trace.rounds()


def test_it_goes_through_the_rank_that_computes_longest():
    def work_and_pass(comm, x):
        with comm.compute("work", flops=1e9 if comm.rank == 2 else 1e6):
            pass
        if comm.rank == 0:
            for src in (1, 2, 3):
                comm.recv(src)
        else:
            comm.send(x, 0)

    trace = run(work_and_pass, np.ones(4), workers=4, backend="simulated").trace
    assert way(trace)[0] == (2, 0)
    assert (1, 0) not in way(trace), "rank 0 did wait for it, but not in the end"


def test_a_message_that_was_there_in_time_holds_nobody_up():
    def busy_receiver(comm, x):
        if comm.rank == 0:
            comm.send(x, 1)
        elif comm.rank == 1:
            with comm.compute("work", flops=1e12):
                pass
            comm.recv(0)
            comm.send(x, 2)
        else:
            comm.recv(1)

    trace = run(busy_receiver, np.ones(4), workers=3, backend="simulated").trace
    assert way(trace) == [(1, 2)]


def test_who_waits_for_its_own_nic_does_not_wait_for_what_has_arrived():
    def slow_sender(comm, x):
        if comm.rank == 0:
            comm.send(x[:1], 1)
            comm.recv(1)
            comm.recv(1)
            return
        with comm.compute("work", flops=1e9):
            pass
        comm.sendrecv(x, dst=0, src=0)
        comm.send(x, 0)

    trace = run(slow_sender, np.ones(2000), workers=2, backend="simulated").trace
    assert [wait.verb for wait in trace.waits if wait.rank == 1] == ["sendrecv", "send"]
    assert way(trace) == [(1, 0)]


def test_a_tree_is_as_deep_as_its_path():
    slow = networks.ethernet_10g
    trace = run(
        lambda comm: broadcast_tree(comm, np.ones(3) if comm.rank == 0 else None),
        workers=8, backend="simulated", network=slow,
    ).trace  # fmt: skip
    assert len(critical_path(trace)) == 3
    assert critical_path(trace)[0].src == 0


def test_real_processes_have_one_too():
    def one_is_late(comm):
        allreduce_ring(comm, np.ones(40_000))
        if comm.rank == 1:
            time.sleep(0.3)  # else it may be that nobody has to wait for anybody
            comm.send(np.ones(3), 0)
        else:
            comm.recv(1)

    trace = run(one_is_late, workers=2).trace
    chain = critical_path(trace)
    assert 1 <= len(chain) <= 3, trace.waits
    assert (chain[-1].src, chain[-1].dst) == (1, 0)
    assert all(a.dst == b.src for a, b in pairwise(chain))


def test_a_message_that_came_while_its_rank_computed_held_nobody_up():
    def overlapped(comm, flops):
        if comm.rank == 0:
            comm.send(np.ones(4), 1)
        elif comm.rank == 1:
            coming = comm.irecv(0)
            with comm.compute("meanwhile", flops=flops):
                pass
            coming.wait()
            comm.send(np.ones(4), 2)
        else:
            comm.irecv(1).wait()

    short, long = (
        run(overlapped, flops, workers=3, backend="simulated").trace for flops in (1.0, 1e12)
    )
    assert way(short) == [(0, 1), (1, 2)]
    assert way(long) == [(1, 2)]


def test_of_posted_messages_the_one_that_was_waited_for_is_on_the_path():
    def gather(comm):
        if comm.rank > 0:
            with comm.compute("work", flops=1e9 * comm.rank):
                pass
            comm.isend(np.ones(4), 0)
            return
        coming = {src: comm.irecv(src) for src in (1, 2, 3)}
        for src in (2, 3, 1):  # the message of rank 1 has come long before it is asked for
            coming[src].wait()

    assert way(run(gather, workers=4, backend="simulated").trace) == [(3, 0)]


def test_who_waits_for_its_own_isend_does_not_wait_for_what_arrives_meanwhile():
    def work(comm, x):
        if comm.rank == 0:
            coming, going = comm.irecv(1), comm.isend(x, 1)
            going.wait()
            coming.wait()
            with comm.compute("the end", flops=1e6):
                pass
        else:
            comm.send(x[:1], 0)
            with comm.compute("late", flops=1e9):
                pass
            comm.recv(0)

    trace = run(work, np.ones(4000), workers=2, backend="simulated").trace
    assert [wait.verb for wait in trace.waits if wait.rank == 0] == ["isend"]
    assert way(trace) == []


def test_real_processes_note_who_waited_for_what_was_posted():
    def one_is_late(comm):
        if comm.rank == 1:
            time.sleep(0.1)
            comm.send(np.ones(3), 0)
        else:
            comm.irecv(1).wait()

    trace = run(one_is_late, workers=2).trace
    assert [(w.rank, w.verb, w.peer) for w in trace.waits] == [(0, "irecv", 1)]
    assert way(trace) == [(1, 0)]


def test_an_empty_run_has_none():
    assert critical_path(Trace("simulated", "virtual", 3)) == []


def served(comm, compute_s, n):
    """A server hands out a vector and takes one from each worker, in the order of their ranks."""
    if comm.rank == 0:
        for dst in range(1, comm.size):
            comm.send(np.zeros(n), dst)
        for src in range(1, comm.size):
            comm.recv(src)
        return
    w = comm.recv(0)
    with comm.compute("gradient", flops=1e10 * compute_s.get(comm.rank, 1e-3)):
        pass
    comm.send(w, 0)


@pytest.mark.parametrize("n", [1000, 4000], ids=["eager", "rendezvous"])
def test_it_goes_through_the_rank_whose_haste_would_shorten_the_run(n):
    def end_s(compute_s):
        return run(served, compute_s, n, workers=5, backend="simulated").elapsed_s

    trace = run(served, {}, n, workers=5, backend="simulated").trace
    faster = {rank: end_s({}) - end_s({rank: 0.99e-3}) for rank in range(1, 5)}
    decisive = [rank for rank, saved_s in faster.items() if saved_s > 1e-9]
    held = [hop for hop in hops(trace) if hop.held_by != hop.message.src]
    if n == 4000:  # the pushes wait for the server, which waits for rank 1
        assert decisive == [1]
        assert way(trace) == [(0, 1), (1, 0), (2, 0), (3, 0), (4, 0)]
        assert [(hop.message.src, hop.held_by) for hop in held] == [(2, 0), (3, 0), (4, 0)]
        assert all(hop.start_s > hop.message.posted_s for hop in held)
    else:  # they pass each other by, and are in the server's memory when it asks
        assert held == []
        assert way(trace)[-1] == (4, 0)
