"""What one rank has sent and received in each communicator, where no trace tells it."""

from collections import defaultdict, deque
from collections.abc import Iterator
from threading import Lock

from course_lib.comm.messages import Tag

__all__ = ["FORGOTTEN", "Tallies", "Tally"]

FORGOTTEN = ""
"""In place of a name: all communicators together that are over and remembered no more."""
_MOST = 256
_MOST_TAGS = 1_000


class Tally:
    """What one rank has done in one communicator so far.

    Attributes
    ----------
    name : str
        The communicator's.
    sent, received : dict of int
        How many messages, by the other's rank in the whole run.
    last_tags : dict of deque
        The tags of the last that were sent to each, for a warning if nobody receives them.
    last_stamp : int
        That of the last collective.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: dict[int, int] = defaultdict(int)
        self.received: dict[int, int] = defaultdict(int)
        self.last_tags: dict[int, deque[Tag]] = defaultdict(lambda: deque(maxlen=_MOST_TAGS))
        self.last_stamp = 0


class Tallies:
    """The tallies of a rank: of communicators in use, the last that are over, the others in sum.

    A training loop may split its communicator at every step. Nothing may grow with that. A
    communicator writes into its tally here, and only says when it is over: whenever the garbage
    collector finds that out, in whatever thread, each is counted, and counted once.
    """

    def __init__(self) -> None:
        self._kept: dict[int, Tally] = {}  # by identity, in the order of their beginning
        self._over: deque[Tally] = deque()  # a deque, which needs no lock
        self._sum = Tally(FORGOTTEN)
        self._changing = Lock()

    def open(self, name: str) -> Tally:
        """Begin one more; forget one of those that have been over for long."""
        tally = Tally(name)
        with self._changing:
            self._kept[id(tally)] = tally
            self._forget_oldest()
        return tally

    def end(self, tally: Tally) -> None:
        """Note that a communicator is over; the garbage collector may call it at any moment."""
        self._over.append(tally)

    def _forget_oldest(self) -> None:
        while len(self._over) > _MOST:
            oldest = self._over.popleft()
            del self._kept[id(oldest)]
            for peer, n in oldest.sent.items():
                self._sum.sent[peer] += n
            for peer, n in oldest.received.items():
                self._sum.received[peer] += n

    def __iter__(self) -> Iterator[Tally]:
        """List the sum, if there is one, then the others."""
        with self._changing:
            self._forget_oldest()
            kept = list(self._kept.values())
        if self._sum.sent or self._sum.received:
            yield self._sum
        yield from kept
