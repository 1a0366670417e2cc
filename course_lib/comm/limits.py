"""Which limit of this program has refused something: the system's own errors do not say."""

import errno
import mmap
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from course_lib.comm.errors import LaunchError, RunError, SerializationError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

__all__ = [
    "MemoryReserve",
    "limit_behind",
    "no_room_for",
    "refusals_told",
    "start_thread",
    "what_to_do",
]

_BEGINNING_BYTES = 2 * 1024 * 1024
_RESERVE_BYTES = 4 * 1024 * 1024

_LIMITS = {
    errno.EMFILE: (("RLIMIT_NOFILE", "n", "have {:,} files open"),),
    errno.EFBIG: (("RLIMIT_FSIZE", "f", "write files of up to {:,} bytes"),),
    errno.ENOMEM: (
        ("RLIMIT_AS", "v", "use {:,} bytes of address space"),
        ("RLIMIT_DATA", "d", "use {:,} bytes for data"),
    ),
    errno.EAGAIN: (
        ("RLIMIT_NPROC", "u", "have {:,} processes and threads with its user's others"),
    ),
    errno.ETIME: (("RLIMIT_CPU", "t", "compute for {:,} s in each of its processes"),),
}
"""By what the system answers: the limits that may be the reason, ``ulimit``'s letter, the words.

It kills where processor time is out; ``ETIME`` stands for that.
"""


class MemoryReserve:
    """While a ``with`` block lasts: addresses kept free, to say what it means if memory is out.

    Python's ``MemoryError`` has no word, and where there is no byte left every step of telling it
    runs into the next one. No memory is used: nothing is ever written there.

    Raises
    ------
    LaunchError
        For a ``MemoryError`` in the block.
    """

    def __enter__(self) -> None:
        """Set the addresses aside."""
        self._reserve: mmap.mmap | None = None
        try:
            self._reserve = mmap.mmap(-1, _RESERVE_BYTES)
        except (OSError, MemoryError) as error:
            raise self._told() from error

    def __exit__(
        self, kind: object, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        """Give them back, and say what it means if memory was out."""
        if self._reserve is not None:
            self._reserve.close()
        if isinstance(error, MemoryError):
            traceback.clear_frames(stack)  # what they hold is most of what is in use
            raise self._told() from error

    def _told(self) -> LaunchError:
        return LaunchError(
            "there is not enough memory here for what the run itself needs; "
            f"{what_to_do(MemoryError())}"
        )


@contextmanager
def refusals_told() -> Iterator[None]:
    """Say what it means if the operating system refuses the launcher something it needs.

    Yields
    ------
    None
        While it asks for that.

    Raises
    ------
    LaunchError
        For an ``OSError`` or a ``MemoryError`` in the block.
    """
    try:
        yield
    except RunError:
        raise
    except (OSError, MemoryError) as error:
        what = "there is not enough memory" if isinstance(error, MemoryError) else error
        raise LaunchError(
            "the operating system refused what is needed to start workers and to hear from them: "
            f"{what}; {what_to_do(error)}"
        ) from error


def limit_behind(error: BaseException) -> str:
    """Name the limits of this program that may have refused what ran into an error.

    Parameters
    ----------
    error : BaseException
        An ``OSError``, a ``MemoryError``, or what Python raises where a thread cannot start.

    Returns
    -------
    str
        ``"this program may have 40 files open (ulimit -n)"``; empty if nothing of the kind is
        limited, as on Windows.
    """
    told = []
    for number in _answers(error):
        for name, letter, words in _LIMITS.get(number, ()):
            most = _limit(name)
            if most is not None:
                told.append(f"{words.format(most)} (ulimit -{letter}, {name})")
    return f"this program may {' and '.join(told)}" if told else ""


def what_to_do(error: BaseException, fewer: str = "use fewer workers") -> str:
    """Say what to do about a refusal: a limit of this program is raised, no program closed for it.

    Parameters
    ----------
    error : BaseException
        As for ``limit_behind``.
    fewer : str, default: "use fewer workers"
        How to do with less.

    Returns
    -------
    str
        The end of a sentence.
    """
    limit = limit_behind(error)
    if not limit and _finds_no_folder(error):
        return "let this program write there, or name a folder in the variable TMPDIR"
    if not limit:
        return f"close other programs or {fewer}"
    others = ", close other programs" if "RLIMIT_NPROC" in limit else ""
    return f"{limit}: raise that limit{others} or {fewer}"


def no_room_for(rank: int, n_bytes: int, consequences: Sequence[str] = ()) -> SerializationError:
    """Return the error for a rank whose result does not fit into the memory of this program.

    Parameters
    ----------
    rank : int
        Whose.
    n_bytes : int
        How large it is, packed; 0 if nobody knows.
    consequences : sequence of str, default: ()
        A line for every other rank.

    Returns
    -------
    SerializationError
        The error to raise.
    """
    advice = what_to_do(MemoryError(), "return less: a sum, a part, or the name of a file")
    size = f": {n_bytes:,} bytes" if n_bytes else ""
    return SerializationError(
        f"there is not enough memory here for what rank {rank} has sent back, its result and its "
        f"trace{size}; {advice}",
        rank=rank,
        consequences=consequences,
    )


def start_thread(thread: threading.Thread) -> None:
    """Start a thread; ``Thread.start`` waits for ever for one whose first lines find no memory.

    Parameters
    ----------
    thread : threading.Thread
        One that has not been started.

    Raises
    ------
    RuntimeError
        If the system refuses it, or has no room for what Python allocates in its first lines.
    """
    try:
        mmap.mmap(-1, _BEGINNING_BYTES).close()
    except (OSError, MemoryError) as error:
        raise RuntimeError("can't start new thread") from error
    thread.start()


def _answers(error: BaseException) -> tuple[int, ...]:
    if isinstance(error, MemoryError):
        return (errno.ENOMEM,)
    if isinstance(error, RuntimeError):  # "can't start new thread", which has no number
        return (errno.EAGAIN, errno.ENOMEM)
    if _finds_no_folder(error):
        return (errno.EFBIG,)
    return (getattr(error, "errno", None) or 0,)


def _finds_no_folder(error: BaseException) -> bool:
    """Whether Python has found no folder for temporary files: it tries to write one in each."""
    return isinstance(error, FileNotFoundError) and "temporary directory" in str(error)


def _limit(name: str) -> int | None:
    """Return a limit that is in force, None if there is none."""
    number: Any = getattr(resource, name, None)
    if resource is None or number is None:
        return None
    soft, _ = resource.getrlimit(number)
    return None if soft == resource.RLIM_INFINITY else soft
