"""What a run leaves behind in a program that goes on, and how that program ends well.

Ranks that are programs of their own cannot close the connections of a run together. gloo resets
them, and others may not have read yet what this rank has told them; after a failure, some of them
may be dead, and threads go on waiting. So connections stay open until all ranks have come to
another run. When Python ends, they have to be gone: a thread that is woken after that, by the end
of another rank, would be unwound through gloo's code, which aborts the program, whatever its exit
code was to be.
"""

import atexit
import threading
import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Waiter", "abandon", "close_those_before", "leave_open"]


class Connections(Protocol):
    """What a run has waited for."""

    def abort(self) -> None:
        """Let everything that waits for them fail."""

    def leave(self) -> None:
        """Have nobody find them any more."""

    def drop(self) -> None:
        """Close them; nobody waits for them any more."""


_PATIENCE_S = 2.0  # a wait that has been broken off ends at once, on a busy computer a bit later
_over: list[Connections] = []
_failed: list[Connections] = []


class Waiter(threading.Thread):
    """A thread that waits for connections, below Python.

    Parameters
    ----------
    target : callable
        What it does.
    name : str
        What it is called.
    """

    def __init__(self, target: Callable[[], None], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)


def leave_open(connections: Connections) -> None:
    """Have the connections of a run that went well closed later.

    Parameters
    ----------
    connections : Connections
        Those of this rank.
    """
    _over.append(connections)


def abandon(connections: Connections) -> None:
    """Have the connections of a run that has failed closed later, and what waits for them ended.

    Parameters
    ----------
    connections : Connections
        Those of this rank.
    """
    connections.leave()
    _failed.append(connections)


def close_those_before() -> None:
    """Close what other runs have left, in a thread: it takes longer than a run needs to begin."""
    if _over or _failed:
        Waiter(_close, "close").start()


def _close() -> None:
    failed, over = _failed[:], _over[:]
    del _failed[: len(failed)], _over[: len(over)]
    for connections in failed:
        connections.abort()
    if failed:
        _join_waiters()
    for connections in failed + over:
        connections.drop()


def _join_waiters() -> None:
    until_s = time.monotonic() + _PATIENCE_S
    for thread in threading.enumerate():
        if isinstance(thread, Waiter) and thread is not threading.current_thread():
            thread.join(max(until_s - time.monotonic(), 0))


@atexit.register
def _end() -> None:
    _close()
    _join_waiters()
