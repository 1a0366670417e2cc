"""The same in a real notebook kernel, where functions, errors and process groups differ."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.table import Fault
from tests.kernels import Kernel
from tests.programs import (
    assert_all_gone,
    assert_gone,
    start_next_program,
    wait_until_ended,
)
from tests.residue import assert_nothing_left, names_in_shared_memory, residue

pytestmark = pytest.mark.slow
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and process groups")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory, temporary_folder):
    with Kernel(tmp_path_factory.mktemp("notebook")) as kernel:
        kernel.run("import os, signal, sys, time\nimport numpy as np\nfrom course_lib import run")
        yield kernel


@pytest.fixture(autouse=True)
def _next_run_works(request):
    """After every fault, no worker is left in the kernel and the next run works."""
    yield
    if "kernel" in request.fixturenames:
        kernel = request.getfixturevalue("kernel")
        printed, error = kernel.run("print(run(lambda comm: comm.rank + 41, workers=2).values)")
        assert (printed, error) == ("[41, 42]\n", None)
        below = [process.cmdline() for process in kernel.descendants()]
        helpers = ("multiprocess.forkserver", "multiprocess.resource_tracker")
        assert all(any(name in " ".join(line) for name in helpers) for line in below)
        assert len(below) <= len(helpers)


@pytest.fixture
def fault(tmp_path):
    return Fault(str(tmp_path / "moment"))


def told(fault: Fault, limit_s: float, record_property) -> None:
    """Compare the time from the fault to now with ten times its limit."""
    seconds = time.perf_counter() - float(Path(fault.path).read_text())
    print(f"reported after {seconds:.3f} s")
    record_property("from fault to report", (0, "kernel", seconds))
    assert seconds < 10 * limit_s


def noting(fault: Fault) -> str:
    """Return the text of a function that notes the moment of a fault in a worker."""
    return f"""
def fault():
    with open({fault.path!r}, "w") as file:
        file.write(repr(time.perf_counter()))
"""


def test_functions_classes_and_globals_of_cells_travel_and_output_comes_back(kernel):
    kernel.run("from dataclasses import dataclass\nOFFSET = 5")
    kernel.run("def helper(x):\n    return float(np.sum(np.ones(1))) * x + OFFSET + 1 - 0")
    printed, error = kernel.run("""
@dataclass
class Point:
    x: float

def even(n): return True if n == 0 else odd(n - 1)
def odd(n): return False if n == 0 else even(n - 1)

def work(comm):
    print("hello")
    return Point(float(helper(comm.rank))), even(10)

print(run(work, workers=2).values)
""")
    assert error is None
    assert "[(Point(x=6.0), True), (Point(x=7.0), True)]" in printed
    assert "[rank 0] hello\n" in printed
    assert "[rank 1] hello\n" in printed


def test_a_cell_that_is_edited_and_run_again_runs_its_new_code(kernel):
    for answer in (1, 2):
        kernel.run(f"def answer(comm):\n    return {answer}")
        printed, _ = kernel.run("print(run(answer, workers=1).values)")
        assert printed == f"[{answer}]\n"


def test_an_exception_names_the_rank_and_the_cell_and_nothing_of_the_launcher(
    kernel, fault, record_property
):
    kernel.run(f"{noting(fault)}\ndef inner(x):\n    y = 1\n    return y / x")
    kernel.run(
        "def failing(comm):\n"
        "    if comm.rank == 1: fault()\n"
        "    inner(1 - comm.rank)\n"
        "    comm.barrier()"
    )
    _, error = kernel.run("run(failing, workers=2)")
    told(fault, 1.0, record_property)
    name, text = error
    assert name == "WorkerError"
    number = int(text.split("failed at cell In[")[1].split("]")[0])
    assert f"rank 1 failed at cell In[{number}], line 7: ZeroDivisionError" in text
    assert "return y / x" in text
    assert f"cell In[{number + 1}], line 3, in failing" in text
    assert "launcher.py" not in text
    assert "rank 0 waited in barrier(), at cell In[" in text or "rank 0 was running" in text


@pytest.mark.parametrize(
    ("leave", "error", "words"),
    [
        ("sys.exit(3)", "WorkerExited", "rank 1 called sys.exit(3) at cell In["),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGKILL)",
            "WorkerKilled",
            "rank 1 was killed by SIGKILL; often: the computer ran out of memory (it held ",
            marks=POSIX,
        ),
    ],
    ids=["sys.exit", "SIGKILL"],
)
def test_a_rank_that_leaves_or_is_killed_is_named(
    kernel, fault, record_property, leave, error, words
):
    _, told_error = kernel.run(f"""{noting(fault)}
def work(comm):
    if comm.rank == 1:
        time.sleep(0.3)
        fault()
        {leave}
    comm.recv(src=1)
run(work, workers=2)
""")
    told(fault, 1.0, record_property)
    assert told_error[0] == error
    assert words in told_error[1]


def test_ranks_that_wait_for_each_other_are_told_with_their_lines(kernel, fault, record_property):
    _, error = kernel.run(f"""{noting(fault)}
def work(comm):
    fault()
    comm.recv(src=1 - comm.rank)
run(work, workers=2)
""")
    told(fault, 2.0, record_property)
    name, text = error
    assert name == "DeadlockError"
    for rank in (0, 1):
        (line,) = (ln for ln in text.splitlines() if ln.strip().startswith(f"rank {rank} "))
        assert f"recv(src={1 - rank})" in line
        assert "cell In[" in line
        assert "line 7" in line


BUSY = """
def hang(comm):
    print("at work")
    if comm.rank == 1:
        while True:
            pass
    comm.recv(src=1)
run(hang, workers=2)
"""


@pytest.mark.parametrize("presses", [1, 2])
def test_the_stop_button_ends_the_run_and_says_where_each_rank_was(
    kernel, fault, record_property, presses
):
    request = kernel.start(BUSY)
    kernel.wait_for_print("at work")
    time.sleep(0.3)
    fault()
    for _ in range(presses):
        kernel.manager.interrupt_kernel()
    _, error = kernel.result(request)
    told(fault, 2.0, record_property)
    name, text = error
    assert name == "KeyboardInterrupt"
    assert "rank 0 waited in recv(src=1), at cell In[" in text
    assert "rank 1 was running, at cell In[" in text


def test_an_unusable_capture_is_named(kernel):
    kernel.run("import threading\nguard = threading.Lock()\ndef locked(comm):\n    return guard")
    _, error = kernel.run("run(locked, workers=2)")
    name, text = error
    assert name == "SerializationError"
    assert "'guard'" in text


def test_a_flood_of_lines_is_cut_and_does_not_slow_the_run(kernel):
    text = """
def flood(comm, n):
    for number in range(n):
        print(number)
    os.write(1, b"\\xff\\xfe bad\\r20 %\\r\\n" + b"x" * 10_000_000)
begun_s = time.perf_counter()
run(flood, 200_000, workers=2)
print("took", time.perf_counter() - begun_s)
"""
    printed, error = kernel.run(text)
    assert error is None
    lines = printed.splitlines()
    assert "[rank 0] 0" in lines
    assert "[rank 1] 0" in lines
    assert sum("more lines dropped" in line for line in lines) == 2
    assert len(lines) < 2100
    assert float(lines[-1].split()[1]) < 30


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


@POSIX
@pytest.mark.parametrize("how", KILLS)
def test_a_killed_kernel_leaves_no_worker_and_no_memory(
    tmp_path, fault, record_property, temporary_folder, how
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
        told(fault, 2.0, record_property)
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


@POSIX
def test_kernels_that_die_at_any_moment_leave_nothing_behind(tmp_path, temporary_folder):
    _die(8, tmp_path, temporary_folder, seed=1)


@POSIX
@pytest.mark.soak
def test_two_hundred_kernel_deaths_leave_nothing_behind(tmp_path, temporary_folder):
    _die(200, tmp_path, temporary_folder, seed=2)
