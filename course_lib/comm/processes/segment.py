"""The shared memory of one run, and the semaphores beside it.

A segment has a name for a few microseconds only: workers inherit its file descriptor, so the name
goes as soon as the memory is mapped and nothing is left behind, however the run ends. Semaphores
can be handed on by name alone; theirs go when every worker has attached. Windows frees both when
the last process closes them.
"""

import errno
import itertools
import mmap
import os
import secrets
import sys
from pathlib import Path
from typing import Any

from multiprocess import reduction, shared_memory, synchronize

from course_lib.comm.errors import SharedMemoryFull

__all__ = ["Segment", "Semaphore", "is_alive", "sweep"]

_FOLDER = Path("/dev/shm")
_launches = itertools.count()


def _name() -> str:
    return f"cl-{os.getpid()}-{next(_launches)}-{secrets.token_hex(4)}"


class Semaphore(synchronize.Semaphore):  # type: ignore[misc]
    """A ``multiprocess`` semaphore whose name says which process made it."""

    @staticmethod
    def _make_name() -> str:
        return f"/{_name()}"


class Segment:
    """A block of memory that all workers of a run see.

    Parameters
    ----------
    n_bytes : int
        How large it is to be; it is full of zeros at first.

    Attributes
    ----------
    memory : memoryview
        Its bytes.

    Raises
    ------
    SharedMemoryFull
        If there is not that much, naming what is needed and what is free.
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        free = _free_bytes()
        if free is not None and free < n_bytes:
            raise _full(n_bytes, free)
        try:
            self._block = shared_memory.SharedMemory(_name(), create=True, size=n_bytes)
        except OSError as error:
            raise _full(n_bytes, free, error) from error
        try:
            if hasattr(os, "posix_fallocate"):  # else a full disk would show as SIGBUS, later
                os.posix_fallocate(self._block._fd, 0, n_bytes)
        except OSError as error:
            self._block.close()
            raise _full(n_bytes, _free_bytes(), error) from error
        finally:
            self._block.unlink()  # does nothing on Windows
        self.memory: memoryview = self._block.buf

    def __getstate__(self) -> dict[str, Any]:
        """Travel to a worker that is being started, and nowhere else."""
        handle = self._block.name if sys.platform == "win32" else reduction.DupFd(self._block._fd)
        return {"n_bytes": self.n_bytes, "handle": handle}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Map the same memory in a worker."""
        self.n_bytes = state["n_bytes"]
        if sys.platform == "win32":
            self._block = shared_memory.SharedMemory(state["handle"])
            self.memory = self._block.buf[: self.n_bytes]
        else:
            fd = state["handle"].detach()
            self.memory = memoryview(mmap.mmap(fd, self.n_bytes))
            os.close(fd)

    def close(self) -> None:
        """Let go of the memory; it is freed when every worker has done so."""
        self._block.close()


def sweep() -> None:
    """Remove names left by processes that died between making and unlinking them."""
    if not _FOLDER.is_dir():
        return
    for pattern in ("cl-*", "sem.cl-*"):
        for path in _FOLDER.glob(pattern):
            pid = path.name.removeprefix("sem.").split("-")[1]
            if pid.isdigit() and not is_alive(int(pid)):
                path.unlink(missing_ok=True)


def is_alive(pid: int) -> bool:
    """Return whether there is a process with this number; not for Windows."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's process; its files are not ours to remove
    return True


def _free_bytes() -> int | None:
    if not _FOLDER.is_dir():
        return None
    status = os.statvfs(_FOLDER)
    return status.f_bavail * status.f_frsize


def _full(n_bytes: int, free: int | None, error: OSError | None = None) -> SharedMemoryFull:
    reason = "" if error is None or error.errno == errno.ENOSPC else f" ({error})"
    left = "an unknown amount" if free is None else f"{free:,} bytes"
    return SharedMemoryFull(
        f"the channels need {n_bytes:,} bytes of shared memory, {left} are free{reason}; "
        "use fewer workers, free memory (on Linux: look at df /dev/shm), or start a container with "
        "a larger --shm-size"
    )
