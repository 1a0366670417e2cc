"""Faults of the simulator: those of a schedule, time that is none, storms, servers that err."""

import hashlib
import math
import time
import warnings

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.comm.errors import (
    LaunchTimeout,
    SimulationError,
    UnreceivedMessagesWarning,
    WorkerError,
    WorkerKilled,
)
from course_lib.comm.simulated.faults import Delay, Duplicate, Faults, schedule
from course_lib.comm.simulated.network import Network
from tests.faults.table import Case, row
from tests.simulated.counting_server import MISTAKES, count
from tests.simulated.history import findings

HERE = "at simulated_world.py, line "


def simulate(fn, *args, **options):
    return run(fn, *args, backend="simulated", **options)


def gather(comm):
    """Take what comes, from whoever lives, until all have said goodbye."""
    if comm.rank == 0:
        gone = set()
        while len(gone) < comm.size - 1:
            src, message = comm.recv_any()
            gone |= {src} if message[0] < 0 else set()
        return None
    for step in [*range(10), -1]:
        with comm.compute("step", flops=1e5):
            pass
        comm.send(np.full(100, step), dst=0)
    return None


@row(68, "faults by a schedule from a seed", alone=True, spawned=())
def a_seed_gives_the_same_faults_and_an_error_tells_how_to_have_them_again(case: Case) -> None:
    kinds = {"slow_link": 1, "duplicate": 2, "delay": 2, "partition": 1}

    def digest(seed):
        faults = schedule(seed, 5, within_s=1e-4, **kinds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreceivedMessagesWarning)
            trace = simulate(gather, workers=5, faults=faults).trace
        assert {fault.kind for fault in trace.faults} >= {"SlowLink", "Partition"}
        return hashlib.sha256(trace.to_json().encode()).hexdigest()

    digests = [digest(seed) for seed in range(5)]
    assert digests == [digest(seed) for seed in range(5)]
    assert len(set(digests)) == 5
    deadly = schedule(1, 5, within_s=1e-4, crash=1)
    with pytest.raises(WorkerKilled) as raised:
        simulate(gather, workers=5, faults=deadly)
    text = str(raised.value)
    rank = raised.value.rank
    assert f"rank {rank} crashed at" in text.splitlines()[0]
    assert HERE in text.splitlines()[0]
    assert f"the same again: faults={deadly}" in text


@row(
    69,
    "time that is negative or no number",
    alone=True,
    variants={"-1": -1.0, "NaN": math.nan},
    spawned=(),
)
def time_that_is_none_is_refused_by_name(case: Case) -> None:
    def work(comm):
        with comm.compute("work", flops=case_variant):
            pass

    case_variant = case.variant
    with pytest.raises(WorkerError, match="flops must be 0 or more and finite"):
        simulate(work, workers=2)
    with pytest.raises(ValueError, match="latency_s must be 0 or more and finite"):
        Network("n", case.variant, 1.0, 1.0)
    with pytest.raises(ValueError, match="by_s must be 0 or more and finite"):
        Delay(0, 1, 1, case.variant)


@row(69, "an endless loop in virtual time", limit_s=1.0, alone=True, spawned=())
def a_rank_that_never_comes_back_meets_the_wall_clock(case: Case) -> None:
    def loop(comm):
        while comm.rank == 1:
            pass
        comm.recv(src=1)

    case.fault(after_s=0.3)
    with pytest.raises(LaunchTimeout, match=rf"rank 1 was running, {HERE}"):
        simulate(loop, workers=2, time_limit_s=0.3)
    case.reported()


def send_for_ever(comm):
    while comm.rank == 0:
        comm.send(np.zeros(1), dst=1)
    comm.recv(src=2)


def note_for_ever(comm):
    while comm.rank == 0:
        comm.note("loss", 0.0)
    comm.barrier()


def talk_for_ever(comm):
    while True:
        comm.sendrecv(np.zeros(0), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)


STORMS = {
    "of sends": (send_for_ever, True),
    "of sends that nobody writes down": (send_for_ever, False),
    "of notes": (note_for_ever, True),
    "in which time stands still": (talk_for_ever, True),
}


@row(69, "a storm of events", limit_s=1.0, alone=True, variants=STORMS, spawned=())
def a_storm_is_ended_before_it_fills_the_memory(case: Case) -> None:
    storm, trace = case.variant
    begun_s = time.perf_counter()
    network = Network("no time", 0.0, math.inf, 1.0)
    with pytest.raises(SimulationError, match=r"more than 5,000 events \(max_events\)") as raised:
        simulate(storm, workers=3, max_events=5_000, trace=trace, network=network)
    case.reported(begun_s)
    assert HERE in str(raised.value), raised.value
    assert "a loop that sends or notes without end" in str(raised.value)


@row(
    70,
    "a server that loses updates, makes them twice, half, or shows old ones",
    alone=True,
    variants={mistake: mistake for mistake in MISTAKES},
    spawned=(),
)
def a_history_checker_finds_what_a_server_did_wrong(case: Case) -> None:
    copies = Faults([Duplicate(1, 0, 2), Duplicate(2, 0, 5)])

    def found(mistake):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreceivedMessagesWarning)
            return findings(
                simulate(
                    count, mistake, workers=4, faults=copies, network=networks.ethernet_10g
                ).trace
            )

    assert found("") == []
    assert any(text.startswith(case.variant) for text in found(case.variant))
