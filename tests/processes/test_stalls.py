"""Ranks that the system has stopped are found; time in which the launcher is stopped is no time."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

from course_lib import run
from course_lib.comm.errors import WorkerStalled
from course_lib.comm.processes.launcher import stalls
from tests.tooling.planting import REPOSITORY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="on Windows no process can stop itself"),
]
SHORT_S = 1.0


@pytest.fixture
def short_limit(monkeypatch):
    monkeypatch.setattr(stalls, "STALL_LIMIT_S", SHORT_S)


def stop_yourself():
    os.kill(os.getpid(), signal.SIGSTOP)


def stalled(start_method, fn, *args, workers):
    """Run ``fn``, expect a stall, return it; then show that the next run works."""
    begun_s = time.monotonic()
    with pytest.raises(WorkerStalled) as raised:
        run(fn, *args, workers=workers, start_method=start_method)
    taken_s = time.monotonic() - begun_s
    print(f"stalled ranks: {taken_s:.2f} s with the launch, limit {stalls.STALL_LIMIT_S} s")
    assert taken_s < stalls.STALL_LIMIT_S + 15
    assert run(lambda comm: comm.rank, workers=1, start_method=start_method).values == [0]
    return raised.value, taken_s


def stop_rank_1(comm):
    if comm.rank == 1:
        stop_yourself()
    comm.recv(src=(comm.rank + 1) % comm.size)


def test_a_stopped_rank_is_named_with_its_place_after_five_seconds(start_method):
    error, taken_s = stalled(start_method, stop_rank_1, workers=3)
    assert taken_s > 5.0
    assert error.rank == 1
    text = str(error)
    assert text.startswith("rank 1 has not run for 5 s: its process is stopped")
    assert "at test_stalls.py, line " in text
    assert error.consequences[0].startswith("rank 0 waited in recv(src=1), at test_stalls.py")
    assert error.consequences[1].startswith("rank 2 waited in recv(src=0), at test_stalls.py")


def stop_before_the_barrier(comm):
    if comm.rank == 1:
        for other in (0, 2):  # on a busy computer they may need longer to start than the limit
            comm.recv(src=other)
        stop_yourself()
    else:
        comm.send(np.ones(1), dst=1)
    comm.barrier()


@pytest.mark.usefixtures("short_limit")
def test_those_that_wait_for_a_stopped_rank_are_said_to_wait(usual_method):
    error, _ = stalled(usual_method, stop_before_the_barrier, workers=3)
    for line in error.consequences:  # not that they have left, though they could when it went on
        assert "waited in barrier(), at test_stalls.py" in line


@pytest.mark.usefixtures("short_limit")
def test_all_ranks_stopped(usual_method):
    def stop_together(comm):
        comm.barrier()
        stop_yourself()
        comm.recv(src=(comm.rank + 1) % comm.size)

    error, _ = stalled(usual_method, stop_together, workers=3)
    first, *others = sorted(range(3), key=lambda rank: rank != error.rank)
    text = str(error)
    assert text.startswith(f"rank {first} has not run for 1 s: its process is stopped")
    assert f"; rank {others[0]}, {others[1]} are stopped too" in text
    assert [line.split(" ", 2)[:2] for line in error.consequences] == [
        ["rank", str(rank)] for rank in others
    ]
    assert "exited" not in text


@pytest.mark.usefixtures("short_limit")
def test_one_that_is_continued_in_time_is_let_go_on(usual_method):
    def nap(comm):
        if comm.rank == 0:
            waker = threading.Timer(SHORT_S / 2, psutil.Process(int(comm.recv(1)[0])).resume)
            waker.start()
            return float(comm.recv(1)[0])
        comm.send(np.array([os.getpid()]), 0)
        stop_yourself()
        comm.send(np.ones(1), 0)
        return 0.0

    assert run(nap, workers=2, start_method=usual_method).values == [1.0, 0.0]


@pytest.mark.usefixtures("short_limit")
def test_one_that_is_stopped_again_and_again_is_slow_but_runs(usual_method):
    """Some programs that save power do this; at most looks such a rank happens to be stopped."""

    def hiccup(comm):
        if comm.rank == 0:
            victim = psutil.Process(int(comm.recv(1)[0]))
            for _ in range(20):
                victim.suspend()
                time.sleep(0.09)
                victim.resume()
                time.sleep(0.002)
            comm.recv(1)
        else:
            comm.send(np.array([os.getpid()]), 0)
            deadline = time.monotonic() + 2.0
            while time.monotonic() < deadline:
                pass
            comm.send(np.ones(1), 0)
        return comm.rank

    assert run(hiccup, workers=2, start_method=usual_method).values == [0, 1]


@pytest.mark.usefixtures("short_limit")
def test_a_rank_that_sleeps_waits_or_computes_is_not_stopped(usual_method):
    def busy(comm):
        if comm.rank == 0:
            time.sleep(2 * SHORT_S)
            comm.send(np.zeros(1), 1)
        elif comm.rank == 1:
            comm.recv(0)
        else:
            deadline = time.monotonic() + 2 * SHORT_S
            while time.monotonic() < deadline:
                pass
        return comm.rank

    assert run(busy, workers=3, start_method=usual_method).values == [0, 1, 2]


SLEEPER = """
import sys, time
from course_lib import run
from course_lib.comm.processes.launcher import stalls

def work(comm):
    print("at work", flush=True)
    for _ in range(100):
        time.sleep(0.01)
    return comm.rank

if __name__ == "__main__":
    stalls.STALL_LIMIT_S = 1.0
    values = run(work, workers=2, time_limit_s=2.5, start_method=sys.argv[1]).values
    print("well", values, flush=True)
"""


def test_a_computer_that_sleeps_during_a_run_costs_it_neither_its_time_nor_its_ranks(
    usual_method, tmp_path
):
    """The launcher and its workers are stopped for longer than the limits, all together."""
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER)
    program = subprocess.Popen(
        [sys.executable, str(script), usual_method],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with program:
        assert "at work" in program.stdout.readline()
        launcher = psutil.Process(program.pid)
        everybody = [launcher, *launcher.children(recursive=True)]
        for process in everybody:
            process.suspend()
        time.sleep(4.0)
        for process in everybody:
            process.resume()
        printed = program.stdout.read()
    assert "well [0, 1]" in printed
    assert program.returncode == 0
