"""Scripts in processes of their own, for what cannot be done to the process that runs the tests."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.residue import names_in_shared_memory

__all__ = [
    "PATIENCE_S",
    "REPOSITORY",
    "Program",
    "assert_all_gone",
    "assert_gone",
    "start_next_program",
    "wait_until_ended",
]

REPOSITORY = Path(__file__).resolve().parents[1]
PATIENCE_S = 30.0


class Program:
    """A script in a process group of its own; a ``with`` block ends it.

    Parameters
    ----------
    folder : Path
        Where it is written and run.
    text : str
        Its text, which finds the way of starting processes in ``METHOD``.
    method : str
        That way.
    **options
        For ``subprocess.Popen``.
    """

    def __init__(self, folder, text, method, **options):
        script = folder / "script.py"
        script.write_text(f"METHOD = {method!r}\n{text}")
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        self.process = subprocess.Popen(
            [sys.executable, str(script)], cwd=folder, bufsize=0, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, **options,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    @property
    def pid(self):
        return self.process.pid

    def wait_for(self, text):
        """Read its output up to a line that holds the text; return the line.

        Byte by byte (``bufsize=0``): what a buffer had read on, ``finish`` would never see.
        """
        while (line := self.process.stdout.readline()) and text.encode() not in line:
            pass
        assert line, self.process.stderr.read().decode()
        return line.decode()

    def descendants(self):
        return psutil.Process(self.pid).children(recursive=True)

    def finish(self, patience_s=PATIENCE_S):
        """Wait until it ends; return what else it wrote, to stdout and to stderr."""
        out, err = self.process.communicate(timeout=patience_s)
        return (out or b"").decode(), (err or b"").decode()


def wait_until_ended(processes):
    """Wait for processes to end; orphans stay in the system's table until it buries them."""
    deadline = time.monotonic() + PATIENCE_S
    while any(map(_runs, processes)):
        assert time.monotonic() < deadline, processes
        time.sleep(0.001)


def _runs(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_gone(processes):
    """Fail unless the processes end and are buried."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert alive == []


def assert_all_gone(processes, pid):
    """Fail unless the processes end, and no shared memory of process ``pid`` is left."""
    assert_gone(processes)
    assert names_in_shared_memory(pid) == []


def start_next_program(folder):
    """Start a program that removes what those left which were killed with all their helpers."""
    with Program(folder, "from course_lib.comm.processes.launcher import launcher", "") as program:
        _, err = program.finish()
    assert err == ""
