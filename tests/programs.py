"""Scripts in processes of their own, for what cannot be done to the process that runs the tests."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.residue import names_in_shared_memory

__all__ = ["PATIENCE_S", "REPOSITORY", "Program", "assert_all_gone"]

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
            [sys.executable, str(script)], cwd=folder, text=True, start_new_session=True,
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
        """Read its output up to a line that holds the text; return the line."""
        while (line := self.process.stdout.readline()) and text not in line:
            pass
        assert line, self.process.stderr.read()
        return line

    def descendants(self):
        return psutil.Process(self.pid).children(recursive=True)

    def finish(self):
        """Wait until it ends; return what else it wrote, to stdout and to stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return out, err


def assert_all_gone(processes, pid):
    """Fail unless the processes end, and no shared memory of process ``pid`` is left."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert alive == []
    assert names_in_shared_memory(pid) == []
