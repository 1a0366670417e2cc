"""Where shared arrays lie: a file without a name, which grows as ranks ask for arrays.

The launcher makes the file, empty, and every worker inherits it; so it is gone with the last
process that has it open, however that ends. On Windows memory is shared by a name instead, which
the system forgets with the last process that uses it.
"""

import errno
import mmap
import os
import secrets
import sys
import tempfile
import threading
from typing import Any

from multiprocess import reduction

from course_lib.comm.errors import SharedMemoryFull
from course_lib.comm.limits import limit_behind, what_to_do
from course_lib.comm.memory import MUCH_BYTES, available_bytes

__all__ = ["Arena"]

_PAGE = max(mmap.PAGESIZE, mmap.ALLOCATIONGRANULARITY)


class Arena:
    """The memory of a run's shared arrays; picklable while a worker is being started."""

    def __init__(self) -> None:
        self._reserving = threading.Lock()
        self.token = secrets.token_hex(8)  # of this run alone
        self._fd = -1
        if hasattr(os, "memfd_create"):
            self._fd = os.memfd_create("course_lib shared arrays")
        elif sys.platform != "win32":  # an ordinary file, which the system caches in memory
            with tempfile.TemporaryFile() as file:
                self._fd = os.dup(file.fileno())

    def __getstate__(self) -> dict[str, Any]:
        """Travel to a worker that is being started, and nowhere else."""
        handle = reduction.DupFd(self._fd) if self._fd >= 0 else None
        return {"token": self.token, "handle": handle}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the same file in a worker."""
        self._reserving = threading.Lock()
        self.token = state["token"]
        self._fd = -1 if state["handle"] is None else state["handle"].detach()

    def reserve(self, n_bytes: int, verb: str) -> int:
        """Make room for an array of zeros; return where it begins.

        Parameters
        ----------
        n_bytes : int
            Its length.
        verb : str
            What asks for it, for the error.

        Returns
        -------
        int
            Where it begins.

        Raises
        ------
        SharedMemoryFull
            If there is not that much.
        """
        if sys.platform == "win32":
            return 0
        if n_bytes > MUCH_BYTES and n_bytes > available_bytes():  # else the system kills programs
            raise _full(n_bytes, verb)
        with self._reserving:  # the file's lock keeps out other processes, not other threads
            return self._add(n_bytes, verb)

    def _add(self, n_bytes: int, verb: str) -> int:
        import fcntl

        fcntl.lockf(self._fd, fcntl.LOCK_EX)  # groups of ranks may ask at the same time
        try:
            start = os.fstat(self._fd).st_size
            length = -(-max(n_bytes, 1) // _PAGE) * _PAGE
            if hasattr(os, "posix_fallocate"):  # else a full disk would show as SIGBUS, later
                os.posix_fallocate(self._fd, start, length)
            else:
                os.ftruncate(self._fd, start + length)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.ENOMEM):
                raise
            raise _full(n_bytes, verb, error) from None
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN)
        return start

    def view(self, start: int, n_bytes: int, name: str) -> mmap.mmap:
        """Map what ``reserve`` made; ``name`` tells arrays apart on Windows."""
        if sys.platform == "win32":
            return mmap.mmap(-1, max(n_bytes, 1), tagname=f"{self.token}-{name}")
        return mmap.mmap(self._fd, max(n_bytes, 1), offset=start)

    def close(self) -> None:
        """Let go of the file; it is freed when every worker has done so."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _full(n_bytes: int, verb: str, error: Exception | None = None) -> SharedMemoryFull:
    needs = f"{verb} needs {n_bytes:,} bytes of shared memory"
    if error is not None and limit_behind(error):
        return SharedMemoryFull(
            f"{needs}, which are refused ({error}): {what_to_do(error, 'use a smaller array')}"
        )
    return SharedMemoryFull(
        f"{needs}, {available_bytes():,} bytes of memory are free; use a smaller array, start less "
        "at once, or close other programs"
    )
