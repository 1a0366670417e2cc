"""A function that was started, seen by those who wait for it."""

from typing import TYPE_CHECKING, TypeVar

from greenlet import getcurrent

from course_lib.comm.pending import Pending
from course_lib.comm.simulated.flow import Flow

if TYPE_CHECKING:
    from course_lib.comm.simulated.communicator import SimulatedCommunicator

__all__ = ["Started"]

T = TypeVar("T")


class Started(Pending[T]):
    """What ``start`` returns; any flow of the same rank may wait for it.

    Parameters
    ----------
    child : SimulatedCommunicator
        What the function was given.
    starter : Flow
        Who started it.
    """

    def __init__(self, child: "SimulatedCommunicator", starter: Flow) -> None:
        self._child = child
        self._starter = starter

    def wait(self) -> T:
        """Wait until the function has returned; return what it returned, however often asked."""
        flow, here = self._child.flow, getcurrent()
        waiter = here if isinstance(here, Flow) and here.rank == flow.rank else self._starter
        waiter.begin(self._child, "wait")
        waiter.wait_for(flow)
        value: T = flow.value
        return value
