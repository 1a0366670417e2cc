"""A worker hangs: in a loop, in compiled code, stopped, deaf to the request to end."""

import atexit
import ctypes
import os
import signal
import threading
import time

import numpy as np
import pytest

from course_lib.comm.errors import (
    LaunchError,
    LaunchTimeout,
    WorkerError,
    WorkerKilled,
    WorkerStartError,
)
from course_lib.comm.processes.launcher import fork_server
from tests.faults.table import Case, row

HERE = "at worker_hangs.py, line "
TIME_LIMIT_S = 0.5


@row(16, "a stopped rank, until the time limit", limit_s=1.0, least=2, posix=True)
def a_stopped_rank_is_ended(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            fault(after_s=TIME_LIMIT_S)
            os.kill(os.getpid(), signal.SIGSTOP)
        comm.recv(src=bad_rank)

    error = case.failing(LaunchTimeout, work, time_limit_s=TIME_LIMIT_S)
    text = str(error)
    assert f"rank {(bad_rank + 1) % case.workers} waits in recv(src={bad_rank})" in text
    assert f"rank {bad_rank} is running (it did not say where)" in text


@row(17, "an endless loop", limit_s=1.0, workers=3)
def an_endless_loop_ends_at_the_time_limit_with_every_place(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            fault(after_s=TIME_LIMIT_S)
            while True:
                pass
        if comm.rank == (bad_rank + 1) % comm.size:
            comm.recv(src=bad_rank)

    error = case.failing(LaunchTimeout, work, time_limit_s=TIME_LIMIT_S)
    assert isinstance(error, TimeoutError)
    text = str(error)
    assert f"the run did not end within {TIME_LIMIT_S:g} s" in text
    assert f"rank {bad_rank} is running, {HERE}" in text
    assert f"Stack of rank {bad_rank} (most recent call last)" in text
    assert "while True:" in text or "pass" in text
    if case.workers > 1:
        waiting = (bad_rank + 1) % case.workers
        assert f"rank {waiting} waits in recv(src={bad_rank}), {HERE}" in text
    if case.workers > 2:
        assert f"rank {(bad_rank + 2) % case.workers} has returned" in text


@row(
    18,
    "compiled code that does not come back",
    limit_s=1.0,
    posix=True,
    variants={
        "with Python's lock": lambda: ctypes.PyDLL(None).sleep(1000),
        "asleep": lambda: time.sleep(1000),
    },
)
def compiled_code_that_does_not_come_back_is_found_and_ended(case: Case) -> None:
    fault, bad_rank, stay = case.fault, case.bad_rank, case.variant

    def work(comm):
        if comm.rank == bad_rank:
            fault(after_s=TIME_LIMIT_S)
            stay()
        comm.barrier()

    error = case.failing(LaunchTimeout, work, time_limit_s=TIME_LIMIT_S)
    assert f"rank {bad_rank} is running, {HERE}" in str(error)
    assert "sleep(1000)" in str(error)
    if case.workers > 1:
        assert f"rank {(bad_rank + 1) % case.workers} waits in barrier(), {HERE}" in str(error)


@row(
    19,
    "a rank that does not want to end",
    limit_s=2.0,
    least=2,
    posix=True,
    variants={
        "ignores SIGTERM": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
        "sleeps in its handler": lambda: signal.signal(signal.SIGTERM, lambda *_: time.sleep(1000)),
        "sleeps at exit": lambda: atexit.register(time.sleep, 1000),
    },
    spawned=("sleeps in its handler",),
)
def a_rank_that_ignores_the_request_to_end_is_killed(case: Case) -> None:
    fault, bad_rank, resist = case.fault, case.bad_rank, case.variant
    raising = (bad_rank + 1) % case.workers

    def work(comm):
        resist()
        comm.barrier()
        if comm.rank == raising:
            fault()
            raise ValueError("the end")
        time.sleep(1000)

    error = case.failing(WorkerError, work)
    assert error.rank == raising


@row(
    19,
    "something that still runs when a rank returns",
    variants={
        "a thread": lambda: threading.Thread(target=time.sleep, args=(1000,)).start(),
        "an exit handler": lambda: atexit.register(time.sleep, 1000),
    },
)
def what_still_runs_does_not_hold_up_the_end(case: Case) -> None:
    leave_running = case.variant

    def work(comm):
        leave_running()
        return comm.rank

    begun_s = time.monotonic()
    assert case.run(work).values == list(range(case.workers))
    assert time.monotonic() - begun_s < 20.0


@row(20, "a rank that is slow but alive", least=2)
def a_slow_rank_is_no_fault(case: Case) -> None:
    bad_rank = case.bad_rank
    nap_s = 1.0

    def work(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        if comm.rank == bad_rank:
            until_s = time.monotonic() + nap_s
            while time.monotonic() < until_s:
                np.ones((50, 50)) @ np.ones((50, 50))
        return float(comm.sendrecv(np.full(3, comm.rank), dst=right, src=left).sum())

    values = case.run(work).values
    assert values == [3.0 * ((rank - 1) % case.workers) for rank in range(case.workers)]


@row(
    82,
    "a rank stops the fork server",
    limit_s=1.0,
    posix=True,
    alone=True,
    variants={"and returns": None, "and is killed": signal.SIGKILL},
    spawned=(),
)
def a_fork_server_that_a_rank_has_stopped_goes_on(case: Case) -> None:
    _fork_server(case)
    fault, then = case.fault, case.variant

    def work(comm):
        if comm.rank == 0:
            fault()
            os.kill(os.getppid(), signal.SIGSTOP)
            if then is not None:
                os.kill(os.getpid(), then)
        return comm.rank

    if then is None:
        assert case.run(work).values == [0, 1]
        case.reported()
    else:
        error = case.failing(WorkerKilled, work)
        assert error.rank == 0
        assert "SIGKILL" in str(error)


@row(82, "the fork server is stopped while workers start", posix=True, alone=True, spawned=())
def a_fork_server_that_is_stopped_while_workers_start_goes_on(case: Case) -> None:
    pid, started = _fork_server(case), threading.Event()

    def stop_again_and_again() -> None:
        while not started.wait(0.001):
            os.kill(pid, signal.SIGSTOP)

    thread = threading.Thread(target=stop_again_and_again)
    thread.start()
    try:
        assert case.run(lambda comm: comm.rank).values == [0, 1]
    finally:
        started.set()
        thread.join()


@row(82, "a fork server that does not answer", limit_s=1.0, posix=True, alone=True, spawned=())
def a_fork_server_that_does_not_answer_is_ended(case: Case) -> None:
    pid = _fork_server(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "go_on", lambda: None)  # so that it stays stopped
        patch.setattr(fork_server, "_ANSWER_LIMIT_S", 0.2)
        os.kill(pid, signal.SIGSTOP)
        error = case.failing(LaunchError, lambda comm: comm.rank)
    assert "the fork server" in str(error)
    assert "had not answered for 0.2 s and was ended" in str(error)


@row(
    82,
    "the fork server is killed while workers start",
    limit_s=1.0,
    posix=True,
    alone=True,
    spawned=(),
)
def a_fork_server_that_was_killed_is_told(case: Case) -> None:
    _fork_server(case)
    from multiprocess import forkserver

    started = forkserver._forkserver.ensure_running

    def started_and_killed() -> None:
        started()
        os.kill(_fork_server(case), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forkserver._forkserver, "ensure_running", started_and_killed)
        error = case.failing(WorkerStartError, lambda comm: comm.rank)
    assert "the fork server, the process that starts workers, was killed by SIGKILL" in str(error)
    assert "ran out of memory; run again" in str(error)


def _fork_server(case: Case) -> int:
    """Return the number of the fork server's process."""
    if case.start_method != "forkserver":
        pytest.skip("spawn has no fork server")
    from multiprocess import forkserver  # there is none on Windows

    pid: int = forkserver._forkserver._forkserver_pid
    return pid
