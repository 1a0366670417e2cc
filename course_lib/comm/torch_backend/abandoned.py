"""What a failed run leaves behind in a program that goes on, and how that program ends well.

Ranks that are programs of their own cannot close the connections of a failed run together: some
of them may be dead. So these stay open, as others may not have read yet what this rank has told
them, and threads go on waiting in them. When Python ends, they have to be gone: a thread that is
woken after that, by the end of another rank, would be unwound through gloo's code, which aborts the
program, whatever its exit code was to be.
"""

import atexit
import threading
import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Waiter", "abandon"]


class Connections(Protocol):
    """What a run has waited for."""

    def abort(self) -> None:
        """Let everything that waits for them fail."""

    def leave(self) -> None:
        """Have nobody find them any more."""

    def drop(self) -> None:
        """Close them; nobody waits for them any more."""


_PATIENCE_S = 2.0  # a wait that has been broken off ends at once, on a busy computer a bit later
_left_open: list[Connections] = []


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


def abandon(connections: Connections) -> None:
    """Leave the connections of a run that has failed open until the program ends.

    Parameters
    ----------
    connections : Connections
        Those of this rank.
    """
    connections.leave()
    if not _left_open:
        atexit.register(_break_off)
    _left_open.append(connections)


def _break_off() -> None:
    """Let all threads that wait for abandoned connections come to their end, then close those."""
    for connections in _left_open:
        connections.abort()
    until_s = time.monotonic() + _PATIENCE_S
    for thread in threading.enumerate():
        if isinstance(thread, Waiter):
            thread.join(max(until_s - time.monotonic(), 0))
    for connections in _left_open:
        connections.drop()
