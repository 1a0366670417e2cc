"""Where a worker process begins; it loads nothing that computes before its output is captured."""

import os
import signal
import sys
from typing import Any

from course_lib.comm.processes.worker.setup import Setup, WorkerPipes

__all__ = ["enter"]


def enter(setup: Setup) -> None:
    """Become a worker: the target of the process.

    The output is redirected first, so that what fails while libraries are loaded is captured.
    """
    # Jupyter interrupts the kernel's whole process group; the launcher alone decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the fork server has a handler of its own
    if sys.platform != "win32":  # what the launcher's program ignores or blocks is inherited
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _redirect(setup.pipes.outputs)
    _keep_for_itself(setup.pipes)
    setup.inherited.take_on()
    from course_lib.comm.processes.worker.before_loading import make_ready

    make_ready()  # before the libraries it concerns
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
        # As in any program, what Python began with stays: a learner may wrap its buffer anew.
        setattr(sys, f"__{name}__", stream)


def _keep_for_itself(pipes: WorkerPipes) -> None:
    """Let no other program have the pipes: a worker that becomes one (``os.exec``) is lost."""
    if sys.platform != "win32":
        for pipe in (pipes.requests, pipes.records, *pipes.outputs.values()):
            os.set_inheritable(pipe.fileno(), False)
