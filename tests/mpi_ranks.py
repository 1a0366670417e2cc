"""Ranks that one ``mpiexec`` has started, and that run one call after another for the tests.

``mpiexec -n P python -m tests.mpi_ranks FOLDER PID`` are the ranks, for the program PID. They start
once, for torch takes seconds to load; what they are to run, and what has come out, are files in the
folder. They end with that program.
"""

import atexit
import os
import pickle
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cloudpickle

from course_lib.comm.errors import RunError

MPIEXEC = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))
"""The environment's, not that of another MPI."""

WHY_NOT = (
    "mpi4py is not installed: pip install mpi4py mpich" if find_spec("mpi4py") is None
    else "there is no mpiexec beside python: pip install mpich" if MPIEXEC is None
    else ""
)  # fmt: skip
"""Why no ranks can be started here; "" if they can."""

_REPOSITORY = Path(__file__).parents[1]
_ANSWER_S = 250.0
_MOST_POOLS = 3
_IDLE_S = 2.0


class Ranks:
    """Ranks under one mpiexec."""

    def __init__(self, size: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mpi_ranks_"))
        self.printed = self.folder / "printed"
        self._n_calls = 0
        words = [MPIEXEC, "-n", str(size), sys.executable, "-m", "tests.mpi_ranks", self.folder]
        words.append(os.getpid())
        with self.printed.open("wb") as printed:
            self.process = subprocess.Popen(
                [str(word) for word in words], cwd=_REPOSITORY, stdin=subprocess.DEVNULL,
                stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        atexit.register(self.end)

    def call(self, fn: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Have all ranks call ``run``; return or raise what it returns or raises on rank 0."""
        # Before the number: where this fails, the ranks still wait for it.
        call = cloudpickle.dumps((fn, args, options))
        self._n_calls += 1
        _write(self.folder / f"call{self._n_calls}", call)
        outcome = self.folder / f"outcome{self._n_calls}"
        until_s = time.monotonic() + _ANSWER_S
        while not outcome.exists():
            if self.process.poll() is not None or time.monotonic() > until_s:
                text = self.printed.read_text(errors="replace")
                self.end()
                raise AssertionError(f"the ranks do not answer any more:\n{text[-3000:]}")
            time.sleep(0.002)
        result, error, original, warned = pickle.loads(outcome.read_bytes())
        for warning in warned:
            warnings.warn(warning, stacklevel=3)
        if isinstance(error, RunError):
            error.original = original  # which does not travel with it
        if error is not None:
            raise error
        return result

    @property
    def are_there(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """End mpiexec, which ends the ranks."""
        atexit.unregister(self.end)
        (self.folder / "end").touch()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


_pools: dict[int, Ranks] = {}


def ranks(size: int) -> Ranks:
    """Return ranks that have been started, or start some; three groups of them stay at a time."""
    found = _pools.pop(size, None)
    if found is not None and not found.are_there:
        found.end()
        found = None
    while len(_pools) >= _MOST_POOLS:
        _pools.pop(next(iter(_pools))).end()  # the one that was not asked for longest
    _pools[size] = found or Ranks(size)
    return _pools[size]


def _write(file: Path, data: bytes) -> None:
    beside = file.with_suffix(".new")
    beside.write_bytes(data)
    beside.replace(file)


@cache
def _rank() -> int:
    return int(os.environ["PMI_RANK"])


def _outcome(call: bytes) -> bytes:
    from course_lib import run

    result, error = None, None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            fn, args, options = pickle.loads(call)
            result = run(fn, *args, backend="mpi", **options)
        except BaseException as raised:
            error = raised
    messages = [warning.message for warning in warned]
    try:
        return cloudpickle.dumps((result, error, getattr(error, "original", None), messages))
    except Exception as refused:
        return cloudpickle.dumps((None, refused, None, messages))


def main(folder: Path, program: int) -> None:
    from course_lib.comm.processes.memory.shared_memory import is_alive

    number = 0
    while True:
        number += 1
        call, since_s = folder / f"call{number}", time.monotonic()
        while not call.exists():
            if (folder / "end").exists() or not folder.exists():
                return
            if not is_alive(program):  # it was killed
                shutil.rmtree(folder, ignore_errors=True)
                return
            time.sleep(0.005 if time.monotonic() - since_s < _IDLE_S else 0.05)
        outcome = _outcome(call.read_bytes())
        if _rank() == 0:
            _write(folder / f"outcome{number}", outcome)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
