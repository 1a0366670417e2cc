"""The same in a real notebook kernel, where functions, errors and interrupts differ."""

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import KernelManager

from tests.residue import names_in_shared_memory

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0


class Notebook:
    """A kernel, and the cells that it runs."""

    def __init__(self, folder):
        self.manager = KernelManager(kernel_name="python3")
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        self.manager.start_kernel(cwd=str(folder), env=environment)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE_S)

    @property
    def pid(self):
        return self.manager.provisioner.pid

    def start(self, text):
        return self.client.execute(text)

    def run(self, text):
        """Run a cell; return what it printed and its error (name, text), if any."""
        return self.result(self.start(text))

    def result(self, request):
        printed, error = "", None
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                printed += content["text"]
            elif message["msg_type"] == "error":
                error = (content["ename"], "\n".join(content["traceback"]))
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return printed, error

    def wait_for_print(self, text):
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
            if message["msg_type"] == "stream" and text in message["content"]["text"]:
                return

    def close(self):
        self.client.stop_channels()
        if self.manager.is_alive():
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    opened = Notebook(tmp_path_factory.mktemp("notebook"))
    printed, error = opened.run("import numpy as np\nfrom course_lib import run\nSCALE = 3")
    assert (printed, error) == ("", None)
    opened.run("def helper(x):\n    return SCALE * np.ones(2).sum() + x")
    yield opened
    opened.close()


def test_a_cells_function_brings_helpers_globals_and_imports_of_other_cells(notebook):
    notebook.run("""
from dataclasses import dataclass

@dataclass
class Point:
    x: float

def even(n): return True if n == 0 else odd(n - 1)
def odd(n): return False if n == 0 else even(n - 1)

def work(comm):
    print("hello")
    return Point(float(helper(comm.rank))), even(10)
""")
    printed, error = notebook.run("print(run(work, workers=2).values)")
    assert error is None
    assert "[(Point(x=6.0), True), (Point(x=7.0), True)]" in printed
    assert "[rank 0] hello\n" in printed
    assert "[rank 1] hello\n" in printed


def test_a_cell_that_is_edited_and_run_again_runs_its_new_code(notebook):
    for answer in (1, 2):
        notebook.run(f"def answer(comm):\n    return {answer}")
        printed, _ = notebook.run("print(run(answer, workers=1).values)")
        assert printed == f"[{answer}]\n"


def test_an_exception_names_the_rank_and_the_cell_and_nothing_of_the_launcher(notebook):
    notebook.run("def inner(x):\n    y = 1\n    return y / x")
    notebook.run("def failing(comm):\n    inner(0 if comm.rank == 1 else 1)\n    comm.barrier()")
    _, error = notebook.run("run(failing, workers=2)")
    name, text = error
    assert name == "WorkerError"
    number = int(text.split("failed at cell In[")[1].split("]")[0])
    assert f"rank 1 failed at cell In[{number}], line 3: ZeroDivisionError" in text
    assert "return y / x" in text
    assert f"cell In[{number + 1}], line 2, in failing" in text
    assert "launcher.py" not in text
    waits = "rank 0 waited in barrier(), at cell In["
    assert waits in text or "rank 0 was running" in text


@pytest.mark.parametrize("presses", [1, 2])
def test_the_stop_button_ends_the_run_and_says_where_each_rank_was(notebook, presses):
    request = notebook.start("""
def hang(comm):
    print("at work")
    if comm.rank == 1:
        while True:
            pass
    comm.recv(src=1)
run(hang, workers=2)
""")
    notebook.wait_for_print("at work")
    time.sleep(0.5)
    for _ in range(presses):
        notebook.manager.interrupt_kernel()
    _, error = notebook.result(request)
    name, text = error
    assert name == "KeyboardInterrupt"
    assert "rank 0 waited in recv(src=1), at cell In[" in text
    assert "rank 1 was running, at cell In[" in text
    printed, error = notebook.run("print(run(lambda comm: comm.rank + 41, workers=1).values)")
    assert error is None
    assert "[41]" in printed


def test_an_unusable_capture_is_named(notebook):
    notebook.run("import threading\nguard = threading.Lock()\ndef locked(comm):\n    return guard")
    _, error = notebook.run("run(locked, workers=2)")
    name, text = error
    assert name == "SerializationError"
    assert "'guard'" in text


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX process groups")
@pytest.mark.parametrize("how", ["group", "kernel alone"])
def test_a_killed_kernel_leaves_no_worker_and_no_memory(tmp_path, how):
    notebook = Notebook(tmp_path)
    try:
        notebook.start("""
from course_lib import run
def wait(comm):
    print("at work")
    comm.recv(src=1 - comm.rank)
run(wait, workers=2)
""")
        notebook.wait_for_print("at work")
        pid = notebook.pid
        below = psutil.Process(pid).children(recursive=True)
        assert len(below) >= 3
        if how == "group":
            os.killpg(os.getpgid(pid), signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(below, timeout=PATIENCE_S)
        assert alive == []
        assert names_in_shared_memory(pid) == []
    finally:
        notebook.close()
