"""Where each rank writes what it waits for: the launcher reads it, to find and explain deadlocks.

A rank has several flows of control: its function, and those it has started beside it; each has an
entry. A rank is asleep while its mailbox says so, and whoever has news for it says first that it is
awake; so a rank all of whose flows wait, and whose mailbox is asleep, has truly nothing to do. The
board is read without a lock: of two readings with the same stamps, nothing has moved in between.

The first entries of a rank lie in memory that is there from the start. More are added in pages,
each as long as all before it together, so that there is no limit to what a rank may start.
"""

from collections.abc import Iterator
from typing import NamedTuple

from course_lib.comm.messages import Tag
from course_lib.comm.processes.memory.mailbox import NOBODY
from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.wait_graph import GROUP_VERBS

__all__ = ["RankState", "WaitBoard", "Waiting", "call_text"]

VERBS = (
    "", "go on", "send", "recv", "recv_any", "sendrecv", "isend", "irecv", "wait", *GROUP_VERBS,
)  # fmt: skip
_NO_FLOW, _GOES_ON = 0, 1

_CODE, _SRC, _DST, _ACCEPTED = range(4)
_ENTRY = 4  # words of a flow: its verb, whom it waits for, the last message that was accepted
_FIRST = 16  # entries that are there from the start
_MOST_PAGES = 24  # 16 * 2**24 entries, more than a computer has threads
_STAMP, _PAGES = 0, 1

Pages = dict[tuple[int, int], memoryview]


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


class WaitBoard:
    """The entries of all ranks, over shared memory.

    Parameters
    ----------
    words : memoryview of int64
        ``WORDS`` for each rank: a stamp, where its further pages lie, then the first entries.
    arena : Arena or None
        Where further pages are put; None where no other process reads them.
    pages : dict of (int, int) to memoryview, default: None
        The further pages that are known, by rank and number.

    Attributes
    ----------
    words : memoryview of int64
        As above.
    """

    WORDS = _PAGES + _MOST_PAGES + _ENTRY * _FIRST

    def __init__(
        self, words: memoryview, arena: Arena | None, pages: Pages | None = None
    ) -> None:  # fmt: skip
        self.words = words
        self._arena = arena
        self._pages: Pages = {} if pages is None else pages

    # A rank's part

    def open(self, rank: int, flow: int) -> None:
        """Make an entry for a flow that begins.

        Raises
        ------
        SharedMemoryFull
            If there is no room for one more page of them.
        """
        number = _page_of(flow)
        if number and not self.words[self._page_word(rank, number)]:
            start, n_bytes = 0, _n_bytes(number)
            if self._arena is None:
                self._pages[rank, number] = memoryview(bytearray(n_bytes)).cast("q")
            else:
                start = self._arena.reserve(n_bytes, "start")
                self._map(rank, number, start)
            self.words[self._page_word(rank, number)] = start + 1
        self.goes_on(rank, flow)

    def waits(self, rank: int, flow: int, verb: str, src: int, dst: int) -> None:
        """Write that a flow of ``rank`` waits in ``verb`` for ``src`` and ``dst``."""
        words, first = self._entry(rank, flow)
        words[first + _SRC], words[first + _DST] = src, dst
        words[first + _CODE] = VERBS.index(verb)
        self.words[self.WORDS * rank + _STAMP] += 1

    def goes_on(self, rank: int, flow: int) -> None:
        """Write that a flow begins, or no longer waits."""
        self._set(rank, flow, _GOES_ON)

    def ends(self, rank: int, flow: int) -> None:
        """Write that a flow is over."""
        self._set(rank, flow, _NO_FLOW)

    def _set(self, rank: int, flow: int, code: int) -> None:
        words, first = self._entry(rank, flow)
        words[first + _CODE] = code
        self.words[self.WORDS * rank + _STAMP] += 1

    def accepted(self, rank: int, flow: int) -> int:
        """Return the last message of a flow of ``rank`` whose receive has begun."""
        words, first = self._entry(rank, flow)
        return int(words[first + _ACCEPTED])

    def clear(self, rank: int) -> None:
        """Forget all flows of a rank whose process is gone."""
        first = self.WORDS * rank + _PAGES + _MOST_PAGES
        for words in (self.words[first : first + _ENTRY * _FIRST], *self.pages(rank)):
            for place in range(len(words)):
                words[place] = 0
        self.words[self.WORDS * rank + _STAMP] += 1

    # The others' part

    def accept(self, rank: int, flow: int, number: int) -> None:
        """Write that the receive of message ``number`` of a flow of ``rank`` has begun."""
        words, first = self._entry(rank, flow)
        words[first + _ACCEPTED] = number

    def call(self, rank: int) -> str | None:
        """Write the verb that the first flow of ``rank`` waits in as a call; None if none does."""
        waiting = self.state(rank, asleep=True).waiting
        return call_text(*waiting[0]) if waiting else None

    def state(self, rank: int, *, asleep: bool) -> RankState:
        """Return what ``rank`` does, given whether its mailbox is asleep."""
        stamp = self.words[self.WORDS * rank + _STAMP]
        flows = [flow for flow in self._entries(rank) if flow[_CODE] != _NO_FLOW]
        waiting = [
            Waiting(VERBS[code], src, dst) for code, src, dst, _ in flows if code != _GOES_ON
        ]
        # Nobody listens to the bell where all wait for something in the same rank.
        listens = any((each.src, each.dst) != (NOBODY, NOBODY) for each in waiting)
        at_work = not waiting or len(waiting) < len(flows) or (listens and not asleep)
        return RankState(at_work, tuple(waiting), stamp)

    # Where an entry lies

    def _entry(self, rank: int, flow: int) -> tuple[memoryview, int]:
        if flow < _FIRST:
            return self.words, self.WORDS * rank + _PAGES + _MOST_PAGES + _ENTRY * flow
        number = _page_of(flow)
        page = self._pages.get((rank, number)) or self._page(rank, number)
        return page, _ENTRY * (flow - (_FIRST << number - 1))

    def _page(self, rank: int, number: int) -> memoryview:
        """Find a page that another process has made."""
        return self._map(rank, number, self.words[self._page_word(rank, number)] - 1)

    def _map(self, rank: int, number: int, start: int) -> memoryview:
        assert self._arena is not None, "a copy has all its pages"
        page = self._arena.view(start, _n_bytes(number), f"flows of rank {rank}, page {number}")
        self._pages[rank, number] = memoryview(page).cast("q")
        return self._pages[rank, number]

    def _page_word(self, rank: int, number: int) -> int:
        return self.WORDS * rank + _PAGES + number - 1

    def pages(self, rank: int) -> Iterator[memoryview]:
        """List the further pages of a rank."""
        for number in range(1, _MOST_PAGES + 1):
            if not self.words[self._page_word(rank, number)]:
                return
            if (rank, number) not in self._pages and self._arena is None:
                return  # made after this copy
            yield self._pages.get((rank, number)) or self._page(rank, number)

    def _entries(self, rank: int) -> Iterator[list[int]]:
        first = self.WORDS * rank + _PAGES + _MOST_PAGES
        for words in (self.words[first : first + _ENTRY * _FIRST], *self.pages(rank)):
            flat = words.tolist()
            yield from (flat[place : place + _ENTRY] for place in range(0, len(flat), _ENTRY))


def _page_of(flow: int) -> int:
    """Return the page that a flow's entry lies in; 0 for what is there from the start."""
    return (flow // _FIRST).bit_length()


def _n_bytes(number: int) -> int:
    return 8 * _ENTRY * (_FIRST << number - 1)
