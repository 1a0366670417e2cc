"""Real notebook kernels: functions, errors, interrupts and process groups differ there."""

import os
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
from jupyter_client.manager import KernelManager
from jupyter_core.paths import jupyter_runtime_dir
from jupyter_core.utils import ensure_dir_exists, ensure_event_loop

__all__ = ["PATIENCE_S", "Kernel", "kernel_manager"]

ensure_event_loop()  # jupyter_client keeps one for good; its files must not count as left behind
REPOSITORY = Path(__file__).resolve().parents[1]
PATIENCE_S = 60.0


def kernel_manager(**options: Any) -> KernelManager:
    """Make a manager whose kernel is spoken to through files, where sockets can be files.

    A port is chosen before the kernel starts. Many tests open ports: one may take it until then.
    """
    if sys.platform == "win32":
        return KernelManager(**options)
    ensure_dir_exists(jupyter_runtime_dir())
    address = Path(jupyter_runtime_dir(), f"kernel-{uuid4()}.json")
    return KernelManager(transport="ipc", connection_file=str(address), **options)


class Kernel:
    """A kernel, and the cells that it runs; a ``with`` block ends it."""

    def __init__(self, folder):
        self.manager = kernel_manager(kernel_name="python3")
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        self.manager.start_kernel(cwd=str(folder), env=environment)
        self.client = self.manager.client()
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=PATIENCE_S)
        except BaseException:
            self.close()  # its threads and sockets would be found in the tests that follow
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the kernel, and what speaks to it."""
        self.client.stop_channels()
        if self.manager.is_alive():
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    @property
    def pid(self):
        return self.manager.provisioner.pid

    def descendants(self):
        return psutil.Process(self.pid).children(recursive=True)

    def start(self, text):
        """Start a cell; return what ``result`` takes."""
        return self.client.execute(text)

    def run(self, text):
        """Run a cell; return what it printed and its error (name, text), if any."""
        return self.result(self.start(text))

    def result(self, request):
        """Wait for the end of a cell; return what it printed and its error, if any."""
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
        """Wait until a cell has printed the text."""
        printed = ""
        while text not in printed:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
            if message["msg_type"] == "stream":
                printed += message["content"]["text"]
