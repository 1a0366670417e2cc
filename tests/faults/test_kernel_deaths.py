"""A notebook's kernel that dies leaves nothing behind, whoever dies with it and whenever."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.kernels import Kernel
from tests.programs import (
    assert_all_gone,
    assert_gone,
    start_next_program,
    wait_until_ended,
)
from tests.residue import assert_nothing_left, names_in_shared_memory, residue

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and process groups"),
]

WAITING = """
from course_lib import run
def wait(comm):
    print("at work")
    comm.recv(src=1 - comm.rank) if HOW == "waits" else time.sleep(1000)
run(wait, workers=2)
"""
KILLS = {
    "the kernel alone": lambda kernel: os.kill(kernel.pid, signal.SIGKILL),
    "the whole group": lambda kernel: os.killpg(os.getpgid(kernel.pid), signal.SIGKILL),
}
LIVES = """
import random, time
import numpy as np
from course_lib import run
print("ready")

def busy(comm):
    for step in range(40):
        comm.sendrecv(np.zeros(20_000), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
        time.sleep(0.001)

while True:
    run(busy, workers=3)
"""


@pytest.mark.parametrize("how", KILLS)
def test_a_killed_kernel_leaves_no_worker_and_no_memory(
    tmp_path, fault, told, temporary_folder, how
):
    before = residue(temporary_folder)
    with Kernel(tmp_path) as kernel:
        kernel.start("import time\n" + WAITING.replace("HOW", "'sleeps'"))
        kernel.wait_for_print("at work")
        pid, below = kernel.pid, kernel.descendants()
        assert len(below) >= 3
        fault()
        KILLS[how](kernel)
        wait_until_ended(below)
        told(2.0)
        assert_all_gone(below, pid)
    start_next_program(tmp_path)
    assert_nothing_left(before, temporary_folder)


def _restart(kernel):
    kernel.manager.restart_kernel(now=True)
    kernel.client.wait_for_ready(timeout=60)


DEATHS = {
    **KILLS,
    "restart": _restart,
    "interrupt": lambda kernel: kernel.manager.interrupt_kernel(),
}


def _die(n_deaths: int, folder: Path, temporary_folder: Path, seed: int) -> None:
    moments = random.Random(seed)
    before, pids = residue(temporary_folder), []
    for number in range(n_deaths):
        how = list(DEATHS)[number % len(DEATHS)]
        with Kernel(folder) as kernel:
            request = kernel.start(LIVES)
            kernel.wait_for_print("ready")
            time.sleep(moments.uniform(0.0, 0.5))
            below = kernel.descendants()
            pids.append(kernel.pid)
            DEATHS[how](kernel)
            if how == "interrupt":
                _, error = kernel.result(request)
                assert error[0] == "KeyboardInterrupt"
                below = [process for process in below if not _helps(process)]
            assert_gone(below)
    # Those that died as a run was starting, with all their helpers, have left names behind.
    start_next_program(folder)
    assert [name for pid in pids for name in names_in_shared_memory(pid)] == []
    assert_nothing_left(before, temporary_folder)


def _helps(process: psutil.Process) -> bool:
    try:
        line = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return "resource_tracker" in line or "forkserver" in line


@pytest.mark.soak
def test_kernels_that_die_at_any_moment_leave_nothing_behind(tmp_path, temporary_folder):
    _die(8, tmp_path, temporary_folder, seed=1)


@pytest.mark.soak
def test_two_hundred_kernel_deaths_leave_nothing_behind(tmp_path, temporary_folder):
    _die(200, tmp_path, temporary_folder, seed=2)
