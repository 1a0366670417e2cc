"""What ranks hold while a trace goes on: cells that messages fill and computing lets go."""

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from course_lib.trace.contributions import Contributions, Counts, Fill
from course_lib.trace.events import Compute, Message
from course_lib.trace.trace import Trace

__all__ = ["Cells", "Happening", "in_order"]


class Happening(NamedTuple):
    """A message left or came, or a rank has computed: what may change what a rank holds.

    Attributes
    ----------
    time_s : float
        When.
    rank : int
        Who holds something else from then on.
    what : {"sent", "received", "computed"}
        What happened.
    event : Message or Compute
        The event of the trace.
    number : int
        Of a message, its place in the trace; of computing -1.
    """

    time_s: float
    rank: int
    what: str
    event: Message | Compute
    number: int


def in_order(trace: Trace) -> list[Happening]:
    """List what happened to all ranks, in order of time.

    Parameters
    ----------
    trace : Trace
        Of a run in which every message was received.

    Returns
    -------
    list of Happening
        Computing at its end; a message twice, where it is sent and where it is received.
    """
    found = [Happening(span.end_s, span.rank, "computed", span, -1) for span in trace.computes]
    for number, message in enumerate(trace.messages):
        assert message.received_s is not None
        found.append(Happening(message.posted_s, message.src, "sent", message, number))
        found.append(Happening(message.received_s, message.dst, "received", message, number))
    return sorted(found, key=attrgetter("time_s"))


class Cells:
    """The cells of all ranks, as they fill and empty.

    Parameters
    ----------
    trace : Trace
        The run.
    n_cells : int
        How many cells a rank has.
    levels : int, default: 1
        How many parts make a cell full.
    called : str, default: "part"
        What a cell is for.
    """

    def __init__(self, trace: Trace, n_cells: int, levels: int = 1, called: str = "part") -> None:
        self._trace, self._levels, self._called = trace, levels, called
        self._now = [[0] * n_cells for _ in range(trace.size)]
        self._held: list[list[Counts]] = [[self._counts(0)] * n_cells for _ in range(trace.size)]
        self._fills: list[Fill] = []
        self._carried: dict[int, int] = {}

    def begin(self, rank: int, cell: int, level: int) -> None:
        """Say what a rank holds at the beginning."""
        self._now[rank][cell] = level
        self._held[rank][cell] = self._counts(level)

    def put(self, rank: int, cells: Iterable[int], level: int, time_s: float) -> None:
        """Set cells to a level."""
        for cell in cells:
            if self._now[rank][cell] != level:
                self._now[rank][cell] = level
                self._fills.append(Fill(rank, cell, self._counts(level), time_s))

    def add(self, rank: int, cell: int, more: int, time_s: float) -> None:
        """Put a part more into a cell, or take some out."""
        self.put(rank, [cell], self._now[rank][cell] + more, time_s)

    def carry(self, number: int, cell: int) -> None:
        """Say of which cell a message is."""
        self._carried[number] = cell

    @property
    def contributions(self) -> Contributions:
        """All of it, for a player."""
        carried: list[dict[int, Counts]] = [
            {self._carried[number]: self._counts(self._levels)} if number in self._carried else {}
            for number in range(len(self._trace.messages))
        ]
        goals = [self._levels] * len(self._now[0])
        return Contributions(goals, self._held, carried, self._fills, self._called)

    def _counts(self, level: int) -> Counts:
        return (1,) * level + (0,) * (self._levels - level)
