"""Which limit of this program has refused something: the system's own errors do not say."""

import errno
from collections.abc import Sequence
from typing import Any

from course_lib.comm.errors import SerializationError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

__all__ = ["limit_behind", "no_room_for", "what_to_do"]

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
}
"""By what the system answers: the limits that may be the reason, ``ulimit``'s letter, the words."""


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
        How large it is, packed.
    consequences : sequence of str, default: ()
        A line for every other rank.

    Returns
    -------
    SerializationError
        The error to raise.
    """
    advice = what_to_do(MemoryError(), "return less: a sum, a part, or the name of a file")
    return SerializationError(
        f"there is not enough memory here for what rank {rank} has sent back, its result and its "
        f"trace: {n_bytes:,} bytes; {advice}",
        rank=rank,
        consequences=consequences,
    )


def _answers(error: BaseException) -> tuple[int, ...]:
    if isinstance(error, MemoryError):
        return (errno.ENOMEM,)
    if isinstance(error, RuntimeError):  # "can't start new thread", which has no number
        return (errno.EAGAIN, errno.ENOMEM)
    return (getattr(error, "errno", None) or 0,)


def _limit(name: str) -> int | None:
    """Return a limit that is in force, None if there is none."""
    number: Any = getattr(resource, name, None)
    if resource is None or number is None:
        return None
    soft, _ = resource.getrlimit(number)
    return None if soft == resource.RLIM_INFINITY else soft
