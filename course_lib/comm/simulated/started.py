"""A function that was started, seen by those who wait for it."""

from typing import TYPE_CHECKING, TypeVar

from course_lib.comm.pending import Pending
from course_lib.comm.simulated.flow import Flow

if TYPE_CHECKING:
    from course_lib.comm.simulated.messaging import MessagingCommunicator

__all__ = ["Started"]

T = TypeVar("T")


class Started(Pending[T]):
    """What ``start`` returns; any flow of the same rank may wait for it.

    Parameters
    ----------
    child : MessagingCommunicator
        What the function was given.
    parent : MessagingCommunicator
        What it was started from.
    """

    def __init__(self, child: "MessagingCommunicator", parent: "MessagingCommunicator") -> None:
        self._child = child
        self._parent = parent

    def wait(self) -> T:
        """Wait until the function has returned; return what it returned, however often asked."""
        started = self._child.flow
        self._enter("wait").wait_for(started)
        if started.error is not None:
            raise started.error
        value: T = started.value
        return value

    def test(self) -> bool:
        """Tell whether the function has returned."""
        started = self._child.flow
        flow = self._enter("test")
        if not started.finished and not flow.poll(self, lambda: started.finished):
            flow.begin(self._child, "wait")
            flow.wait_for(started)  # for ever, and it is told why
        return started.finished

    def _enter(self, verb: str) -> Flow:
        """Let the flow that asks begin a verb."""
        flow = self._parent.flow.that_asks(verb)
        flow.begin(self._child, verb)
        return flow
