"""The roll: which incarnation of each rank lives, and which locks each may hold.

There in runs that survive the loss of a rank. The launcher alone writes who lives, and a rank reads
that before it does anything with another. Every rank marks the locks of mailboxes that it is about
to take, so that the launcher can give back those of a rank that was killed with one.
"""

import enum
import threading
from typing import Any

__all__ = ["Life", "MarkedLock", "Roll"]

_VERSION, _FIRST = 0, 8


class Life(enum.IntEnum):
    """What is known of a rank's latest incarnation."""

    THERE = 0
    COMES_BACK = 1
    GONE = 2


class Roll:
    """The roll of one run, over shared memory.

    Parameters
    ----------
    memory : memoryview
        ``n_bytes(size)`` of it, zeros at first.
    size : int
        How many ranks there are.
    """

    def __init__(self, memory: memoryview, size: int) -> None:
        self._size = size
        self._words = memory[: self.n_bytes(size)].cast("q")

    @staticmethod
    def n_bytes(size: int) -> int:
        """Return how much memory it needs."""
        return 8 * (_FIRST + size + size * size)

    def close(self) -> None:
        """Let go of the memory."""
        self._words.release()

    # Who lives

    @property
    def version(self) -> int:
        """Another number as soon as anything has been written."""
        return self._words[_VERSION]

    def life(self, rank: int) -> tuple[int, Life]:
        """Return which incarnation of a rank was the last to begin, and what became of it."""
        incarnation, life = divmod(self._words[_FIRST + rank], len(Life))
        return incarnation, Life(life)

    def write(self, rank: int, incarnation: int, life: Life) -> None:
        """Write what has become of a rank; only then make that known."""
        self._words[_FIRST + rank] = incarnation * len(Life) + life
        with threading.Lock():  # what is written before is seen before, on every processor
            self._words[_VERSION] += 1

    # Locks

    def mark(self, rank: int, lock: int, value: int) -> None:
        """Write whether ``rank`` holds a lock, or is about to."""
        self._words[_FIRST + self._size * (1 + rank) + lock] = value

    def marked(self, rank: int) -> list[int]:
        """List the locks that ``rank`` may hold."""
        first = _FIRST + self._size * (1 + rank)
        marks = self._words[first : first + self._size].tolist()
        return [lock for lock, value in enumerate(marks) if value]


class MarkedLock:
    """The lock of a mailbox, as a rank takes it that may be killed while it holds it.

    Parameters
    ----------
    lock : Semaphore or Event
        The lock.
    roll : Roll
        Where to mark it.
    rank, owner : int
        Who takes it, and whose mailbox it is.
    """

    def __init__(self, lock: Any, roll: Roll, rank: int, owner: int) -> None:
        self._lock, self._roll = lock, roll
        self._rank, self._owner = rank, owner
        self._threads = threading.Lock()  # one mark for all threads of the rank

    def acquire(self) -> bool:
        """Take it, waiting for it if need be."""
        self._threads.acquire()
        self._roll.mark(self._rank, self._owner, 1)
        self._lock.acquire()
        return True

    def release(self) -> None:
        """Give it back."""
        self._lock.release()
        self._roll.mark(self._rank, self._owner, 0)
        self._threads.release()
