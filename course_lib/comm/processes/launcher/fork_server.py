"""The fork server while a run waits for it: it may have been stopped, or have ended.

``multiprocess`` waits for its answer without a limit. But each rank knows the fork server, its
parent, and may stop it by a signal. So it is told to go on whenever a run needs it, which means
nothing to one that runs; one that does not answer for all that is ended after a while.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from course_lib.comm.errors import LaunchError

__all__ = ["answering", "forget", "go_on", "see_end"]

_GO_ON_EVERY_S = 0.1
_ANSWER_LIMIT_S = 120.0
"""On a busy computer, or from a network drive, torch may take a minute to be loaded there."""
_DEATH_S = 1.0


def go_on() -> None:
    """Have a fork server that was stopped go on; one that runs does not notice."""
    pid = _pid()
    if pid is not None:
        with suppress(OSError):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def answering() -> Iterator[None]:
    """See to it that the fork server answers, or ends, while this program waits for it.

    Yields
    ------
    None
        While the program waits.

    Raises
    ------
    LaunchError
        If it had not answered in time. Then it has been ended, with all that it had started.
    """
    if _pid() is None:
        yield
        return
    go_on()
    answered, ended = threading.Event(), threading.Event()
    watch = threading.Thread(target=_watch, args=(answered, ended), daemon=True)
    try:
        watch.start()
    except RuntimeError:  # the system lets no more threads start: it was told to go on, at least
        answered.set()
    try:
        yield
    except (ConnectionError, EOFError) as error:
        see_end()
        if not ended.is_set():
            raise
        raise LaunchError(
            "the fork server, the process that starts workers, had not answered for "
            f"{_ANSWER_LIMIT_S:g} s and was ended: the computer is very busy, or the drive from "
            "which NumPy, torch and this package are loaded is very slow; run again, or start "
            'workers without it (start_method="spawn")'
        ) from error
    finally:
        if not answered.is_set():
            answered.set()
            watch.join()


def _watch(answered: threading.Event, ended: threading.Event) -> None:
    deadline = time.monotonic() + _ANSWER_LIMIT_S
    while not answered.wait(_GO_ON_EVERY_S):
        go_on()
        pid = _pid()
        if time.monotonic() >= deadline and pid is not None:
            ended.set()
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def forget(server: Any) -> None:
    """Let go of a fork server whose end nobody here can be told.

    This program ignores ``SIGCHLD``, or it is a copy of the one whose server that is.
    """
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
    server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None


def see_end() -> int | None:
    """Wait until a fork server that had to give up is gone: the next run starts another.

    Returns
    -------
    int or None
        The signal that killed it, if one did and the system tells.
    """
    pid = _pid()
    deadline = time.monotonic() + _DEATH_S
    with suppress(ChildProcessError):  # it is gone, and this program ignores SIGCHLD
        while pid is not None and time.monotonic() < deadline:
            end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if end is not None:
                return end.si_status if end.si_code in (os.CLD_KILLED, os.CLD_DUMPED) else None
            time.sleep(0.001)
    return None


def _pid() -> int | None:
    """Return the number of its process, if this program has started one."""
    if sys.platform == "win32":  # where there is none
        return None
    from multiprocess import forkserver

    pid: int | None = forkserver._forkserver._forkserver_pid
    return pid
