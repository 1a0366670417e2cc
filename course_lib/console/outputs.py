"""Output that may be closed, full, or read by nobody any more: a command goes on all the same.

Needs nothing but Python: the doctor must be able to speak where packages are missing.
"""

import errno
import os
import sys
from pathlib import Path
from typing import TextIO

__all__ = ["end_outputs", "open_outputs", "say", "tell"]

_LOST = 1
_UNREAD = (errno.EPIPE, errno.EINVAL)  # as after `| head`; the second is what Windows says
_is_lost = False


def open_outputs() -> None:
    """Give the standard streams that are closed a place where nothing is kept.

    Otherwise the next file that is opened would get their number, and what compiled code prints.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            os.set_inheritable(nowhere, True)
            stream = open(nowhere, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    for printed in (sys.stdout, sys.stderr):
        if hasattr(printed, "reconfigure"):  # a console without "→"
            printed.reconfigure(errors="replace")


def say(text: str) -> None:
    """Print at once, also into a pipe; where nobody reads any more, go on unheard."""
    _write(sys.stdout, text)


def tell(text: str) -> None:
    """Print on standard error, at once; where that cannot be written, go on unheard."""
    _write(sys.stderr, text)


def end_outputs(status: int) -> int:
    """Write what is still to be written, and return the status to end with.

    Parameters
    ----------
    status : int
        The command's own.

    Returns
    -------
    int
        The same; 1 instead of 0 if output was lost, because a disk is full for one.
    """
    for stream in (sys.stdout, sys.stderr):
        _write(stream, "", end="")
    return _LOST if _is_lost and status == 0 else status


def _write(stream: TextIO | None, text: str, end: str = "\n") -> None:
    global _is_lost
    if stream is None:
        return
    try:
        print(text, end=end, file=stream, flush=True)
    except (OSError, ValueError) as error:  # the second: it has been closed
        _give_up(stream)
        is_unread = isinstance(error, OSError) and error.errno in _UNREAD
        if stream is sys.stdout and not is_unread and not _is_lost:
            _is_lost = True
            tell(f"what is printed is lost, the rest goes on: {error}")


def _give_up(stream: TextIO) -> None:
    """Lead a stream nowhere, with what it could not write."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), number)
