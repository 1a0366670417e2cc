"""What a notebook does besides: several runs, a run in a run, no main guard, torch, children."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from course_lib import run
from course_lib.comm.errors import (
    LaunchError,
    NestedLaunchError,
    WorkerError,
    WorkerExited,
    WorkerKilled,
)
from tests.faults.table import Case, row
from tests.programs import PATIENCE_S, REPOSITORY, Program, assert_all_gone


def _exchange(comm, base):
    total = 0.0
    for step in range(50):
        array = np.full(1000, base + step)
        got = comm.sendrecv(array, dst=1 - comm.rank, src=1 - comm.rank, tag=step)
        total += float(got[0]) - base
    return total


BASES = [1000.0, 2000.0, 3000.0]


def _in_threads(method: str) -> list[list[float]]:
    results = {}

    def launch(base):
        results[base] = run(_exchange, base, workers=2, start_method=method).values

    threads = [threading.Thread(target=launch, args=(base,)) for base in BASES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return [results[base] for base in BASES]


def _in_tasks(method: str) -> list[list[float]]:
    async def launch(base):
        return run(_exchange, base, workers=2, start_method=method).values

    async def launch_beside(base):
        return await asyncio.to_thread(lambda: asyncio.run(launch(base)))

    async def launch_all():
        return await asyncio.gather(launch(BASES[0]), *map(launch_beside, BASES[1:]))

    return asyncio.run(launch_all())


@row(
    42,
    "several runs at once",
    alone=True,
    variants={"in threads": _in_threads, "in asyncio tasks": _in_tasks},
)
def runs_at_once_do_not_meet(case: Case) -> None:
    assert case.variant(case.start_method) == [[1225.0, 1225.0]] * len(BASES)


TWICE = """
import time
from course_lib import run

def work(comm):
    total = 0
    for step in range(20):
        total += int(comm.sendrecv(np.array([KEY + step]), 1 - comm.rank, 1 - comm.rank)[0]) - KEY
        time.sleep(0.01)
    return total

import numpy as np
print("begin", flush=True)
input()
print(run(work, workers=2, start_method=METHOD).values)
"""


@row(42, "two programs run at once", alone=True)
def two_programs_do_not_meet(case: Case) -> None:
    for name in ("a", "b"):
        (case.folder / name).mkdir()
    with (
        Program(
            case.folder / "a", f"KEY = 100\n{TWICE}", case.start_method, stdin=subprocess.PIPE
        ) as first,
        Program(
            case.folder / "b", f"KEY = 900\n{TWICE}", case.start_method, stdin=subprocess.PIPE
        ) as second,
    ):
        for program in (first, second):
            program.wait_for("begin")
        for program in (first, second):
            program.process.stdin.write(b"go\n")
            program.process.stdin.flush()
        for program in (first, second):
            out, err = program.finish()
            assert out.splitlines() == ["[190, 190]"], err


@row(43, "a run inside a worker", limit_s=0.5)
def a_run_inside_a_worker_is_refused(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            run(lambda comm: None, workers=2)
        comm.barrier()

    error = case.failing(NestedLaunchError, work)
    assert error.rank == bad_rank
    assert "inside a worker" in str(error)


UNGUARDED = """
import os
import numpy as np
from course_lib import run
print("the script runs")
SCALE = 3

def helper(x):
    return SCALE * x

def work(comm):
    return float(helper(np.ones(2)).sum()) + comm.rank

for _ in range(2):
    print(run(work, workers=2, start_method=METHOD).values)
"""


@row(44, "a script without a main guard", alone=True)
def a_script_without_main_guard_runs_once(case: Case) -> None:
    with Program(case.folder, UNGUARDED, case.start_method) as program:
        out, err = program.finish()
    assert program.process.returncode == 0, err
    assert out.splitlines() == ["the script runs", "[6.0, 7.0]", "[6.0, 7.0]"]
    assert err == ""


@row(44, "a module without a main guard", alone=True)
def a_module_run_with_dash_m_runs_once(case: Case) -> None:
    (case.folder / "program.py").write_text(f"METHOD = {case.start_method!r}\n{UNGUARDED}")
    done = subprocess.run(
        [sys.executable, "-m", "program"], cwd=case.folder, capture_output=True, text=True,
        timeout=PATIENCE_S, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["the script runs", "[6.0, 7.0]", "[6.0, 7.0]"], done.stderr


WITH_SIGCHLD_BLOCKED = """
import signal
from course_lib import run

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
for _ in range(2):
    print(run(lambda comm: comm.rank, workers=2, start_method=METHOD).values)
"""


@row(71, "the program blocks SIGCHLD", posix=True, alone=True)
def a_program_that_blocks_the_signal_of_its_children_runs(case: Case) -> None:
    with Program(case.folder, WITH_SIGCHLD_BLOCKED, case.start_method) as program:
        assert program.finish() == ("[0, 1]\n" * 2, "")


@row(71, "a signal handler of the program raises", limit_s=2.0, posix=True)
def what_a_signal_handler_raises_ends_the_run(case: Case) -> None:
    fault = case.fault

    def stop(*_: object) -> None:
        fault()
        raise OSError("planned")

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        error = case.failing(OSError, lambda comm: time.sleep(1000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert signal.signal(signal.SIGALRM, before) is stop
    assert str(error) == "planned"


@row(72, "the working directory is removed", limit_s=0.5, posix=True, alone=True)
def a_working_directory_that_is_gone_is_told(case: Case) -> None:
    before, gone = Path.cwd(), case.folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        case.fault()
        error = case.failing(LaunchError, lambda comm: comm.rank)
    finally:
        os.chdir(before)
    assert "the working directory of this program has been removed" in str(error)


COPIED = """
import os, threading, time
from pathlib import Path
from course_lib import run

def work(comm):
    Path("at work").touch()
    while not Path("go on").exists():
        time.sleep(0.001)
    return comm.rank

def run_it():
    print(run(work, workers=2, start_method=METHOD).values, flush=True)

thread = threading.Thread(target=run_it)
thread.start()
while not Path("at work").exists():
    time.sleep(0.001)
if (pid := os.fork()) == 0:
    print("copy", run(lambda comm: comm.rank, workers=2, start_method=METHOD).values, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
Path("go on").touch()
thread.join()
"""


@row(73, "a copy of the program", posix=True, alone=True)
def a_copy_of_the_program_runs(case: Case) -> None:
    with Program(case.folder, COPIED, case.start_method) as program:
        assert program.finish() == ("copy [0, 1]\n[0, 1]\n", "")


DAEMON = """
import threading, time
from course_lib import run

def work(comm):
    print("at work", flush=True)
    time.sleep(1000)

threading.Thread(target=run, args=(work,), kwargs={"start_method": METHOD}, daemon=True).start()
input()
"""


@row(74, "the program ends while a daemon thread runs", limit_s=2.0, posix=True, alone=True)
def a_daemon_thread_does_not_hold_up_the_end(case: Case) -> None:
    with Program(case.folder, DAEMON, case.start_method, stdin=subprocess.PIPE) as program:
        program.wait_for("at work")
        below = program.descendants()
        case.fault()
        program.process.stdin.write(b"\n")
        program.process.wait(PATIENCE_S)
        case.reported()
        _, err = program.finish()
        assert_all_gone(below, program.pid)
    assert err == ""


@row(45, "torch and BLAS threads have run here", alone=True)
def it_works_after_torch_and_blas_threads_ran_here(case: Case) -> None:
    import torch

    weights = torch.ones(500, 500, requires_grad=True)
    (weights @ weights).sum().backward()
    np.ones((500, 500)) @ np.ones((500, 500))

    def work(comm, w):
        (w.detach() @ w.detach()).sum()
        return tuple(w.shape)

    assert case.run(work, weights.detach()).values == [(500, 500)] * case.workers


def _start_a_program() -> int:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]).pid


def _start_a_detached_program() -> int:
    text = f"""
import subprocess, sys
p = subprocess.Popen([{sys.executable!r}, "-c", "import time; time.sleep(1000)"],
    start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL)
print(p.pid)
"""
    return int(subprocess.run([sys.executable, "-c", text], capture_output=True).stdout)


def _copy_oneself() -> int:
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
    return pid


def _copy_oneself_twice() -> int:
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(_copy_oneself()).encode())
        os._exit(0)
    os.wait()
    return int(os.read(read, 100))


def _kill_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


STARTERS = {
    "a program": _start_a_program,
    "a program of its own session": _start_a_detached_program,
    "a copy": _copy_oneself,
    "a copy of a copy": _copy_oneself_twice,
}


def _raise() -> None:
    raise ValueError("the end")


ENDS = {
    "that raises": (_raise, WorkerError),
    "that is killed": (_kill_oneself, WorkerKilled),
    "that leaves": (lambda: os._exit(0), WorkerExited),
}


@row(
    46,
    "processes of a worker",
    limit_s=2.0,
    posix=True,
    variants={
        f"{what} {how}": (start, *end)
        for what, start in STARTERS.items()
        for how, end in ENDS.items()
    },
    spawned=("a program that raises", "a copy of a copy that is killed"),
)
def processes_that_a_worker_has_started_end_with_it(case: Case) -> None:
    fault, bad_rank, (start, leave, error) = case.fault, case.bad_rank, case.variant
    path = case.folder / "pid"

    def work(comm):
        if comm.rank == bad_rank:
            path.write_text(str(start()))
            fault()
            leave()
        comm.recv(src=bad_rank)

    raised = case.failing(error, work)
    assert raised.rank == bad_rank
    _assert_ends(int(path.read_text()))


@row(
    46,
    "processes of a worker that returns",
    posix=True,
    variants={what: STARTERS[what] for what in ("a program", "a copy", "a copy of a copy")},
)
def processes_of_a_worker_end_when_it_returns(case: Case) -> None:
    bad_rank, start = case.bad_rank, case.variant
    values = case.run(lambda comm: start() if comm.rank == bad_rank else 0).values
    _assert_ends(values[bad_rank])


def _assert_ends(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    # An orphan that has ended is a zombie until the system's first process buries it.
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
