"""Which functions have returned, of ranks that live on: who waits for them in vain.

A rank knows which functions run in it, and how many it has started from each communicator. So it
can say of any communicator whether the function that was to use it there has returned.
"""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from course_lib.comm.communicator import WORLD
from course_lib.comm.processes.memory.mailbox import ANYONE
from course_lib.comm.processes.rank.flow import Call

__all__ = ["GivesUp", "Standing", "in_vain", "owner", "waiting_in_vain"]

_SPLITS = re.compile(r"(/split \d+ color -?\d+)+$")


def owner(comm: str) -> str:
    """Return what a function was given from which a communicator was split, perhaps by others."""
    return _SPLITS.sub("", comm)


def in_vain(call: Call, gone: Collection[int]) -> list[int]:
    """List the ranks, of those that are ``gone``, without which a verb cannot end."""
    if call.dst >= 0:  # first it sends, if it can: then that has been sent
        return [call.dst] * (call.dst in gone)
    awaited = list(call.missing) or [call.src]
    found = [peer for peer in awaited if peer in gone]
    return [] if call.src == ANYONE and len(found) < len(awaited) else found


class Standing(NamedTuple):
    """How far one rank has come."""

    running: dict[str, bool]
    """By the communicator that it was given: whether a function has only to wait for others."""
    started: dict[str, int]
    """How many functions have been started from each communicator."""
    calls: dict[int, Call]
    """The verbs in which its flows wait."""

    def returned(self, comm: str) -> str:
        """Name the function that has returned, so that nobody uses ``comm`` here any more.

        Empty if there may still be somebody. It is the one that was given ``comm``, or the one
        that would have had to start that.
        """
        mine = owner(comm)
        if mine in self.running:
            return mine if self.running[mine] else ""
        if mine == WORLD:  # the rank's own function is still to be loaded, and then called
            return ""
        parent, _, number = mine.rpartition("/start ")
        if int(number) <= self.started.get(parent, 0):
            return mine
        return self.returned(parent)


class GivesUp(NamedTuple):
    """A flow that waits in vain."""

    rank: int
    flow: int
    gone: dict[int, str]
    """Of the ranks that it waits for, those whose function has returned, and which."""


def waiting_in_vain(known: Mapping[int, Standing], returned: Collection[int]) -> list[GivesUp]:
    """List the flows that wait for functions that have returned.

    Parameters
    ----------
    known : mapping of int to Standing
        What is known of the ranks that cannot go on.
    returned : collection of int
        The ranks of which everything has returned.

    Returns
    -------
    list of GivesUp
        With the ranks that each waits for in vain.
    """
    found = []
    for rank, standing in known.items():
        for flow, call in standing.calls.items():
            peers = [call.dst, call.src, *call.missing]
            over = {p: known[p].returned(call.comm) for p in peers if p in known}
            gone = {peer: name for peer, name in over.items() if name}
            gone |= {peer: WORLD for peer in peers if peer in returned}
            if in_vain(call, gone):
                found.append(GivesUp(rank, flow, gone))
    return found
