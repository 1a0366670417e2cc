"""What all ranks of a communicator enter together, and what is said where they do not agree.

``barrier``, ``split`` and ``shared_array`` are such meetings. What comes out of one comes out for
all: the same answer, or the same error on every rank, so that a rank that catches it finds the
others where it is itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.comm.errors import (
    MessageMismatchError,
    PeerFinishedError,
    RunError,
    SharedMemoryFull,
)
from course_lib.comm.messages import on

__all__ = ["SHARED", "again", "other_requests", "other_verbs", "repeated", "written"]

_KINDS: dict[str, type[RunError]] = {
    kind.__name__: kind for kind in (MessageMismatchError, PeerFinishedError, SharedMemoryFull)
}

SHARED = (*_KINDS.values(),)
"""The errors that come out for all."""


def other_verbs(
    verbs: Mapping[int, str], members: Sequence[int], comm: str
) -> MessageMismatchError | None:
    """Return the error for ranks that have met in different verbs, if they have.

    Parameters
    ----------
    verbs : mapping of int to str
        What each rank of the communicator has called.
    members : sequence of int
        The ranks of the whole run.
    comm : str
        The communicator's name.

    Returns
    -------
    MessageMismatchError or None
        It names the first rank that is elsewhere than rank 0.
    """
    for rank in sorted(verbs):
        if verbs[rank] != verbs[0]:
            return MessageMismatchError(
                f"rank {members[rank]} calls {verbs[rank]}(){on(comm)} where rank {members[0]} "
                f"calls {verbs[0]}(); all ranks must call barrier, split and shared_array in the "
                "same order",
                rank=members[rank],
            )
    return None


def other_requests(
    asked: Mapping[int, tuple[tuple[int, ...], np.dtype[Any]]], members: Sequence[int], comm: str
) -> MessageMismatchError | None:
    """Return the error for ranks that ask for different shared arrays, if they do.

    Parameters
    ----------
    asked : mapping of int to (shape, dtype)
        By rank of the communicator.
    members : sequence of int
        The ranks of the whole run.
    comm : str
        The communicator's name.

    Returns
    -------
    MessageMismatchError or None
        It names the first rank that asks for another than rank 0.
    """
    for rank in sorted(asked):
        if asked[rank] != asked[0]:
            (shape, dtype), (other_shape, other_dtype) = asked[0], asked[rank]
            return MessageMismatchError(
                f"the shared arrays{on(comm)} do not match: rank {members[0]} asks for dtype "
                f"{dtype} and shape {shape}, rank {members[rank]} for dtype {other_dtype} and "
                f"shape {other_shape}; all ranks must ask for the same",
                rank=members[rank],
            )
    return None


def written(error: RunError) -> tuple[str, dict[str, Any]]:
    """Write down an error that one rank has found, to be raised by all: kind, and the rest."""
    told: dict[str, Any] = {"message": str(error.args[0]), "rank": error.rank}
    if isinstance(error, PeerFinishedError):
        told["peer"] = error.peer
    return type(error).__name__, told


def again(kind: str, told: Mapping[str, Any]) -> RunError:
    """Return the error that another rank has written down."""
    return _KINDS[kind](**told)


def repeated(error: RunError) -> RunError:
    """Return an error of its own for one more rank."""
    return again(*written(error))
