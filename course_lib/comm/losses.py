"""Who is concerned when a rank is lost, and what is said: what the worlds of ``survive`` share."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from course_lib.comm.errors import RankLost
from course_lib.comm.messages import on

if TYPE_CHECKING:
    from course_lib.comm.communicator import Communicator

__all__ = ["all_in_its_collectives", "rank_lost"]


def all_in_its_collectives(comm: "Communicator") -> set[int]:
    """Return all ranks that are to take part in the collectives that a function is in.

    Whoever is in one needs all of them: a rank for which it waits may have given up because of
    another. A collective may use communicators that are split from its own.

    Parameters
    ----------
    comm : Communicator
        One that the function uses.

    Returns
    -------
    set of int
        Ranks of the whole run; empty outside of collectives.
    """
    family = (member() for member in comm._family)
    return {rank for one in family if one is not None and one._stamp for rank in one._members}


def rank_lost(me: int, verb: str, comm: str, lost: Iterable[int]) -> RankLost:
    """Return the error for a rank that needs others that are lost.

    Parameters
    ----------
    me : int
        Who needs them.
    verb : str
        In what.
    comm : str
        The communicator's name.
    lost : iterable of int
        Who is lost; the lowest is named.

    Returns
    -------
    RankLost
        The error to raise.
    """
    rank = min(lost)
    whom = f"which needs rank {rank}, but that" if rank != me else "which it once was in, but it"
    return RankLost(
        rank,
        f"rank {me} is in {verb}(){on(comm)}, {whom} has been lost; catch RankLost to go on "
        "without it",
    )
