"""What all communicators of one rank share, and the counts of what went through each."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from course_lib.comm.collective_order import Sites
from course_lib.comm.messages import Tag
from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.settings import Settings
from course_lib.trace.recorder import Recorder

__all__ = ["FORGOTTEN", "RankContext", "Tallies", "Tally"]

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


@dataclass
class RankContext:
    """A rank's progress and settings.

    Attributes
    ----------
    progress : ProgressEngine
        Where its messages go out and come in; in another world, what does that there.
    arena : Arena or None
        Where shared arrays lie; None where ranks may be on different computers.
    settings : Settings
        The run's.
    origin_s : float
        When the run began, on the clock that all processes of this computer share.
    fail : callable
        Told of an exception that left a started function.
    sites : Sites
        The places at which it has called collectives.
    tallies : Tallies
        What its communicators have sent and received.
    """

    progress: Any
    arena: Arena | None
    settings: Settings
    origin_s: float
    fail: Callable[[BaseException], None]
    sites: Sites
    tallies: Tallies = field(default_factory=Tallies)

    def __post_init__(self) -> None:
        """Make what follows from these."""
        self.recorder = Recorder(self.progress.rank)
        self.recorder.incarnation = getattr(self.progress, "incarnation", 0)

    def clock(self) -> float:
        """Return seconds since the run began."""
        return time.perf_counter() - self.origin_s
