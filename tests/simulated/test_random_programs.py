"""Random correct programs: no false alarm, the laws of the network hold, twice the same trace."""

import hashlib
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.simulated.networks import Network

NETWORK = Network("any", 3e-5, 1e8, flops_per_s=1e9)
BIG = EAGER_BYTES + 1

steps = st.one_of(
    st.tuples(
        st.just("message"), st.integers(0, 6), st.integers(0, 5), st.sampled_from([0, 9, BIG])
    ),
    st.tuples(st.just("swap"), st.integers(0, 6), st.integers(0, 5), st.sampled_from([1, BIG])),
    st.tuples(st.just("work"), st.integers(0, 6), st.just(0), st.integers(0, 10**6)),
    st.tuples(st.just("barrier"), st.just(0), st.just(0), st.just(0)),
    st.tuples(st.just("ring"), st.just(0), st.just(0), st.sampled_from([3, BIG])),
)
programs = st.lists(steps, max_size=25)


def follow(comm, program):
    """Do this rank's part of a program that all ranks read in one order: it cannot deadlock."""
    seen = []
    for number, (what, a, b, size) in enumerate(program):
        first = a % comm.size
        second = (first + 1 + b % max(1, comm.size - 1)) % comm.size
        if what == "barrier":
            comm.barrier()
        elif what == "work" and comm.rank == first:
            with comm.compute("work", flops=size):
                pass
        elif comm.size == 1:
            continue
        elif what == "message" and comm.rank == first:
            comm.send(np.full(size, number % 256, "u1"), dst=second, tag=number)
        elif what == "message" and comm.rank == second:
            seen.append((number, comm.recv(src=first, tag=number).size))
        elif what == "swap" and comm.rank in (first, second):
            other = first + second - comm.rank
            seen.append(comm.sendrecv(np.zeros(size, "u1"), other, other, tag=number).size)
        elif what == "ring":
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            seen.append(comm.sendrecv(np.zeros(size, "u1"), right, left, tag=number).size)
    return comm.clock()


@given(programs, st.integers(1, 7), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_correct_program_is_never_called_a_deadlock(program, workers, rendezvous):
    result = run(
        follow,
        program,
        workers=workers,
        backend="simulated",
        network=NETWORK,
        rendezvous=rendezvous,
    )
    trace = result.trace
    assert trace.unreceived() == []
    for rank in range(workers):  # waiting and computing fill a rank's time without a gap
        spans = [(e.start_s, e.end_s) for e in (*trace.computes, *trace.waits) if e.rank == rank]
        clock_s = 0.0
        for start_s, end_s in sorted(spans):
            assert start_s == clock_s
            clock_s = end_s
        assert result.values[rank] == clock_s
    beta_s = NETWORK.beta_s_per_byte
    for m in trace.messages:
        assert m.arrived_s >= m.posted_s + NETWORK.latency_s + m.n_bytes * beta_s - 1e-15
        assert m.received_s >= m.arrived_s
    busy = [m for m in trace.messages if m.n_bytes]
    for rank in range(workers):  # no NIC does two things at once
        for ends in (
            sorted((m.arrived_s, m.n_bytes) for m in busy if m.dst == rank),
            sorted((m.sent_s, m.n_bytes) for m in busy if m.src == rank),
        ):
            for (before_s, _), (after_s, n_bytes) in pairwise(ends):
                assert after_s - n_bytes * beta_s >= before_s - 1e-12


def long_talk(comm):
    rng = np.random.default_rng(3)
    program = [
        (kind, int(rng.integers(7)), int(rng.integers(6)), int(rng.integers(1, 99)))
        for kind in rng.choice(["message", "swap", "work", "barrier", "ring"], 200)
    ]
    follow(comm, program)
    comm.note("random", float(comm.rng.random()))
    comm.note("names", {"b": 1, "a": [2, 3]})


def test_the_same_seed_gives_the_same_trace_to_the_byte():
    def text(seed):
        return run(long_talk, workers=5, backend="simulated", seed=seed).trace.to_json()

    assert text(1) == text(1)
    assert text(1) != text(2)  # the random notes differ


@pytest.mark.slow
def test_the_trace_does_not_depend_on_the_process_that_makes_it():
    here = Path(__file__).parent
    code = (
        "import hashlib, test_random_programs as t; from course_lib import run; "
        "text = run(t.long_talk, workers=5, backend='simulated').trace.to_json(); "
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    path = os.pathsep.join([str(here.parents[1]), str(here)])
    text = run(long_talk, workers=5, backend="simulated").trace.to_json()
    for seed in ("1", "2"):
        found = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            check=True,
            capture_output=True,
            text=True,
        )
        assert found.stdout.strip() == hashlib.sha256(text.encode()).hexdigest()
