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
    parent : SimulatedCommunicator
        What it was started from.
    """

    def __init__(self, child: "SimulatedCommunicator", parent: "SimulatedCommunicator") -> None:
        self._child = child
        self._parent = parent

    def wait(self) -> T:
        """Wait until the function has returned; return what it returned, however often asked."""
        started, here = self._child.flow, getcurrent()
        waiter = self._parent.flow
        if isinstance(here, Flow) and here.rank == started.rank:
            waiter = here
            waiter.own._no_compute("wait")  # its own blocks, not those of who has started it
        waiter.begin(self._child, "wait")
        waiter.wait_for(started)
        value: T = started.value
        return value
