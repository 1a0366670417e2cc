"""The shared memory of one run, and the semaphores beside it.

On Linux the memory never has a name, so nothing is left behind however the run ends, and it does
not matter how large ``/dev/shm`` is. On macOS it has one for a few microseconds: workers inherit
the file descriptor, so the name goes as soon as the memory is mapped. Semaphores can be handed on
by name alone; theirs go when every worker has attached. Where a system has no room for such names
(a container whose ``/dev/shm`` is full, read-only or missing), a counter of the kernel takes the
place of each: a few microseconds slower. Windows frees both when the last process closes them.
"""

import errno
import itertools
import mmap
import os
import secrets
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from multiprocess import connection, reduction, shared_memory, synchronize

from course_lib.comm.errors import SharedMemoryFull
from course_lib.comm.limits import limit_behind, what_to_do
from course_lib.comm.memory import MUCH_BYTES, available_bytes

__all__ = [
    "Event",
    "Segment",
    "Semaphore",
    "is_alive",
    "lasting_semaphore",
    "new_semaphore",
    "sweep",
]

_FOLDER = Path("/dev/shm")
_WITHOUT_NAME = hasattr(os, "memfd_create")
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)
_ONE = (1).to_bytes(8, sys.byteorder)
_launches = itertools.count()


def _name() -> str:
    return f"cl-{os.getpid()}-{next(_launches)}-{secrets.token_hex(4)}"


class Semaphore(synchronize.Semaphore):  # type: ignore[misc]
    """A ``multiprocess`` semaphore whose name says which process made it."""

    @staticmethod
    def _make_name() -> str:
        return f"/{_name()}"


class Event:
    """A semaphore that needs no name: a counter in the kernel, handed on as a file (Linux).

    Parameters
    ----------
    value : int
        How many may pass before the first has to wait.
    """

    def __init__(self, value: int) -> None:
        flags = os.EFD_SEMAPHORE | os.EFD_NONBLOCK | os.EFD_CLOEXEC
        # A connection, because it travels to a worker and is closed when nobody needs it.
        self._counter = connection.Connection(os.eventfd(value, flags))

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Take one, waiting for it if there is none; return whether there was one in time."""
        fd = self._counter.fileno()
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                os.read(fd, 8)
            except BlockingIOError:
                if not block or (deadline is not None and time.monotonic() >= deadline):
                    return False
            else:
                return True
            news = select.poll()
            news.register(fd, select.POLLIN)
            news.poll(None if deadline is None else max(deadline - time.monotonic(), 0) * 1000)

    def release(self) -> None:
        """Give one back, or add one."""
        os.write(self._counter.fileno(), _ONE)


def new_semaphore(value: int, context: Any) -> Any:
    """Make a semaphore that can be handed to workers while they are started.

    Parameters
    ----------
    value : int
        How many may pass before the first has to wait.
    context : multiprocess context
        How processes are started.

    Returns
    -------
    Semaphore or Event
        With ``acquire`` and ``release``.
    """
    try:
        return Semaphore(value, ctx=context)
    except OSError:
        if not hasattr(os, "eventfd"):
            raise
        return Event(value)


def lasting_semaphore(value: int, context: Any) -> Any:
    """Make a semaphore that can be handed to workers as long as the run lasts.

    One without a name, where there are such: nothing is left of it, however the run ends. Where
    there are none, names stay until the run is over.
    """
    return Event(value) if hasattr(os, "eventfd") else new_semaphore(value, context)


class _Nameless:
    """Memory like ``SharedMemory``, which never has a name.

    Unless it is much, its pages are taken as they are used: to clear the 24 MiB of four ranks takes
    longer than to start one of them, and most runs use little of it.
    """

    def __init__(self, n_bytes: int) -> None:
        self._fd = os.memfd_create("course_lib")
        try:
            os.ftruncate(self._fd, n_bytes)
            if n_bytes > MUCH_BYTES:  # else a full memory would show as SIGBUS, later
                os.posix_fallocate(self._fd, 0, n_bytes)
            self._map = mmap.mmap(self._fd, n_bytes)
        except BaseException:
            os.close(self._fd)
            raise
        self.buf = memoryview(self._map)

    def close(self) -> None:
        self.buf.release()
        self._map.close()
        os.close(self._fd)


def _named(n_bytes: int) -> Any:
    block = shared_memory.SharedMemory(_name(), create=True, size=n_bytes)
    block.unlink()  # does nothing on Windows
    return block


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
        if n_bytes > MUCH_BYTES and n_bytes > available_bytes():  # else the system kills programs
            raise _full(n_bytes)
        try:
            self._block: Any = _Nameless(n_bytes) if _WITHOUT_NAME else _named(n_bytes)
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", None) in _NO_MORE_FILES:
                raise
            raise _full(n_bytes, error) from error
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
                with suppress(OSError):  # another user's, or a folder: not ours to remove
                    path.unlink()


def is_alive(pid: int) -> bool:
    """Return whether there is a process with this number; not for Windows."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's process; its files are not ours to remove
    return True


def _full(n_bytes: int, error: Exception | None = None) -> SharedMemoryFull:
    if error is not None and limit_behind(error):
        return SharedMemoryFull(
            f"the ranks need {n_bytes:,} bytes of shared memory, which are refused ({error}): "
            f"{what_to_do(error, 'use fewer workers or smaller arrays')}"
        )
    reason = "" if error is None else f" ({error})"
    return SharedMemoryFull(
        f"the ranks need {n_bytes:,} bytes of shared memory, {available_bytes():,} bytes of memory "
        f"are free{reason}; use fewer workers or smaller arrays, or close other programs"
    )
