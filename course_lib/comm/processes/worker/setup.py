"""What a worker is born with. Unpickling it in a worker loads nothing that computes."""

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.processes.memory.shared_memory import Event, Segment, Semaphore

__all__ = ["Pipes", "Setup", "enter"]


@dataclass
class Pipes:
    """A worker's ends of its pipes; the launcher holds the others.

    Attributes
    ----------
    requests : Connection
        What the launcher asks; it ends when the launcher is gone.
    records : Connection
        What the worker reports.
    outputs : dict of Connection
        ``"stdout"``, ``"stderr"`` and ``"crash"`` (stacks written by Python's fault handler);
        empty on Windows, where printed bytes travel as records.
    """

    requests: Any
    records: Any
    outputs: dict[str, Any]


@dataclass
class Setup:
    """Everything a worker needs before it can load its function.

    Attributes
    ----------
    rank, size, eager_bytes, seed, trace
        As in ``run``.
    environment : mapping
        The launcher's environment variables; a fork server has older ones.
    segment : Segment
        The shared memory.
    arena : Arena
        Where shared arrays will lie.
    locks, bells : list of Semaphore or Event
        Two for each rank.
    pipes : Pipes
        How to talk to the launcher.
    transport : bytes
        How messages move: a ``Transport``, packed until the output has been redirected.
    """

    rank: int
    size: int
    eager_bytes: int
    seed: int
    trace: bool
    environment: Mapping[str, str]
    segment: Segment
    arena: Arena
    locks: list[Semaphore | Event]
    bells: list[Semaphore | Event]
    pipes: Pipes
    transport: bytes


def enter(setup: Setup) -> None:
    """Become a worker: the target of the process.

    The output is redirected first, so that what fails while libraries are loaded is captured.
    """
    # Jupyter interrupts the kernel's whole process group; the launcher alone decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the fork server has a handler of its own
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _redirect(setup.pipes.outputs)
    _keep_for_itself(setup.pipes)
    os.environ.clear()
    os.environ.update(setup.environment)
    from course_lib.comm.processes.worker.one_thread import limit_threads

    limit_threads()  # before the libraries it concerns
    from course_lib.comm.processes.worker.worker import work

    work(setup)


def _redirect(outputs: dict[str, Any]) -> None:
    for fd, name in ((1, "stdout"), (2, "stderr")):
        if name in outputs:
            os.dup2(outputs[name].fileno(), fd)
        # Line by line, so that what was printed before a crash is not lost.
        stream = open(  # noqa: SIM115 - it is to stay open, and is no path
            fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        setattr(sys, name, stream)


def _keep_for_itself(pipes: Pipes) -> None:
    """Let no other program have the pipes: a worker that becomes one (``os.exec``) is lost."""
    if sys.platform != "win32":
        for pipe in (pipes.requests, pipes.records, *pipes.outputs.values()):
            os.set_inheritable(pipe.fileno(), False)
