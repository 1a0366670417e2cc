"""A rank killed at any moment of its life is reported, and nothing hangs or is left."""

import os
import random
import signal
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
import psutil

from course_lib.comm.errors import LaunchError, RunError, WorkerKilled, WorkerStartError
from tests.faults.table import Case, Fault, row
from tests.residue import assert_nothing_left, residue


def busy(comm):
    rng = np.random.default_rng(comm.rank)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(60):
        comm.sendrecv(np.zeros(int(rng.integers(0, 60_000))), right, left)
        if step % 10 == 0:
            comm.barrier()
    return comm.rank


def a_worker():
    """Return a worker of ours that is alive now: a grandchild or child that is no helper."""
    for child in psutil.Process().children(recursive=True):
        try:
            line = " ".join(child.cmdline())
            is_server = "forkserver" in line and child.ppid() == os.getpid()
            if "resource_tracker" not in line and not is_server:
                return child
        except psutil.Error:
            continue
    return None


def kill_one_after(delay_s: float, fault: Fault):
    deadline = time.monotonic() + 5.0
    while (victim := a_worker()) is None and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay_s)
    if victim is not None:
        with suppress(psutil.Error):
            fault()
            victim.send_signal(signal.SIGKILL)


def _run_or_error(case: Case) -> RunError | None:
    try:
        with warnings.catch_warnings():
            # Killed after it had returned: the result is kept, and that is told.
            warnings.filterwarnings("ignore", "rank . returned its result", RuntimeWarning)
            assert case.run(busy, workers=3).values == [0, 1, 2]
    except (WorkerKilled, WorkerStartError, LaunchError) as error:
        return error
    return None


@row(
    13,
    "kills at random moments",
    limit_s=2.0,
    posix=True,
    alone=True,
    variants={"40 of them": 40, "10 of them": 10},
    spawned=("10 of them",),
    rare=("40 of them",),
)
def a_kill_at_a_random_moment_is_told_and_leaves_nothing(case: Case) -> None:
    """``case.variant`` is how many launches meet a kill."""
    moments = random.Random(case.variant)
    before = residue()
    for _ in range(case.variant):
        case.forget()
        delay_s = moments.uniform(0.0, 0.08)
        killer = threading.Thread(target=kill_one_after, args=(delay_s, case.fault))
        killer.start()
        told = _run_or_error(case)
        if told is not None:
            case.reported()
            assert told.rank in (0, 1, 2)
            assert "SIGKILL" in str(told) or isinstance(told, LaunchError)
        killer.join()
    assert_nothing_left(before)
    case.forget()
