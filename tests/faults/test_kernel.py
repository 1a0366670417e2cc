"""The same in a real notebook kernel, where functions, errors and process groups differ."""

import sys
import time

import pytest

from tests.faults.table import Fault
from tests.kernels import Kernel

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


def test_an_exception_names_the_rank_and_the_cell_and_nothing_of_the_launcher(kernel, fault, told):
    kernel.run(f"{noting(fault)}\ndef inner(x):\n    y = 1\n    return y / x")
    kernel.run(
        "def failing(comm):\n"
        "    if comm.rank == 1: fault()\n"
        "    inner(1 - comm.rank)\n"
        "    comm.barrier()"
    )
    _, error = kernel.run("run(failing, workers=2)")
    told(1.0)
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
def test_a_rank_that_leaves_or_is_killed_is_named(kernel, fault, told, leave, error, words):
    _, told_error = kernel.run(f"""{noting(fault)}
def work(comm):
    if comm.rank == 1:
        time.sleep(0.3)
        fault()
        {leave}
    comm.recv(src=1)
run(work, workers=2)
""")
    told(1.0)
    assert told_error[0] == error
    assert words in told_error[1]


def test_ranks_that_wait_for_each_other_are_told_with_their_lines(kernel, fault, told):
    _, error = kernel.run(f"""{noting(fault)}
def work(comm):
    fault()
    comm.recv(src=1 - comm.rank)
run(work, workers=2)
""")
    told(2.0)
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
def test_the_stop_button_ends_the_run_and_says_where_each_rank_was(kernel, fault, told, presses):
    request = kernel.start(BUSY)
    kernel.wait_for_print("at work")
    time.sleep(0.3)
    fault()
    for _ in range(presses):
        kernel.manager.interrupt_kernel()
    _, error = kernel.result(request)
    told(2.0)
    name, text = error
    assert name == "KeyboardInterrupt"
    assert "rank 0 waited in recv(src=1), at cell In[" in text
    assert "rank 1 was running, at cell In[" in text


SIMULATED = """
def hang(comm):
    print("at work")
    if comm.rank == 1:
        while True:
            pass
    comm.recv(src=1)
run(hang, workers=2, backend="simulated", time_limit_s=2)
"""


@pytest.mark.parametrize("presses", [1, 3])
def test_nothing_of_a_simulated_run_comes_after_the_stop_button(kernel, presses):
    for _ in range(3):
        request = kernel.start(SIMULATED)
        kernel.wait_for_print("at work")
        for _ in range(presses):
            kernel.manager.interrupt_kernel()
        _, error = kernel.result(request)
        assert error[0] == "KeyboardInterrupt"
    quiet = "print(signal.getsignal(signal.SIGINT).__name__)\ntime.sleep(2.5)\nprint('quiet')"
    assert kernel.run(quiet) == ("default_int_handler\nquiet\n", None)
    again = "print(run(lambda comm: comm.rank, workers=2, backend='simulated').values)"
    assert kernel.run(again) == ("[0, 1]\n", None)


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
