"""What the other ranks tell one rank: a few counters under a lock, and a bell that wakes it.

Everything that others write and rank r reads lies in r's mailbox, and is written and read only
while r's lock is held. The lock is a semaphore, so whatever a rank wrote before it told (the bytes
of a message) is visible to whoever was told, on every kind of processor.

A rank that waits first polls the count of news for a moment, which costs nobody anything where
every rank has a processor of its own, and only then sleeps: waking up takes longer than a message.
"""

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["ANYONE", "NOBODY", "Mailbox", "Slots", "awake", "is_asleep", "mailbox_words"]

NOBODY = -1
ANYONE = -2

_NEWS, _AWAITED_SRC, _AWAITED_DST, _STALLED, _OWN, _FIRST_FREE = range(6)
_MANY_POLLS, _FEW_POLLS = 64, 4
"""How often a rank looks before it lets others run: where each has a processor, and where not."""
_yield: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))  # Windows: sleep


class Slots:
    """Where a mailbox keeps what, for every other rank.

    ``heads + src``: bytes that ``src`` has put into its ring to the owner. ``tails + dst``: bytes
    that ``dst`` has taken out of the owner's ring. ``finished + rank``: 1 once it has returned.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        # Heads first: with few ranks, all that a message changes lies in one line of the cache.
        self.heads, self.tails, self.finished = (_FIRST_FREE + part * size for part in range(3))


def mailbox_words(size: int) -> int:
    """Count the 8-byte words of a mailbox, rounded up so that each begins a cache line."""
    return -(-(_FIRST_FREE + 3 * size) // 16) * 16


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
        self._heads = slots.heads
        self._polls = _MANY_POLLS if slots.size <= (os.cpu_count() or 1) else _FEW_POLLS
        self._acquire: Callable[[], bool] = lock.acquire
        self._release: Callable[[], None] = lock.release
        self._ring: Callable[[], None] = bell.release
        self._listen: Callable[[], bool] = bell.acquire

    # The owner's part

    def look(self, src: int, dst: int) -> tuple[int, int, int, int]:
        """Return (count of news, head of src, tail of dst, stalled) as they are.

        What is returned for a negative ``src`` or ``dst`` means nothing.
        """
        words, slots = self._words, self._slots
        self._acquire()
        seen = words[_NEWS], words[slots.heads + src], words[slots.tails + dst], words[_STALLED]
        self._release()
        return seen

    def await_head(self, src: int, head: int, limit_s: float) -> int:
        """Wait for a moment, awake, until ``src`` has put in more than ``head``; return the new."""
        place = self._heads + src
        if self._words[place] == head and not self._poll(place, head, limit_s):
            return head
        self._acquire()  # only now is it sure that what it announces can be seen
        head = self._words[place]
        self._release()
        return head

    def look_everywhere(self) -> tuple[int, list[int], list[int], int, bool]:
        """Return (count of news, all heads, all tails, how many finished, stalled) as they are."""
        words, first, size = self._words, self._slots.heads, self._slots.size
        self._acquire()
        news, stalled = words[_NEWS], words[_STALLED]
        seen = words[first : first + 3 * size].tolist()
        self._release()
        n_finished = sum(seen[2 * size :])
        return news, seen[:size], seen[size : 2 * size], n_finished, bool(stalled)

    def finished(self, peers: Iterable[int]) -> list[int]:
        """List those of ``peers`` that have returned."""
        self._acquire()
        found = [peer for peer in peers if self._words[self._slots.finished + peer]]
        self._release()
        return found

    def finished_in(self, peer: int) -> int:
        """Return in which of its lives a peer that has returned has done so, from 1."""
        return self._words[self._slots.finished + peer]

    def poll(self, news: int, limit_s: float) -> bool:
        """Wait for a moment, awake; return whether there is something new since ``news``."""
        return self._poll(_NEWS, news, limit_s)

    def _poll(self, place: int, known: int, limit_s: float) -> bool:
        words, deadline_s = self._words, time.perf_counter() + limit_s
        while True:
            for _ in range(self._polls):
                if words[place] != known:
                    return True
            if time.perf_counter() > deadline_s:
                return False
            _yield()

    def sleep(self, news: int, src: int, dst: int) -> None:
        """Sleep until there is something new since ``news``.

        Parameters
        ----------
        news : int
            What ``look`` returned.
        src, dst : int
            Wake for messages from ``src`` and for room in the ring to ``dst``: a rank, ``ANYONE``
            or ``NOBODY``. A rank that finishes or stalls always wakes.
        """
        words = self._words
        self._acquire()
        if words[_NEWS] != news:
            self._release()
            return
        words[_AWAITED_SRC], words[_AWAITED_DST] = src, dst
        self._release()
        self._listen()

    def tell_owner(self) -> None:
        """Wake the flow of this rank that sleeps, because another has moved something."""
        self._tell(_OWN, 0)

    def take_stalled(self) -> None:
        """Note that the rings are about to be emptied."""
        self._acquire()
        self._words[_STALLED] = 0
        self._release()

    def lie_down(self, news: int) -> None:
        """Say that the owner sleeps, unless more than ``news`` messages have been announced to it.

        The word of it: what wakes the owner comes another way.
        """
        words = self._words
        self._acquire()
        if words[_NEWS] == news:
            words[_AWAITED_SRC] = words[_AWAITED_DST] = ANYONE
        self._release()

    # The others' part

    def announce(self) -> None:
        """Say that a message is about to be sent to the owner, who so does not sleep."""
        words = self._words
        self._acquire()
        words[_NEWS] += 1
        words[_AWAITED_SRC] = words[_AWAITED_DST] = NOBODY
        self._release()

    def tell_head(self, src: int, head: int) -> None:
        """Say that ``src`` has put bytes up to ``head`` into its ring to the owner."""
        # As _tell does, written out: it is the one thing that every message says.
        words = self._words
        self._acquire()
        words[self._heads + src] = head
        words[_NEWS] += 1
        awaited = words[_AWAITED_SRC]
        if awaited == NOBODY or awaited not in (src, ANYONE):
            self._release()
            return
        words[_AWAITED_SRC] = words[_AWAITED_DST] = NOBODY
        self._release()
        self._ring()

    def tell_tail(self, dst: int, tail: int) -> None:
        """Say that ``dst`` has taken bytes up to ``tail`` out of the owner's ring."""
        self._tell(self._slots.tails + dst, tail, _AWAITED_DST, dst)

    def tell_accepted(self, dst: int) -> None:
        """Say that ``dst`` has begun to receive a message; the board says which."""
        self._tell(None, 0, _AWAITED_DST, dst)

    def tell_finished(self, rank: int, life: int = 1) -> None:
        """Say that ``rank`` has returned; in which of its lives, if it may have several."""
        self._tell(self._slots.finished + rank, life)

    def tell_lost(self) -> None:
        """Say that another rank is lost, to whom that one may have been about to ring the bell.

        The launcher says so, which has taken the lock as far as a dead rank let it.
        """
        words = self._words
        words[_NEWS] += 1
        words[_AWAITED_SRC] = words[_AWAITED_DST] = NOBODY
        self._release()
        self._ring()

    def tell_stalled(self) -> None:
        """Ask the owner to take what lies in its rings into its own memory."""
        self._tell(_STALLED, 1)

    def _tell(
        self, slot: int | None, value: int, awaited: int | None = None, peer: int = NOBODY
    ) -> None:
        words = self._words
        self._acquire()
        if slot is not None:
            words[slot] = value
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
