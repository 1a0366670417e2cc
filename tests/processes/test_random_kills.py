"""A rank killed at any moment of its life is reported, and nothing hangs or is left."""

import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest

from course_lib import run
from course_lib.comm.errors import LaunchError, WorkerKilled, WorkerStartError
from tests.residue import assert_nothing_left, residue

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills with a POSIX signal"),
]


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


def kill_one_after(delay_s):
    deadline = time.monotonic() + 5.0
    while (victim := a_worker()) is None and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay_s)
    if victim is not None:
        with suppress(psutil.Error):
            victim.send_signal(signal.SIGKILL)


def kill_at_random(n_launches, method, seed):
    moments = random.Random(seed)
    endings = {"well": 0, "killed": 0}
    before = residue()
    for _ in range(n_launches):
        killer = threading.Thread(target=kill_one_after, args=(moments.uniform(0.0, 0.08),))
        killer.start()
        begun_s = time.monotonic()
        try:
            values, told = run(busy, workers=3, start_method=method).values, None
        except (WorkerKilled, WorkerStartError, LaunchError) as error:
            values, told = None, error
        if told is None:
            assert values == [0, 1, 2]
            endings["well"] += 1
        else:
            assert told.rank in (0, 1, 2)
            assert "SIGKILL" in str(told) or isinstance(told, LaunchError)
            endings["killed"] += 1
        assert time.monotonic() - begun_s < 20.0
        killer.join()
    assert_nothing_left(before)
    return endings


@pytest.mark.filterwarnings("ignore:rank . returned its result and then:RuntimeWarning")
def test_a_kill_at_a_random_moment_is_told_and_leaves_nothing(usual_method):
    assert kill_at_random(40, usual_method, seed=1)["killed"] > 0


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:rank . returned its result and then:RuntimeWarning")
def test_a_thousand_kills_at_random_moments(start_method):
    assert kill_at_random(1000, start_method, seed=2)["killed"] > 0
