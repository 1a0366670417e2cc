"""Locks in shared memory: a number that is 1 while somebody has the lock, and one instruction.

No verb of a ``Communicator`` is a lock, and none is needed. An atomic exchange writes a number and
says what was there before: who writes 1 and finds 0 has the lock. Every processor can do that;
NumPy does not hand it out, so numba compiles it for the processor we run on.
"""

import ctypes
import sys
import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LINE",
    "Locks",
    "check_lock",
    "compiled_exchange",
    "compiled_take",
    "stripe_shift",
    "why_not_compiled",
]

LINE = 8
"""How many numbers of 8 bytes a lock takes: a cache line, so that neighbours do not disturb."""

_SPINS = 1_000  # some 20 microseconds: longer than an update, shorter than a turn of the processor
_PAUSE_S = 2e-5


def check_lock(lock: str, survives: bool) -> None:
    """Refuse locks where a rank may be lost that has one.

    Parameters
    ----------
    lock : str
        One of ``LOCKS``; ``"none"`` is none.
    survives : bool
        Whether the run goes on without a rank that is lost: ``comm.survives``.

    Raises
    ------
    ValueError
        If others could wait for ever: a word in shared memory does not say who has the lock.
    """
    if survives and lock != "none":
        raise ValueError(
            f"lock must be none in a run with survive=True, got {lock!r}: who is lost while it has "
            "the lock would keep it for ever"
        )


def stripe_shift(n_columns: int, n_stripes: int) -> np.uint64:
    """Say how far the number of a column is shifted to be that of its stripe.

    Parameters
    ----------
    n_columns : int
        How many there are.
    n_stripes : int
        Into how many stripes at most. A stripe is as wide as a power of 2, so there may be fewer.

    Returns
    -------
    numpy.uint64
        Column j belongs to stripe ``j >> shift``.

    Examples
    --------
    >>> 99 >> int(stripe_shift(100, 8))
    6
    """
    width = -(-n_columns // n_stripes)
    return np.uint64((width - 1).bit_length())


@cache
def why_not_compiled() -> str:
    """Say why nothing can be compiled here; empty where it can.

    Returns
    -------
    str
        A sentence.
    """
    try:
        import numba  # noqa: F401
    except Exception as error:  # it also refuses a NumPy that is newer than it knows
        return f"numba cannot be imported here ({type(error).__name__}: {error})"
    return ""


@cache
def compiled_exchange() -> Any:
    """Compile the exchange, once in a process.

    Returns
    -------
    callable
        Called with the words of locks, the number of one, and 0 or 1; writes that, and returns what
        was there before.

    Notes
    -----
    It is ``atomicrmw xchg`` with sequential consistency: neither the compiler nor the processor, of
    whatever kind, moves a read or a write of what is locked across it.

    References
    ----------
    LLVM Language Reference Manual, "atomicrmw" and "Atomic Memory Ordering Constraints".
    """
    import numba
    from numba.extending import intrinsic

    def atomic(_: Any, words: Any, place: Any, value: Any) -> Any:
        del place, value  # their types are those below

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, given[0])
            pointer = builder.gep(array.data, [given[1]])
            return builder.atomic_rmw("xchg", pointer, given[2], "seq_cst")

        return numba.int64(words, numba.uint64, numba.int64), generate

    swap: Any = intrinsic(atomic)

    def exchange(words: Any, lock: Any, value: Any) -> Any:
        return swap(words, lock * LINE, value)

    return numba.njit("int64(int64[::1], uint64, int64)")(exchange)


def _systems_sleep() -> tuple[Any, int]:
    """Find the operating system's sleep, and with which number a lock that is taken calls it.

    Compiled code calls it as C would. Python's own sleep would cost every lock, also one that is
    free: a function that may enter Python (``numba.objmode``) counts references to its arguments
    whenever it is called, and that takes longer than a lock.
    """
    if sys.platform == "win32":
        sleep, pause = ctypes.WinDLL("kernel32").Sleep, 0  # milliseconds: others' turn, if any wait
        sleep.argtypes, sleep.restype = [ctypes.c_uint], None
    else:
        sleep, pause = ctypes.CDLL(None).usleep, round(_PAUSE_S * 1e6)  # microseconds
        sleep.argtypes, sleep.restype = [ctypes.c_uint], ctypes.c_int
    return sleep, pause


@cache
def compiled_take() -> Any:
    """Compile, once in a process, what waits for a lock: for loops that are compiled themselves.

    Returns
    -------
    callable
        Called with the words of locks and the number of one, returns when it is taken. Who does not
        get it tries again, and after some microseconds sleeps for a while, since its holder may be
        waiting for the very processor.
    """
    import numba

    exchange = compiled_exchange()
    sleep, pause = _systems_sleep()

    def take(words: Any, lock: Any) -> None:
        spins = 0
        while exchange(words, lock, 1) != 0:
            spins += 1
            if spins % _SPINS == 0:
                sleep(pause)

    return numba.njit("void(int64[::1], uint64)")(take)


class Locks:
    """Locks that several ranks share.

    Parameters
    ----------
    words : numpy.ndarray of int64, shape (n * LINE,)
        Zeros in shared memory, for n locks.

    Raises
    ------
    RuntimeError
        If nothing can be compiled here: without an atomic instruction there is no lock.
    """

    def __init__(self, words: NDArray[np.int64]) -> None:
        if why := why_not_compiled():
            raise RuntimeError(f'{why}, and a lock needs what it compiles: lock="none" needs none')
        self.words = words
        self._exchange = compiled_exchange()

    def try_take(self, lock: int) -> bool:
        """Take a lock if nobody has it, and say whether it is now taken; never wait."""
        return bool(self._exchange(self.words, lock, 1) == 0)

    def release(self, lock: int) -> None:
        """Give a lock back."""
        self._exchange(self.words, lock, 0)

    @staticmethod
    def pause() -> None:
        """Leave the processor to others for a moment, after a lock could not be taken."""
        time.sleep(_PAUSE_S)
