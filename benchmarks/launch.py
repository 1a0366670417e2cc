"""How long four workers take to start, do nothing, and end: from a script and from a notebook."""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers import ROOT, running, wait_for
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.comm.communicator import Communicator
from course_lib.measure.timing import time_rounds

__all__ = [
    "CELL_OF_OURS",
    "NOTEBOOK",
    "SPAWN",
    "Notebook",
    "launch_key",
    "measure_launch",
    "notebook",
]

NOTEBOOK = "notebook"
SPAWN = "torch.multiprocessing.spawn"
_TIME_LIMIT_S = 120
# Every launch but the first of a process is warm: the fork server runs already.
CELL_OF_OURS = """
import json
from course_lib import run
from course_lib.measure.timing import time_rounds

def nothing(comm):
    return comm.rank

def launch_seconds(n_launches):
    return time_rounds(lambda: lambda: run(nothing, workers=4), n_launches, warm_up=0)

launch_seconds(1);
"""
_CELL_OF_TORCH = """
import torch
from benchmarks import torch_launch
"""


class Notebook:
    """A Jupyter kernel, as behind a notebook."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def seconds(self, expression: str) -> list[float]:
        """Return the value of an expression that is a list of numbers."""
        found: list[float] = json.loads(self.execute(f"print(json.dumps({expression}))"))
        return found

    def execute(self, code: str) -> str:
        """Run a cell and return what it printed."""
        printed: list[str] = []

        def collect(message: dict[str, Any]) -> None:
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
            if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
                printed.append(message["content"]["text"])

        self._client.execute_interactive(code, timeout=_TIME_LIMIT_S, output_hook=collect)
        return "".join(printed)


@contextmanager
def notebook() -> Iterator[Notebook]:
    """Start a kernel of this Python in the checkout, and end it with the block."""
    import zmq
    from jupyter_client.manager import KernelManager

    encryption = "auto" if zmq.has("curve") else "disabled"  # what JupyterLab gets from course.py
    manager = KernelManager(kernel_name="python3", transport_encryption=encryption)
    try:
        manager.start_kernel(cwd=str(ROOT))
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=_TIME_LIMIT_S)
        yield Notebook(client)
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def launch_key(how: str) -> Key:
    return Key("launch", 4, how)


def measure_launch(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure ours and torch's in turns; torch's workers each load torch, as they must."""
    progress.expect(1 + 2 * plan.launch_rounds)
    progress.step("launch: two kernels")
    with notebook() as plain, notebook() as with_torch:
        for kernel in (with_torch, plain):
            kernel.execute(CELL_OF_OURS)
        with_torch.execute(_CELL_OF_TORCH + "launch_seconds(1);")
        ours = f"launch_seconds({plan.n_launches})"
        for _ in range(plan.launch_rounds):
            progress.step("launch: from a script")
            for method in ("forkserver", "spawn"):
                if method == "spawn" or sys.platform != "win32":
                    samples.add(launch_key(method), _our_seconds(method, plan.n_launches))
            samples.add(launch_key(SPAWN), _torch_seconds())
            progress.step("launch: from a notebook")
            samples.add(launch_key(NOTEBOOK), plain.seconds(ours))
            samples.add(launch_key(f"{NOTEBOOK} with torch"), with_torch.seconds(ours))
            torch = with_torch.seconds("torch_launch.launch_seconds(1)")
            samples.add(launch_key(f"{SPAWN} in a {NOTEBOOK}"), torch)


def _our_seconds(method: str, n_launches: int) -> list[float]:
    def nothing(comm: Communicator) -> int:  # in here, for workers not to import this module
        return comm.rank

    return time_rounds(lambda: partial(run, nothing, workers=4, start_method=method), n_launches)


def _torch_seconds() -> list[float]:
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        output = Path(name) / "output.txt"
        with running([[sys.executable, "-m", "benchmarks.torch_launch", "1"]], output) as started:
            wait_for(started, output)
        seconds: list[float] = json.loads(output.read_text())
    return seconds
