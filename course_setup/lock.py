"""One course.py at a time: a lock on a file, which ends with the last process that holds it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from course_setup.problems import SetupError

LOOK_AGAIN_S = 0.05


@contextmanager
def alone(file: Path, busy: str, wait_s: float = 0.0) -> Iterator[tuple[int, ...]]:
    """Hold the lock on a file while a block runs.

    Parameters
    ----------
    file : Path
        The file, which is made if it is not there, and stays.
    busy : str
        What to tell if another process holds the lock.
    wait_s : float
        How long to wait for the other one.

    Yields
    ------
    tuple of int
        The file descriptors that child processes are to inherit (`pass_fds`): a child that outlives
        this process then still holds the lock. On Windows none: a lock belongs to one process
        there, and a folder in which a program runs cannot be renamed.

    Raises
    ------
    SetupError
        If another process holds the lock, or the file system has none.
    """
    with file.open("a+") as handle:
        last_look = time.monotonic() + wait_s
        while not _taken(handle):
            if time.monotonic() >= last_look:
                raise SetupError(busy)
            time.sleep(LOOK_AGAIN_S)
        yield () if os.name == "nt" else (handle.fileno(),)


def _taken(handle: IO[str]) -> bool:
    """Take the lock if nobody has it; tell whether we have it now."""
    try:
        if os.name == "nt":
            import msvcrt

            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise SetupError(
            f"this folder's file system has no locks ({error.strerror}): copy the course to a disk "
            "of this computer, then run this again."
        ) from None
    return True
