"""What one rank has sent and received in each communicator, where no trace tells it."""

from collections import Counter, deque
from collections.abc import Iterator
from threading import RLock
from typing import NamedTuple

from course_lib.comm.messages import Tag

__all__ = ["FORGOTTEN", "Tallies", "Tally"]

FORGOTTEN = ""
"""In place of a name: all communicators together that are over and remembered no more."""
_MOST = 256


class Tally(NamedTuple):
    """What one rank has done in one communicator."""

    name: str
    sent: dict[int, int]
    received: dict[int, int]
    """How many messages, by the other's rank in the whole run."""
    last_tags: dict[int, tuple[Tag, ...]]
    last_stamp: int


class Tallies:
    """The communicators of a rank that are over: the last of them each, the others in sum.

    A training loop may split its communicator at every step. Nothing may grow with that.
    """

    def __init__(self) -> None:
        self._last: deque[Tally] = deque()
        self._sent: Counter[int] = Counter()
        self._received: Counter[int] = Counter()
        self._adding = RLock()  # a communicator may be let go of while another is added here

    def add(self, tally: Tally) -> None:
        """Remember one more."""
        with self._adding:
            self._last.append(tally)
            if len(self._last) > _MOST:
                oldest = self._last.popleft()
                self._sent.update(oldest.sent)
                self._received.update(oldest.received)

    def __iter__(self) -> Iterator[Tally]:
        """List the sum, if there is one, then the last, by when they were over."""
        if self._sent or self._received:
            yield Tally(FORGOTTEN, self._sent, self._received, {}, 0)
        yield from self._last
