"""A copy of the program (``os.fork``) can call ``run`` itself, in every world."""

import os
import signal
import sys
import tempfile
from itertools import product
from pathlib import Path

import psutil
import pytest

from tests.programs import Program, wait_until_ended

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be copied here"),
    # NumPy and torch are loaded where a copy is made, and a copy of threads is none.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

PATIENCE_S = 120.0
"""Each copy starts a fork server of its own, which loads torch."""

BEGIN = """
import os, signal, sys, threading, time, warnings
from itertools import product
from pathlib import Path
from multiprocess import process
from course_lib import run
from course_lib.comm.processes.launcher import start_methods

def try_it(comm):
    comm.barrier()
    return comm.rank

def run_here(method=None):
    options = {} if BACKEND == "simulated" else {"start_method": method}
    return run(try_it, workers=2, backend=BACKEND, **options).values

def copy(fn):
    pid = os.fork()
    if pid == 0:
        signal.alarm(100)  # a copy that hangs ends
        try:
            print("copy:", fn(), flush=True)
        finally:
            os._exit(0)
    return pid
"""

BESIDE = """
def wait_for(path):
    while not Path(path).exists():
        time.sleep(0.001)

def work(comm):
    os.environ["OF_A_RANK"] = "1"
    warnings.simplefilter("ignore")
    if WITH_TORCH:
        import torch
        torch.set_default_dtype(torch.float64)
    Path("at work").touch()
    wait_for("go on")
    return comm.rank

start = process.BaseProcess.start

def start_slowly(self):
    if WHERE == "start" and threading.current_thread() is beside:
        Path("at work").touch()
        wait_for("go on")
    start(self)

def begin(comm):
    run(work, workers=1, backend=BACKEND)

def as_before():
    import torch
    return (
        "OF_A_RANK" in os.environ, torch.get_default_dtype(), warnings.filters == filters,
        type(warnings.filters), type(vars(os.environ)["_data"]), signal.getsignal(signal.SIGINT),
    )

WITH_TORCH = True
import torch
filters = list(warnings.filters)
before = as_before()
process.BaseProcess.start = start_slowly
results = []
run_it = lambda: results.append(run(work, workers=1, backend=BACKEND).values)

def look_and_run():
    if BACKEND == "processes" and (WHO, WHERE) != ("main thread", "work"):
        start_methods._ALSO.pop("torch")  # a server of its own, which takes so long to load it
    return as_before() == before, run_here()

def copies():
    wait_for("at work")
    _, status = os.waitpid(copy(look_and_run), 0)
    print("status", status, flush=True)
    Path("go on").touch()

for WHO, WHERE in product(["main thread", "other thread"], PLACES):
    results.clear()
    if WHO == "main thread":  # is who forks
        beside = threading.Thread(target=run_it)
        beside.start()
        copies()
        beside.join()
    else:
        beside = threading.main_thread()
        forks = threading.Thread(target=copies)
        forks.start()
        run_it()
        forks.join()
    print(WHO, WHERE, results, as_before() == before, run_here(), flush=True)
    Path("at work").unlink()
    Path("go on").unlink()
"""


def test_a_copy_made_while_another_thread_runs_can_run(launching_world, tmp_path):
    """At work, and while it starts its workers: the simulator starts none."""
    places = ["work", "start"] if launching_world.backend == "processes" else ["work"]
    names = f"BACKEND, PLACES = {launching_world.backend!r}, {places!r}\n"
    with Program(tmp_path, names + BEGIN + BESIDE, None) as program:
        out, err = program.finish(PATIENCE_S)
    expected = [
        line
        for who, where in product(["main thread", "other thread"], places)
        for line in ("copy: (True, [0, 1])", "status 0", f"{who} {where} [[0]] True [0, 1]")
    ]
    assert out.splitlines() == expected, err


AFTERWARDS = """
import multiprocessing
import multiprocess

def tell():
    print("copy:", run_here(METHOD), run_here(METHOD), flush=True)

def leave():
    tell()
    sys.exit()

print(run_here(METHOD))
for how in (multiprocessing, multiprocess) if BACKEND == "processes" else ():
    child = how.get_context("fork").Process(target=tell)
    child.start()
    child.join()
if BACKEND != "torch":  # whose every copy has a fork server load torch
    os.waitpid(copy(lambda: run_here(METHOD)), 0)
if (pid := os.fork()) == 0:
    leave()
os.waitpid(pid, 0)
print(run_here(METHOD), flush=True)
"""


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_copy_made_after_a_run_starts_processes_of_its_own(rarely_torch, method, tmp_path):
    if rarely_torch.backend != "processes" and method == "spawn":
        pytest.skip("as on processes, or nothing is started there")
    with Program(
        tmp_path, f"BACKEND = {rarely_torch.backend!r}\n{BEGIN}{AFTERWARDS}", method
    ) as program:
        out, err = program.finish(PATIENCE_S)
    both = "copy: [0, 1] [0, 1]"
    copies = {"processes": [both, both, "copy: [0, 1]"], "simulated": ["copy: [0, 1]"], "torch": []}
    assert out.splitlines() == ["[0, 1]", *copies[rarely_torch.backend], both, "[0, 1]"], err
    assert err == ""


WATCHED = """
import psutil

def server():
    (pid,) = (c.pid for c in psutil.Process().children() if "forkserver" in " ".join(c.cmdline()))
    return pid

run_here()
before = server()

def wait():
    run_here()
    print("servers", before, server(), flush=True)
    signal.alarm(0)
    time.sleep(1000)

pid = copy(wait)
print("pid", pid, flush=True)
time.sleep(1000)
"""


def test_a_copy_and_its_program_leave_nothing_and_do_not_hold_each_other(tmp_path):
    if not sys.platform.startswith("linux"):
        pytest.skip("fork servers are not used here")
    text = f"BACKEND = 'processes'\n{BEGIN}{WATCHED}"
    with Program(tmp_path, text, "forkserver") as program:
        copy = psutil.Process(int(program.wait_for("pid").split()[1]))
        theirs, its_own = map(psutil.Process, map(int, program.wait_for("servers").split()[1:]))
        assert theirs.is_running()
        folders = [f"cl-{pid}-*" for pid in (program.pid, copy.pid)]
        program.process.kill()
        program.process.wait()
        wait_until_ended([theirs])
        assert its_own.is_running()
        assert copy.is_running()
        copy.send_signal(signal.SIGKILL)
        wait_until_ended([copy, its_own])
    temporary = Path(tempfile.gettempdir())
    assert [path for folder in folders for path in temporary.glob(folder)] == []
