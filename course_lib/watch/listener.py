"""Listening to a rank: all that it sends is handed to a keeper, and nothing else changes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Envelope
from course_lib.comm.pending import Pending

__all__ = ["Keep", "Sent", "keeper", "listen"]

Keep = Callable[[str, int, NDArray[Any]], None]
"""Takes the communicator's name, the receiver (a rank of the whole run) and the array."""


Sent = dict[tuple[str, int], list[NDArray[Any]]]
"""What a rank sent, in order: by communicator and receiver (a rank of the whole run)."""


def keeper(sent: Sent) -> Keep:
    """Make a keeper that copies all it hears of.

    Parameters
    ----------
    sent : dict
        Where the copies are kept.

    Returns
    -------
    callable
        For ``listen``.
    """

    def keep(name: str, dst: int, data: NDArray[Any]) -> None:
        sent.setdefault((name, dst), []).append(np.array(data))

    return keep


def listen(comm: Communicator, keep: Keep) -> None:
    """Hand on what is sent on a communicator, and on those split or started from it.

    The communicator itself is listened to, by methods of its own in front of those of its class: a
    second one around it would need a copy of all that a communicator knows of its collectives.

    Parameters
    ----------
    comm : Communicator
        One rank's communicator.
    keep : callable
        What hears of each array before it is sent, and copies what it wants to keep.
    """
    send, isend, exchange = comm._send, comm._isend, comm._sendrecv
    split, start = comm._split, comm._start

    def kept_send(data: NDArray[Any], envelope: Envelope, dst: int) -> None:
        keep(comm.name, comm._members[dst], data)
        send(data, envelope, dst)

    def kept_isend(data: NDArray[Any], envelope: Envelope, dst: int) -> Pending[None]:
        keep(comm.name, comm._members[dst], data)
        return isend(data, envelope, dst)

    def kept_sendrecv(data: NDArray[Any], envelope: Envelope, dst: int, *rest: Any) -> Any:
        keep(comm.name, comm._members[dst], data)
        of_comm: dict[str, Any] = vars(comm)
        of_comm["_send"] = send  # it sends so itself where a receive is posted already
        try:
            return exchange(data, envelope, dst, *rest)
        finally:
            of_comm["_send"] = kept_send

    def listened_split(color: int | None, key: int) -> Communicator | None:
        group = split(color, key)
        if group is not None:
            listen(group, keep)
        return group

    def listened_start(fn: Callable[..., Any], args: tuple[Any, ...]) -> Pending[Any]:
        def listened(child: Communicator, *args: Any) -> Any:
            listen(child, keep)
            return fn(child, *args)

        return start(listened, args)

    vars(comm).update(
        _send=kept_send, _isend=kept_isend, _sendrecv=kept_sendrecv,
        _split=listened_split, _start=listened_start,
    )  # fmt: skip
