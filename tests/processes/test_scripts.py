"""Real programs: a script without a main guard, Ctrl-C, and a program that is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.residue import names_in_shared_memory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals are sent the POSIX way here"),
]
REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0


class Program:
    """A script in a process group of its own."""

    def __init__(self, folder, text, method):
        script = folder / "script.py"
        script.write_text(f"METHOD = {method!r}\n{text}")
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, start_new_session=True,
        )  # fmt: skip

    def wait_for(self, line):
        """Read its output up to a line."""
        while (read := self.process.stdout.readline()) and line not in read:
            pass
        assert read, self.process.stderr.read()

    def descendants(self):
        return psutil.Process(self.process.pid).children(recursive=True)

    def finish(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return out, err


@pytest.fixture
def start_program(tmp_path):
    programs = []

    def start(text, method):
        programs.append(Program(tmp_path, text, method))
        return programs[-1]

    yield start
    for program in programs:
        if program.process.poll() is None:
            os.killpg(program.process.pid, signal.SIGKILL)
            program.process.wait()
        program.process.stdout.close()
        program.process.stderr.close()


def assert_all_gone(processes, pid):
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert alive == []
    assert names_in_shared_memory(pid) == []


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


def test_a_script_without_main_guard_runs_once(start_program, start_method):
    program = start_program(UNGUARDED, start_method)
    out, err = program.finish()
    assert program.process.returncode == 0, err
    assert out.splitlines() == ["the script runs", "[6.0, 7.0]", "[6.0, 7.0]"]
    assert err == ""


def test_a_module_run_with_dash_m_works_too(tmp_path, start_method):
    (tmp_path / "program.py").write_text(f"METHOD = {start_method!r}\n{UNGUARDED}")
    done = subprocess.run(
        [sys.executable, "-m", "program"], cwd=tmp_path, capture_output=True, text=True,
        timeout=PATIENCE_S, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["the script runs", "[6.0, 7.0]", "[6.0, 7.0]"], done.stderr


INTERRUPTED = """
import time
import numpy as np
from course_lib import run

class Slow:
    '''Loads slowly: the workers hang in their start-up.'''
    def __reduce__(self):
        return time.sleep, (PHASE == "start" and 1000 or 0,)

def work(comm, slow):
    if PHASE == "run":
        print("at work", flush=True)
        if comm.rank == 0:
            while True:
                pass
        comm.recv(src=0)
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


@pytest.mark.parametrize("phase", ["start", "run", "any"])
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_the_workers_and_raises_once(start_program, start_method, phase, presses):
    program = start_program(f"PHASE = {phase!r}\n{INTERRUPTED}", start_method)
    program.wait_for({"start": "begin", "run": "at work", "any": "one more"}[phase])
    if phase == "run":
        program.wait_for("at work")
    if phase != "any":
        time.sleep(0.5)  # the workers are loading, or at their work, or late on a busy computer
    for _ in range(presses):
        os.killpg(program.process.pid, signal.SIGINT)  # what a terminal does
    out, err = program.finish()
    assert program.process.returncode == 0, err
    lines = [line for line in out.splitlines() if line.startswith(("interrupted", "[0"))]
    assert len(lines) == 2, (out, err)
    if phase != "any":  # there it may also come between two runs, where Python raises it
        assert lines[0].startswith("interrupted: the run was interrupted")
    if phase == "run":
        assert "rank 0 was running, at script.py, line " in lines[0]
        assert "rank 1 waited in recv(src=0), at script.py, line " in lines[0]
    assert lines[1] == "[0, 1]"
    assert "Traceback" not in err


ORPHANED = """
import ctypes, time
from course_lib import run

def work(comm):
    print("at work", flush=True)
    if HOW == "loop":
        while True:
            pass
    if HOW == "wait":
        comm.recv(src=1 - comm.rank)
    ctypes.PyDLL(None).sleep(1000)  # holds Python's lock

run(work, workers=2, start_method=METHOD)
"""


@pytest.mark.parametrize("how", ["loop", "wait", "compiled code"])
def test_workers_do_not_outlive_a_killed_program(start_program, start_method, how):
    if how == "compiled code" and not sys.platform.startswith("linux"):
        pytest.skip("only Linux ends a process that holds Python's lock with its parent")
    program = start_program(f"HOW = {how!r}\n{ORPHANED}", start_method)
    program.wait_for("at work")
    program.wait_for("at work")
    below = program.descendants()
    assert len(below) >= 2
    program.process.kill()
    program.process.wait()
    assert_all_gone(below, program.process.pid)


def test_a_worker_that_kills_the_program_takes_all_with_it(start_program, start_method):
    text = """
import os, signal, time
from course_lib import run

def work(comm, launcher):
    comm.barrier()
    if comm.rank == 0:
        print("at work", flush=True)
        time.sleep(0.5)
        os.kill(launcher, signal.SIGKILL)
    time.sleep(1000)

run(work, os.getpid(), workers=2, start_method=METHOD)
"""
    program = start_program(text, start_method)
    program.wait_for("at work")
    below = program.descendants()
    program.process.wait(PATIENCE_S)
    assert_all_gone(below, program.process.pid)


def test_killing_the_whole_group_leaves_no_worker_and_no_memory(start_program, start_method):
    program = start_program(f"HOW = 'wait'\n{ORPHANED}", start_method)
    program.wait_for("at work")
    below = program.descendants()
    os.killpg(program.process.pid, signal.SIGKILL)
    program.process.wait()
    assert_all_gone(below, program.process.pid)


def test_a_run_in_a_thread_that_ends_does_not_end_later_workers(start_program, start_method):
    text = """
import threading, time
from course_lib import run

def work(comm):
    time.sleep(0.2)
    comm.barrier()
    return comm.rank

def launch():
    print(run(work, workers=2, start_method=METHOD).values, flush=True)

for _ in range(2):
    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
launch()
"""
    out, err = start_program(text, start_method).finish()
    assert out.splitlines() == ["[0, 1]"] * 3, err


def test_a_system_without_room_for_more_files_refuses_and_cleans_up(start_program, start_method):
    text = """
import resource
from course_lib import run
from course_lib.comm.errors import LaunchError

def work(comm):
    comm.barrier()
    return comm.rank

print(run(work, workers=2, start_method=METHOD).values)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (60, hard))
try:
    run(work, workers=30, start_method=METHOD)
except LaunchError as error:
    print("refused:", error)
print(run(work, workers=2, start_method=METHOD).values)
"""
    out, err = start_program(text, start_method).finish()
    first, refused, last = out.splitlines()
    assert first == last == "[0, 1]"
    assert "refused: the operating system did not let worker" in refused
    assert "Too many open files" in refused
    assert err == ""
