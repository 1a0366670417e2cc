"""The short way of small messages: whole into the ring, whole out, in a few microseconds.

Almost every small message finds room, and almost every receive of one finds it as the next thing in
its ring, or a moment later. These two functions do that and nothing else; where anything else is
the case they have done nothing, and ``progress`` and ``transfers`` go the general way, which gives
the same result. That way also goes a message that is not what was wanted.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.collective_order import differ
from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import OPS, Envelope, Tag, mismatch_of
from course_lib.comm.processes.memory.header import describe
from course_lib.comm.processes.memory.rings import Outlet
from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.progress import POLL_S, ProgressEngine
from course_lib.comm.processes.rank.rank_context import RankContext

__all__ = ["receive_small", "send_small"]


def send_small(
    context: RankContext, data: NDArray[Any], sent: Envelope, to: int, channel: int,
    posted_s: float, stamp: int,
) -> bool:  # fmt: skip
    """Send a message that does not wait to rank ``to``; return whether that is done."""
    progress = context.progress
    if not 0 < data.nbytes <= context.settings.eager_bytes or len(progress.flows) > 1:
        return False
    outlet: Outlet = progress.outlets[to]
    number = next(progress.numbers)
    return outlet.put_small(data.tobytes(), describe(sent), channel, number, posted_s, stamp)


def receive_small(
    progress: ProgressEngine, flow: Flow, from_: int, channel: int, out: NDArray[Any] | None,
    op: str | None, tag: Tag, comm: Communicator,
) -> tuple[NDArray[Any], Envelope] | None:  # fmt: skip
    """Receive a small message if it comes now; None if another way has to be gone."""
    if len(progress.flows) > 1:
        return None
    inlet = progress.inlets[from_]
    if inlet.head == inlet.tail:
        inlet.head = progress.mailbox.await_head(from_, inlet.head, POLL_S)
        if inlet.head == inlet.tail:
            flow.polled = True
            return None
    found = inlet.peek_small(channel)
    if found is None:
        return None
    sent, dtype, start, length, its_stamp = found
    if its_stamp != comm._stamp and differ(its_stamp, comm._stamp):
        return None  # it will be refused
    fits = out is None or (out.dtype is dtype and out.shape == sent.shape)
    if (tag is not None or not fits) and mismatch_of(
        sent, from_, progress.rank, tag, out, comm.name
    ) is not None:
        return None
    message: NDArray[Any] = np.ndarray(sent.shape, dtype, inlet.ring, start)
    if out is None:
        out = message.copy()
    elif op is None:
        out[...] = message
    else:
        try:
            OPS[op](out, message, out=out)
        except Exception:  # np.errstate(over="raise"), for one
            inlet.skip_small(length)
            raise
    inlet.skip_small(length)
    return out, sent
