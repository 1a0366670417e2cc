"""Reading a file that may be anybody's: a plain one, whole, and no more of it than is needed."""

import os
import stat
from pathlib import Path

__all__ = ["read_plain"]

# A pipe that nobody writes to would keep its reader waiting; Windows has its own line ends, too.
_HOW = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_plain(file: Path, most_bytes: int | None = None) -> bytes:
    """Read a file that may be anybody's: a plain one, and not longer than that.

    Parameters
    ----------
    file : Path
        Which.
    most_bytes : int or None, default: None
        How long it may be.

    Returns
    -------
    bytes
        All of it.

    Raises
    ------
    ValueError
        If it is a pipe or a device, which might never end, or too long.
    OSError
        If it cannot be read.
    """
    if not stat.S_ISREG(file.stat().st_mode):  # to open a device may do something already
        raise ValueError("it is no plain file")
    with os.fdopen(os.open(file, _HOW), "rb") as stream:
        told = os.fstat(stream.fileno())
        if not stat.S_ISREG(told.st_mode):
            raise ValueError("it is no plain file")
        if most_bytes is not None and told.st_size > most_bytes:
            raise ValueError(
                f"it has {told.st_size:,} bytes, and at most {most_bytes:,} are needed"
            )
        return stream.read(-1 if most_bytes is None else most_bytes)
