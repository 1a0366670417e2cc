"""What lies in a inbox: a message, from the moment it is posted until it is read."""

import math
from typing import TYPE_CHECKING, Any, NoReturn

from numpy.typing import NDArray

from course_lib.comm.messages import OPS, Envelope

if TYPE_CHECKING:
    from course_lib.comm.simulated.fault_injector import Fate
    from course_lib.comm.simulated.flow import Flow
    from course_lib.comm.simulated.messaging import MessagingCommunicator
    from course_lib.comm.simulated.posted import Posted

__all__ = ["ANY", "InFlight", "Nobody"]

ANY = -1
"""In place of a source: whoever comes first."""


class Nobody:
    """In place of a poster that no longer waits for its message to leave."""

    def __init__(self) -> None:
        self.open_parts = 1
        self.done_s = 0.0
        self.sends_to: int | None = None

    def wake(self, done_s: float) -> None:
        """Settle a part, for which nobody waits."""
        self.done_s = max(self.done_s, done_s)
        self.open_parts -= 1


class InFlight:
    """A message on its way: a copy of the data, who sent it, when, and when it will be there.

    ``data`` is the receiver's own array as soon as the message has been put into that.
    ``arrived_s`` is infinite while the message waits at its sender for its receive to be posted.
    ``number`` is its place in the log, once it has started; ``stamp`` is that of the collective it
    was sent in. ``poster`` is who waits for it to leave: the flow in its verb, or what ``isend``
    has returned. ``queued`` says whether it waits for its sender's NIC, ``lies_there`` whether it
    is, or was, in the receiver's inbox. ``trouble`` is what NumPy raised when it was combined.
    ``fate`` is there only in a run with faults, from when it has been decided.
    """

    __slots__ = (
        "arrived_s", "data", "fate", "lies_there", "number", "posted_s", "poster", "queued",
        "sender", "sent", "stamp", "trouble",
    )  # fmt: skip
    fate: "Fate"
    trouble: Exception | None
    poster: "Flow | Posted[Any] | Nobody"

    def __init__(
        self, data: NDArray[Any], sent: Envelope, sender: "MessagingCommunicator", posted_s: float
    ) -> None:
        self.data = data
        self.sent = sent
        self.sender = sender
        self.stamp = sender._stamp
        self.poster = sender.flow
        self.queued = self.lies_there = False
        self.posted_s = posted_s
        self.arrived_s = math.inf
        self.number = -1

    @property
    def is_lost(self) -> bool:
        """Whether it will never arrive, as far as that has been decided."""
        return hasattr(self, "fate") and self.fate.is_lost

    def put_into(self, out: NDArray[Any], op: str | None) -> None:
        """Write the data into ``out``, or combine it with what is there."""
        if op is None:
            out[...] = self.data
        else:
            self.trouble = None
            try:
                OPS[op](out, self.data, out=out)
            except Exception as error:  # np.errstate(over="raise"), for one: told on arrival
                self.trouble = error
        self.data = out

    def raise_trouble(self) -> NoReturn:
        """Raise what NumPy raised."""
        trouble, self.trouble = self.trouble, None
        assert trouble is not None
        try:
            raise trouble
        finally:
            del trouble  # else it and this frame would hold each other
