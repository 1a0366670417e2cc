"""What the other ranks tell one rank: a few counters under a lock, and a bell that wakes it.

Everything that others write and rank r reads lies in r's mailbox, and is written and read only
while r's lock is held. The lock is a semaphore, so whatever a rank wrote before it told (the bytes
of a message) is visible to whoever was told, on every kind of processor.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["ANYONE", "NOBODY", "Mailbox", "Slots", "awake", "is_asleep", "mailbox_words"]

NOBODY = -1
ANYONE = -2
_NEWS, _AWAITED_SRC, _AWAITED_DST = 0, 1, 2
_FIRST_FREE = 6


class Slots:
    """Where a mailbox keeps what, as indices into what ``look`` returns.

    ``heads + src``: bytes that ``src`` has put into its ring to the owner. ``tails + dst``: bytes
    that ``dst`` has taken out of the owner's ring. ``accepted + dst``: the number of the last large
    message that ``dst`` has begun to receive. ``finished + rank``: 1 once that rank has returned.
    ``stalled``: 1 when somebody waits for room in a ring to the owner. ``arrived`` and
    ``released``: for barriers.
    """

    stalled, arrived, released = 3, 4, 5

    def __init__(self, size: int) -> None:
        self.heads, self.tails, self.accepted, self.finished = (
            _FIRST_FREE + part * size for part in range(4)
        )


def mailbox_words(size: int) -> int:
    """Count the 8-byte words of a mailbox, rounded up so that each begins a cache line."""
    return -(-(_FIRST_FREE + 4 * size) // 16) * 16


def awake(words: memoryview, start: int) -> None:
    """Mark the mailbox that begins at word ``start`` as one whose owner does not sleep."""
    words[start + _AWAITED_SRC] = words[start + _AWAITED_DST] = NOBODY


def is_asleep(words: memoryview, start: int) -> bool:
    """Tell whether the owner of the mailbox sleeps, and nobody has woken it yet."""
    return bool(words[start + _AWAITED_SRC] != NOBODY or words[start + _AWAITED_DST] != NOBODY)


class Mailbox:
    """The mailbox of one rank; every process has its own object on the same words.

    Parameters
    ----------
    words : memoryview of int64
        The shared counters.
    lock, bell : Semaphore
        The first guards the words (it starts at 1), the second wakes the owner (it starts at 0).
    slots : Slots
        Where each counter lies.
    """

    def __init__(self, words: memoryview, lock: Any, bell: Any, slots: Slots) -> None:
        self._words = words
        self._slots = slots
        self._acquire: Callable[[], bool] = lock.acquire
        self._release: Callable[[], None] = lock.release
        self._ring: Callable[[], None] = bell.release
        self._listen: Callable[[], bool] = bell.acquire

    def look(self) -> list[int]:
        """Return all counters as they are now; only the owner looks."""
        self._acquire()
        seen: list[int] = self._words.tolist()
        self._release()
        return seen

    def sleep(self, seen: list[int], src: int, dst: int) -> None:
        """Sleep until there is news since ``seen``; returns at once if there is already.

        Parameters
        ----------
        seen : list of int
            What ``look`` returned.
        src, dst : int
            Wake for messages from ``src`` and for room in the ring to ``dst``: a rank, ``ANYONE``
            or ``NOBODY``. A rank that finishes, stalls or releases a barrier always wakes.
        """
        words = self._words
        self._acquire()
        if words[_NEWS] != seen[_NEWS]:
            self._release()
            return
        words[_AWAITED_SRC], words[_AWAITED_DST] = src, dst
        self._release()
        self._listen()

    def tell_head(self, src: int, head: int) -> None:
        """Say that ``src`` has put bytes up to ``head`` into its ring to the owner."""
        self._tell(self._slots.heads + src, head, _AWAITED_SRC, src)

    def tell_tail(self, dst: int, tail: int) -> None:
        """Say that ``dst`` has taken bytes up to ``tail`` out of the owner's ring."""
        self._tell(self._slots.tails + dst, tail, _AWAITED_DST, dst)

    def tell_accepted(self, dst: int, number: int) -> None:
        """Say that ``dst`` has begun to receive the owner's message ``number``."""
        self._tell(self._slots.accepted + dst, number, _AWAITED_DST, dst)

    def tell_finished(self, rank: int) -> None:
        """Say that ``rank`` has returned."""
        self._tell(self._slots.finished + rank, 1)

    def tell_stalled(self) -> None:
        """Ask the owner to take what lies in its rings into its own memory."""
        self._tell(self._slots.stalled, 1)

    def clear_stalled(self) -> None:
        """Note that the rings have been emptied; the owner's part."""
        self._acquire()
        self._words[self._slots.stalled] = 0
        self._release()

    def tell_arrived(self) -> None:
        """Say that one more rank has come to the barrier that the owner counts."""
        self._tell(self._slots.arrived, None)

    def tell_released(self, number: int) -> None:
        """Say that all ranks have come to barrier ``number``."""
        self._tell(self._slots.released, number)

    def _tell(
        self, slot: int, value: int | None, awaited: int | None = None, peer: int = NOBODY
    ) -> None:
        words = self._words
        self._acquire()
        words[slot] = words[slot] + 1 if value is None else value
        words[_NEWS] += 1
        if awaited is None:
            wake = words[_AWAITED_SRC] != NOBODY or words[_AWAITED_DST] != NOBODY
        else:
            wake = words[awaited] == peer or words[awaited] == ANYONE
        if wake:
            words[_AWAITED_SRC] = words[_AWAITED_DST] = NOBODY
        self._release()
        if wake:
            self._ring()
