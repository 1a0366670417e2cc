"""Where each rank writes what it waits for: the launcher reads it, to find and explain deadlocks.

A rank is asleep while its mailbox says so, and whoever has news for it says first that it is awake;
so a rank that the board shows as waiting and whose mailbox is asleep has truly nothing to do. The
board is read without a lock: of two readings with the same stamps, nothing has moved in between.
"""

from typing import NamedTuple

__all__ = ["Board", "RankState", "Waiting"]

VERBS = ("", "send", "recv", "recv_any", "sendrecv", "barrier", "split", "shared_array", "wait")


class Waiting(NamedTuple):
    """One flow of control of a rank (its function, or something it has started) that waits."""

    verb: str
    src: int
    """Whom it wants to hear from: a rank of the run, ``ANYONE`` or ``NOBODY``."""
    dst: int
    """Who is to take what it sends."""


class RankState(NamedTuple):
    """One rank at one moment."""

    at_work: bool
    """Whether something in it can go on."""
    waiting: tuple[Waiting, ...]
    """All that waits in it."""
    stamp: int
    """Another number as soon as anything has moved."""


class Board:
    """The entries of all ranks, over shared memory.

    Parameters
    ----------
    words : memoryview of int64
        ``WORDS`` for each rank.
    """

    WORDS = 4

    def __init__(self, words: memoryview) -> None:
        self._words = words

    def waits(self, rank: int, verb: str, src: int, dst: int) -> None:
        """Write that ``rank`` waits in ``verb`` for ``src`` and ``dst``."""
        first = self.WORDS * rank
        self._words[first + 1], self._words[first + 2] = src, dst
        self._words[first] = VERBS.index(verb)
        self._words[first + 3] += 1

    def goes_on(self, rank: int) -> None:
        """Write that ``rank`` no longer waits."""
        self._words[self.WORDS * rank] = 0

    def call(self, rank: int) -> str | None:
        """Write the verb that ``rank`` waits in as a call; None if it does not wait."""
        state = self.state(rank, asleep=True)
        if state.at_work:
            return None
        verb, src, dst = state.waiting[0]
        open_parts = [f"src={src}"] if src >= 0 else []
        open_parts += [f"dst={dst}"] if dst >= 0 else []
        return f"{verb}({', '.join(open_parts)})"

    def state(self, rank: int, *, asleep: bool) -> RankState:
        """Return what ``rank`` does, given whether its mailbox is asleep."""
        code, src, dst, stamp = self._words[self.WORDS * rank : self.WORDS * (rank + 1)]
        if code == 0:
            return RankState(True, (), stamp)
        return RankState(not asleep, (Waiting(VERBS[code], src, dst),), stamp)
