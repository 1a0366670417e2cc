"""Reading a file that may be anybody's, and writing one so that no reader sees half of it.

What is read is a plain file, whole, and no more of it than is needed.
"""

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["NEW", "overwrite", "put", "read_plain"]

NEW = ".new"
"""How the name of a file ends that is not whole yet."""

# A pipe that nobody writes to would keep its reader waiting; Windows has its own line ends, too.
_HOW = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_PIECE = 2**16


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
        if most_bytes is None:
            return stream.read()
        # Room for all that is asked for is taken before anything is read. The size that is told is
        # short where the file grows, and 0 in Linux' /proc: that is read piece by piece.
        wanted, left, pieces = told.st_size + 1, most_bytes, list[bytes]()
        while piece := stream.read(min(wanted, left)):
            pieces.append(piece)
            wanted, left = _PIECE, left - len(piece)
        return b"".join(pieces)


def overwrite(file: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file that may be there: it stays as it is until the new one is whole, where it can.

    Parameters
    ----------
    file : Path
        Which; behind a link, the file that the link stands for. A file keeps its mode.
    content : bytes or iterable of bytes
        All of it, or piece by piece.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    target = Path(os.path.realpath(file))
    if not file.exists():
        put(target, content)
        return
    mode = file.stat().st_mode
    # Nothing takes the place of a device; and the file may be ours where the folder is not.
    if not (stat.S_ISREG(mode) and os.access(target.parent, os.W_OK)):
        with file.open("wb") as stream:
            stream.writelines(_pieces(content))
        return
    with target.open("ab"):  # one that must not be written to is not replaced either
        pass
    put(target, content)
    target.chmod(stat.S_IMODE(mode))


def put(file: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file so that its name always stands for all of it: the old one, then the new one.

    Parameters
    ----------
    file : Path
        Which; one that is there is replaced.
    content : bytes or iterable of bytes
        All of it, or piece by piece.

    Raises
    ------
    OSError
        If it cannot be written; one that was there is as it was.
    """
    # A name may have 255 bytes, and a letter four.
    new = file.with_name(f"{file.name[:60]}.{secrets.token_hex(4)}{NEW}")
    try:
        with new.open("xb") as stream:
            stream.writelines(_pieces(content))
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(file)
    except BaseException as error:  # what a signal handler of the program raises, too
        with suppress(OSError):  # there may be room for something once this half of it is gone
            new.unlink()
        if isinstance(error, OSError) and error.filename == str(new):
            error.filename = str(file)  # the name that was asked for
        raise
    _sync_folder(file.parent)


def _pieces(content: bytes | Iterable[bytes]) -> Iterable[bytes]:
    return [content] if isinstance(content, bytes) else content


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, too; Windows opens no folders, and does it in its own time."""
    with suppress(OSError):
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)
