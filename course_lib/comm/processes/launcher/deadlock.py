"""Which ranks can never go on, seen from outside while they wait.

A rank can go on if it is at work, or if one thing that waits in it waits only for ranks that can go
on. Whoever is left when this has been applied until nothing changes is stuck. A rank that waits for
one which has returned is stuck too, but has been woken to say so itself; so only a circle of ranks
is reported as a deadlock.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from course_lib.comm import circles
from course_lib.comm.processes.memory.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.memory.wait_board import RankState, Waiting

__all__ = ["DeadlockWatch", "Edge", "awaited", "find_circles", "stuck_ranks"]

PATIENCE_S = 0.2
_LEAST_LOOKS = 3


class Edge(NamedTuple):
    """One rank of a circle, and which of its entries waits for the next rank."""

    rank: int
    entry: int


def stuck_ranks(states: Sequence[RankState], returned: Collection[int]) -> frozenset[int]:
    """Find the ranks that have not returned and can never go on.

    Parameters
    ----------
    states : sequence of RankState
        What each rank does, by rank.
    returned : collection of int
        The ranks that have returned and will do nothing for anybody.

    Returns
    -------
    frozenset of int
        The stuck ranks. Every one of them waits, in all that it does, for a rank that is stuck or
        has returned, or for all others where anyone would do.
    """
    here = {rank for rank in range(len(states)) if rank not in returned}
    live = {rank for rank in here if states[rank].at_work or not states[rank].waiting}
    while woken := {rank for rank in here - live if _can_go_on(rank, states[rank], live)}:
        live |= woken
    return frozenset(here - live)


def _can_go_on(rank: int, state: RankState, live: set[int]) -> bool:
    return any(
        # Who waits for something it has started goes on with that, so not by this entry.
        (waiting.src, waiting.dst) != (NOBODY, NOBODY)
        and all(_is_live(peer, rank, live) for peer in (waiting.src, waiting.dst))
        for waiting in state.waiting
    )


def _is_live(peer: int, rank: int, live: set[int]) -> bool:
    if peer == ANYONE:
        return bool(live - {rank})
    return peer == NOBODY or peer in live


def awaited(rank: int, waiting: Waiting, size: int) -> list[int]:
    """List the ranks, of ``size``, that ``waiting``, an entry of ``rank``, waits for."""
    if ANYONE not in (waiting.src, waiting.dst):
        return [peer for peer in (waiting.src, waiting.dst) if peer != NOBODY]
    return [peer for peer in range(size) if peer != rank]


def find_circles(states: Sequence[RankState], stuck: Iterable[int]) -> list[list[Edge]]:
    """Find the smallest circle of stuck ranks, each waiting for the next, and those apart from it.

    Parameters
    ----------
    states : sequence of RankState
        What each rank does, by rank.
    stuck : iterable of int
        The ranks that cannot go on.

    Returns
    -------
    list of list of Edge
        The circles, each from its lowest rank on; of several that are equally small the first by
        rank. Of ranks that wait for each other, perhaps by others, one circle is enough. Empty if
        all of them wait, perhaps by others, for ranks that have returned.
    """
    entries: dict[int, dict[int, int]] = {rank: {} for rank in sorted(stuck)}
    for rank, onward in entries.items():
        for entry, waiting in enumerate(states[rank].waiting):
            for peer in awaited(rank, waiting, len(states)):
                if peer in entries:
                    onward.setdefault(peer, entry)
    return [
        [
            Edge(rank, entries[rank][following])
            for rank, following in zip(circle, [*circle[1:], circle[0]], strict=True)
        ]
        for circle in circles.find_circles(entries, lambda rank: sorted(entries[rank]))
    ]


class DeadlockWatch:
    """Tells a deadlock from a moment in which everybody happens to wait.

    The board is read without a lock, so one look can be wrong by a moment. Three looks with the
    same stamps cannot: between the first and the last no stuck rank has done anything, so in the
    middle all of them did wait as it says.

    Attributes
    ----------
    states : list of RankState
        What was seen last.
    stuck : frozenset of int
        The ranks that cannot go on, once there are circles.
    circles : list of list of Edge
        The circles, once there are any.
    all_wait : bool
        Whether nobody outside of them can go on either.
    """

    def __init__(self) -> None:
        self.states: list[RankState] = []
        self.stuck: frozenset[int] = frozenset()
        self.circles: list[list[Edge]] = []
        self.all_wait = False
        self._stamps: dict[int, int] = {}
        self._since_s = 0.0
        self._n_looks = 0

    def look(self, states: list[RankState], returned: Collection[int], now_s: float) -> bool:
        """Take one look at the board; return whether there is a deadlock."""
        stuck = stuck_ranks(states, returned)
        stamps = {rank: states[rank].stamp for rank in stuck}
        if not self._stamps or not self._stamps.items() <= stamps.items():
            self._stamps, self._since_s, self._n_looks = stamps, now_s, 1
            return False
        self._n_looks += 1
        if self._n_looks < _LEAST_LOOKS or now_s - self._since_s < PATIENCE_S:
            return False
        self.states, self.stuck = states, stuck
        self.circles = find_circles(states, stuck)
        self.all_wait = len(stuck) + len(returned) == len(states)
        return bool(self.circles)
