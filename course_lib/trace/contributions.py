"""Whose numbers are where: what the messages of a run carried, and how every rank's buffer filled.

A buffer is cut into chunks. A chunk is complete when the contributions of all ranks that have any
to it are in it. This is the record; ``course_lib.watch`` obtains it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

__all__ = ["Contributions", "Counts", "Fill"]

Counts: TypeAlias = tuple[int, ...] | None
"""How often each rank is counted in a chunk, by rank; None where nobody can tell."""


class Fill(NamedTuple):
    """From ``time_s`` on, rank ``rank`` holds this in chunk ``chunk``."""

    rank: int
    chunk: int
    counts: Counts
    time_s: float


@dataclass(frozen=True)
class Contributions:
    """Which contributions every rank held and every message carried.

    Attributes
    ----------
    goals : list of int
        How many ranks contribute to each chunk.
    held : list of list of Counts
        What each rank holds at the beginning: by rank, then by chunk.
    carried : list of dict of int to Counts
        For each message of the trace, what it carried in which chunks; empty where it carried
        nothing that could be recognised.
    fills : list of Fill
        What each rank came to hold, in order of time.
    called : str, default: "chunk"
        What a cell is for: with another word than this one, whole things come and go, as the
        micro-batches of a pipeline do, and messages carry no contributions to a sum.
    """

    goals: list[int]
    held: list[list[Counts]]
    carried: list[dict[int, Counts]]
    fills: list[Fill] = field(default_factory=list)
    called: str = "chunk"
