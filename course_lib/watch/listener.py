"""Listening to a rank: a copy is kept of all that it sends, and nothing else changes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Envelope
from course_lib.comm.pending import Pending

__all__ = ["Sent", "listen"]

Sent = dict[tuple[str, int], list[NDArray[Any]]]
"""What a rank sent, in order: by communicator and receiver (a rank of the whole run)."""


def listen(comm: Communicator, sent: Sent) -> None:
    """Keep copies of what is sent on a communicator, and on those split or started from it.

    The communicator itself is listened to, by methods of its own in front of those of its class: a
    second one around it would need a copy of all that a communicator knows of its collectives.

    Parameters
    ----------
    comm : Communicator
        One rank's communicator.
    sent : dict
        Where the copies are kept.
    """
    send, exchange, split, start = comm._send, comm._sendrecv, comm._split, comm._start

    def keep(data: NDArray[Any], dst: int) -> None:
        sent.setdefault((comm.name, comm._members[dst]), []).append(np.array(data))

    def kept_send(data: NDArray[Any], envelope: Envelope, dst: int) -> None:
        keep(data, dst)
        send(data, envelope, dst)

    def kept_sendrecv(data: NDArray[Any], envelope: Envelope, dst: int, *rest: Any) -> Any:
        keep(data, dst)
        return exchange(data, envelope, dst, *rest)

    def listened_split(color: int | None, key: int) -> Communicator | None:
        group = split(color, key)
        if group is not None:
            listen(group, sent)
        return group

    def listened_start(fn: Callable[..., Any], args: tuple[Any, ...]) -> Pending[Any]:
        def listened(child: Communicator, *args: Any) -> Any:
            listen(child, sent)
            return fn(child, *args)

        return start(listened, args)

    vars(comm).update(
        _send=kept_send, _sendrecv=kept_sendrecv, _split=listened_split, _start=listened_start
    )
