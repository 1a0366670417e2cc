"""Start the processes of a peer, collect what each rank measured, and leave none behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.exchange import Engine, Measured, Task, measure, slowest

__all__ = [
    "ROOT",
    "PeerFailed",
    "answer",
    "interrupts_afterwards",
    "measure_peer",
    "run_peer",
    "running",
    "shared_names",
    "wait_for",
]

ROOT = Path(__file__).resolve().parents[1]
_TIME_LIMIT_S = 600
# Elsewhere gloo finds the way to this computer itself.
_LOOPBACK = {"linux": "lo", "darwin": "lo0"}.get(sys.platform)


class PeerFailed(RuntimeError):
    """A peer ended with an error; the text is what it wrote last."""


def measure_peer(
    commands: Callable[[Path], list[list[str]]], task: Task, processes: int
) -> Measured:
    """Run a peer once.

    ``commands(folder)`` returns what to start; each rank calls ``answer(engine, folder)``.
    """
    return slowest(run_peer(commands, task.as_dict(), processes))


def run_peer(
    commands: Callable[[Path], list[list[str]]], task: dict[str, Any], processes: int
) -> list[Any]:
    """Start a peer's ranks on a task; return what each wrote down, by rank.

    One failure is forgiven: torch's threads now and then end their process with an error after the
    work is done.
    """
    try:
        return _run_once(commands, task, processes)
    except PeerFailed as error:
        print(f"once more, for a peer has failed: {error}", file=sys.stderr)
        return _run_once(commands, task, processes)


def _run_once(
    commands: Callable[[Path], list[list[str]]], task: dict[str, Any], processes: int
) -> list[Any]:
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        folder = Path(name)
        (folder / "task.json").write_text(json.dumps(task))
        output = folder / "output.txt"
        with running(commands(folder), output) as started:
            wait_for(started, output)
        files = [folder / f"rank{rank}.json" for rank in range(processes)]
        return [json.loads(file.read_text()) for file in files]


def answer(engine: Engine, folder: Path) -> None:
    """Do the folder's task as one rank of a peer, and write down what came out."""
    task = Task(**json.loads((folder / "task.json").read_text()))
    (folder / f"rank{engine.rank}.json").write_text(json.dumps(measure(engine, task)))


@contextmanager
def running(commands: list[list[str]], output: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start programs in the checkout; with the block they end, and all that they have started.

    What they print goes to the file ``output``. A Ctrl-C in the terminal does not reach them: it
    ends the block, which ends them. They stay in our session, because Linux shares a busy computer
    out by sessions: with one for each, they would get more of it than our workers.
    """
    environment = os.environ | ({"GLOO_SOCKET_IFNAME": _LOOPBACK} if _LOOPBACK else {})
    started: list[subprocess.Popen[bytes]] = []
    with output.open("ab") as file:
        try:
            for command in commands:
                with interrupts_afterwards():
                    process = subprocess.Popen(
                        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                        stdout=file, stderr=subprocess.STDOUT, process_group=0,
                    )  # fmt: skip
                    started.append(process)
            yield started
        finally:
            _end(started)


@contextmanager
def interrupts_afterwards() -> Iterator[None]:
    """Have Ctrl-C strike after the block: inside of ``Popen`` nobody would know what it began."""
    came: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            signal.raise_signal(signal.SIGINT)


def wait_for(started: list[subprocess.Popen[bytes]], output: Path) -> None:
    """Wait until all have ended well; the first that has not is an error."""
    deadline_s = time.monotonic() + _TIME_LIMIT_S
    while (codes := [process.poll() for process in started]) != [0] * len(started):
        if any(codes):
            raise PeerFailed(_last_words(output))
        if time.monotonic() > deadline_s:
            raise PeerFailed(f"still running after {_TIME_LIMIT_S} s")
        time.sleep(0.02)


def _last_words(output: Path) -> str:
    lines = output.read_text(errors="replace").split("\n")
    errors = [line.strip() for line in lines if "Error" in line or "WrongSum" in line]
    return (errors or [line for line in lines if line.strip()] or ["it wrote nothing"])[-1]


def shared_names(processes: list[psutil.Process]) -> set[Path]:
    """Return the files in shared memory that ranks of MPICH unlink when they end by themselves.

    They do not when they are killed. Only Linux tells which they are.
    """
    found: set[Path] = set()
    if sys.platform.startswith("linux"):
        for process in processes:
            with suppress(psutil.Error):
                found |= {Path(part.path) for part in process.memory_maps()}
    return {path for path in found if path.match("/dev/shm/mpich*")}


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    below: list[psutil.Process] = []
    for process in started:
        if process.poll() is None:
            with suppress(psutil.NoSuchProcess):
                below += psutil.Process(process.pid).children(recursive=True)
    names = shared_names(below)
    for alive in [*started, *below]:  # mpiexec first, before it can miss its ranks
        with suppress(psutil.NoSuchProcess):
            alive.kill()
    for process in started:
        process.wait()
    psutil.wait_procs(below, timeout=5)
    for name in names:
        name.unlink(missing_ok=True)
