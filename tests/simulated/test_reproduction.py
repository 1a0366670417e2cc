"""The same schedule gives the same run, in any process; a failing one is told in one line."""

import hashlib
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from course_lib import faults, run
from course_lib.comm.errors import RunError
from course_lib.comm.simulated import launcher
from course_lib.comm.simulated.faults import Crash, Delay, Duplicate, Faults, schedule
from course_lib.comm.simulated.network import Network

PLAIN = Network("any", 3e-5, 1e8, flops_per_s=1e9)
WORKERS = 4


def busy_hour(comm):
    """A program that survives crashes: a server that takes what comes, until all have ended."""
    if comm.rank == 0:
        done = set()
        while len(done) < comm.size - 1:
            src, message = comm.recv_any()
            if message[0] < 0:
                done.add(src)
        return len(done)
    for step in range(20):
        with comm.compute("step", flops=1e4 * comm.rank):
            pass
        comm.send(np.full(50, step), dst=0)
    comm.send(np.full(50, -1), dst=0)
    return None


CHAOS = {"restart": 2, "slow_link": 1, "duplicate": 2, "delay": 2, "partition": 1}


def digest(seed):
    drawn = schedule(seed, 6, within_s=5e-4, **CHAOS)
    kept = Faults([event for event in drawn.events if getattr(event, "rank", 1) > 0])
    result = run(busy_hour, workers=6, backend="simulated", network=PLAIN, faults=kept)
    assert len(result.trace.faults) >= 4
    return hashlib.sha256(result.trace.to_json().encode()).hexdigest()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trace_hash():
    hashes = [digest(seed) for seed in range(10)]
    assert hashes == [digest(seed) for seed in range(10)]
    assert len(set(hashes)) == 10


@pytest.mark.slow
def test_the_hash_does_not_depend_on_the_process_that_makes_it():
    here = Path(__file__).parent
    path = os.pathsep.join([str(here.parents[1]), str(here)])
    for hash_seed in ("1", "2"):
        found = subprocess.run(
            [sys.executable, "-c", "import test_reproduction as t; print(t.digest(3))"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert found.stdout.strip() == digest(3)


def test_a_failing_seed_is_told_as_one_line_that_fails_again():
    def needs_all(comm):
        for step in range(4):
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            comm.sendrecv(np.full(5, step), right, left)

    def explain(events):
        try:
            run(needs_all, workers=4, backend="simulated", network=PLAIN, faults=events)
        except RunError as error:
            return str(error)
        return ""

    told = (explain(schedule(seed, 4, within_s=1e-4, first=3, drop=1)) for seed in range(99))
    text = next(filter(None, told))
    (line,) = [line for line in text.splitlines() if line.startswith("the same again: faults=")]
    pasted = eval(line.removeprefix("the same again: faults="), vars(faults).copy())
    assert isinstance(pasted, Faults)
    assert explain(pasted) == text


def test_hypothesis_shrinks_a_schedule_to_the_fault_that_matters():
    from hypothesis import find

    def double_counts(events):
        def count(comm):
            if comm.rank == 0:
                return [int(comm.recv_any()[0]) for _ in range(6)]
            for _ in range(3):
                comm.send(np.ones(5), dst=0)
            return None

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = run(
                count, workers=3, backend="simulated", network=PLAIN, faults=Faults(events)
            ).values
        return Counter(values[0]) != {1: 3, 2: 3}

    nths = st.integers(1, 3)
    events = st.lists(
        st.one_of(
            st.builds(Delay, st.sampled_from([1, 2]), st.just(0), nths, st.just(1e-4)),
            st.builds(Duplicate, st.sampled_from([1, 2]), st.just(0), nths),
            st.builds(Crash, st.just(0), st.just(9.0)),
        ),
        max_size=6,
        unique_by=repr,
    ).filter(lambda events: sum(isinstance(event, Crash) for event in events) < 2)
    assert find(events, double_counts) in ([Duplicate(1, 0, 1)], [Duplicate(2, 0, 1)])


def test_a_run_that_ends_early_leaves_no_flow_behind(monkeypatch):
    def wait(comm):
        comm.recv(src=(comm.rank + 1) % comm.size)

    worlds = []
    real = launcher.forget

    def forget(world):
        worlds.append([flow.dead for flow in world.flows.values()])
        real(world)

    monkeypatch.setattr(launcher, "forget", forget)
    for seed in range(10):
        drawn = schedule(seed, WORKERS, within_s=1e-3, crash=1, restart=1)
        with pytest.raises(RunError):
            run(wait, workers=WORKERS, backend="simulated", network=PLAIN, faults=drawn)
    assert len(worlds) == 10
    assert all(all(dead) for dead in worlds)
