"""The program around a run is interrupted, restarted, killed, or loses its terminal."""

import os
import signal
import sys
import time

import pytest

from tests.faults.table import Case, row
from tests.kernels import Kernel
from tests.programs import Program, assert_all_gone, start_next_program, wait_until_ended

INTERRUPTED = """
import sys, time
import numpy as np
from course_lib import run

class Slow:
    '''Loads slowly: the workers hang in their start-up.'''
    def __reduce__(self):
        return time.sleep, (1000 if PHASE == "start" else 0,)

class SlowToLeave:
    '''What a worker prints to: it is slow at the very end.'''
    def write(self, text):
        pass
    def flush(self):
        sys.__stdout__.write("leaving\\n")
        sys.__stdout__.flush()
        time.sleep(1000)

def work(comm, slow):
    if PHASE == "run":
        print("at work", flush=True)
        if comm.rank == 0:
            while True:
                pass
        comm.recv(src=0)
    if PHASE == "end" and comm.rank == 0:
        sys.__stdout__ = sys.stdout
        sys.stdout = SlowToLeave()
    return comm.rank

try:
    print("begin", flush=True)
    while True:
        run(work, Slow(), workers=2, start_method=METHOD, time_limit_s=100)
        print("one more", flush=True)
except KeyboardInterrupt as error:
    print("interrupted:", str(error).replace(chr(10), " |"), flush=True)
PHASE = "none"
print(run(work, Slow(), workers=2, start_method=METHOD).values)
"""
WHEN = {"start": "begin", "run": "at work", "end": "leaving", "any": "one more"}


_TRIES = 3


@row(
    37,
    "Ctrl-C",
    limit_s=2.0,
    posix=True,
    alone=True,
    variants={
        f"{phase}, {times}": (phase, presses)
        for phase in WHEN
        for presses, times in ((1, "once"), (2, "twice"))
    },
    spawned=("start, once", "start, twice", "any, twice"),
)
def ctrl_c_ends_the_workers_and_raises_once(case: Case) -> None:
    phase, presses = case.variant
    text = f"PHASE = {phase!r}\n{INTERRUPTED}"
    for _ in range(_TRIES):
        with Program(case.folder, text, case.start_method) as program:
            program.wait_for(WHEN[phase])
            if phase == "run":
                program.wait_for(WHEN[phase])  # the other rank
            if phase in ("start", "run"):
                time.sleep(0.3)  # the workers are loading, or at their work, or late
            case.fault()
            for _ in range(presses):
                os.killpg(program.pid, signal.SIGINT)  # what a terminal does
            told = program.wait_for("interrupted:")
            case.reported()
            out, err = program.finish()
        if presses == 1 or "KeyboardInterrupt: the run was interrupted" not in err:
            break  # else this test was late, and the second press met the next run
    assert program.process.returncode == 0, err
    assert "Traceback" not in err
    assert "interrupted:" not in out
    assert out.splitlines()[-1] == "[0, 1]"
    if phase in ("start", "run"):  # else it may also come between runs, where Python raises it
        assert told.startswith("interrupted: the run was interrupted")
    if phase == "run":
        assert "rank 0 was running, at script.py, line " in told
        assert "rank 1 waited in recv(src=0), at script.py, line " in told


AT_WORK = """
from course_lib import run

def work(comm):
    print("at work", flush=True)
    if HOW == "loop":
        while True:
            pass
    if HOW == "wait":
        comm.recv(src=1 - comm.rank)
    if HOW == "slow":
        import time
        time.sleep(1000)
    import ctypes
    ctypes.PyDLL(None).sleep(1000)  # holds Python's lock

run(work, workers=2, start_method=METHOD)
"""


@row(38, "the kernel is restarted", limit_s=3.0, alone=True)
def a_restarted_kernel_leaves_no_worker(case: Case) -> None:
    with Kernel(case.folder) as kernel:
        kernel.start(f"HOW = 'wait'\nMETHOD = {case.start_method!r}\n{AT_WORK}")
        kernel.wait_for_print("at work")
        pid, below = kernel.pid, kernel.descendants()
        assert len(below) >= 2
        case.fault()
        kernel.manager.restart_kernel(now=True)
        wait_until_ended(below)
        case.reported()
        assert_all_gone(below, pid)
        kernel.client.wait_for_ready(timeout=60)
        printed, error = kernel.run(
            f"from course_lib import run\n"
            f"print(run(lambda comm: comm.rank, workers=2, start_method={case.start_method!r}))"
        )
        assert error is None
        assert "Result(2 ranks" in printed
        kernel.manager.shutdown_kernel(now=False)


@row(
    39,
    "the program is killed",
    limit_s=2.0,
    posix=True,
    alone=True,
    variants={how: how for how in ("loop", "wait", "slow", "compiled code")},
    spawned=("wait", "compiled code"),
)
def workers_do_not_outlive_a_killed_program(case: Case) -> None:
    if case.variant == "compiled code" and not sys.platform.startswith("linux"):
        pytest.skip("only Linux ends a process that holds Python's lock with its parent")
    with Program(case.folder, f"HOW = {case.variant!r}\n{AT_WORK}", case.start_method) as program:
        program.wait_for("at work")
        program.wait_for("at work")
        below = program.descendants()
        assert len(below) >= 2
        case.fault()
        program.process.kill()
        program.process.wait()
        wait_until_ended(below)
        case.reported()
        assert_all_gone(below, program.pid)


@row(40, "the program's whole group is killed", limit_s=2.0, posix=True, alone=True)
def killing_the_whole_group_leaves_no_worker_and_no_memory(case: Case) -> None:
    with Program(case.folder, f"HOW = 'wait'\n{AT_WORK}", case.start_method) as program:
        program.wait_for("at work")
        below = program.descendants()
        case.fault()
        os.killpg(program.pid, signal.SIGKILL)
        program.process.wait()
        wait_until_ended(below)
        case.reported()
        assert_all_gone(below, program.pid)
    start_next_program(case.folder)  # nobody was left to remove the fork server's folder


OWN_TERMINAL = """
import fcntl, signal, termios
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, also by those started
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""


@row(41, "the terminal is closed", limit_s=3.0, posix=True, alone=True)
def a_closed_terminal_ends_the_program_and_its_workers(case: Case) -> None:
    ours, theirs = os.openpty()
    text = f"{OWN_TERMINAL}\nHOW = 'slow'\n{AT_WORK}"
    ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with Program(case.folder, text, case.start_method, **ends) as program:
        os.close(theirs)
        read = b""
        while read.count(b"at work") < 2:
            read += os.read(ours, 1000)
        below = program.descendants()
        assert len(below) >= 2
        case.fault()
        os.close(ours)
        assert program.process.wait(30) == -signal.SIGHUP
        wait_until_ended(below)
        case.reported()
        assert_all_gone(below, program.pid)
    start_next_program(case.folder)
