"""Where each rank writes what it waits for: the launcher reads it, to find and explain deadlocks.

A rank has several flows of control: its function, and those it has started beside it; each has an
entry. A rank is asleep while its mailbox says so, and whoever has news for it says first that it is
awake; so a rank all of whose flows wait, and whose mailbox is asleep, has truly nothing to do. The
board is read without a lock: of two readings with the same stamps, nothing has moved in between.
"""

from typing import NamedTuple

from course_lib.comm.messages import Tag
from course_lib.comm.processes.mailbox import FLOWS
from course_lib.comm.wait_graph import GROUP_VERBS

__all__ = ["Board", "RankState", "Waiting", "call_text"]

VERBS = ("", "go on", "send", "recv", "recv_any", "sendrecv", "wait", *GROUP_VERBS)
_NO_FLOW, _GOES_ON = 0, 1
_ENTRY = 3


def call_text(verb: str, src: int, dst: int, tag: Tag = None) -> str:
    """Write a verb as the learner did, with what of it is still open."""
    if verb in GROUP_VERBS:
        return f"{verb}()"
    parts = [f"src={src}"] if src >= 0 else []
    parts += [f"dst={dst}"] if dst >= 0 else []
    parts += [f"tag={tag!r}"] if tag is not None else []
    return f"{verb}({', '.join(parts)})"


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
        ``WORDS`` for each rank: a stamp, then an entry for each flow.
    """

    WORDS = 1 + _ENTRY * FLOWS

    def __init__(self, words: memoryview) -> None:
        self._words = words

    def waits(self, rank: int, flow: int, verb: str, src: int, dst: int) -> None:
        """Write that a flow of ``rank`` waits in ``verb`` for ``src`` and ``dst``."""
        first = self._place(rank, flow)
        self._words[first + 1], self._words[first + 2] = src, dst
        self._set(rank, first, VERBS.index(verb))

    def goes_on(self, rank: int, flow: int) -> None:
        """Write that a flow begins, or no longer waits."""
        self._set(rank, self._place(rank, flow), _GOES_ON)

    def ends(self, rank: int, flow: int) -> None:
        """Write that a flow is over."""
        self._set(rank, self._place(rank, flow), _NO_FLOW)

    def _place(self, rank: int, flow: int) -> int:
        return self.WORDS * rank + 1 + _ENTRY * flow

    def _set(self, rank: int, first: int, code: int) -> None:
        self._words[first] = code
        self._words[self.WORDS * rank] += 1

    def call(self, rank: int) -> str | None:
        """Write the verb that the first flow of ``rank`` waits in as a call; None if none does."""
        waiting = self.state(rank, asleep=True).waiting
        if not waiting:
            return None
        return call_text(*waiting[0])

    def state(self, rank: int, *, asleep: bool) -> RankState:
        """Return what ``rank`` does, given whether its mailbox is asleep."""
        stamp, *entries = self._words[self.WORDS * rank : self.WORDS * (rank + 1)]
        flows = [entries[place : place + _ENTRY] for place in range(0, len(entries), _ENTRY)]
        waiting = [Waiting(VERBS[code], src, dst) for code, src, dst in flows if code > _GOES_ON]
        at_work = not asleep or not waiting or any(code == _GOES_ON for code, _, _ in flows)
        return RankState(at_work, tuple(waiting), stamp)
