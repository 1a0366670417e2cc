"""Who moves the messages that ``isend`` and ``irecv`` have begun, and in which order.

What goes to one rank, or comes from one, goes in order, one message after the other: they are in a
lane. While there is anything in it a lane has a flow that stands on the wait board like any other,
so that a deadlock is found and explained in the same way. A thread drives it; or the function that
waits for one of its messages, if that comes first.
"""

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.posted import Posted

if TYPE_CHECKING:
    from course_lib.comm.processes.rank.communicator import ProcessCommunicator

__all__ = ["Lane"]


class Lane:
    """What has been begun on one communicator to send to one rank, or to receive from it.

    Parameters
    ----------
    comm : ProcessCommunicator
        Whose function is the only one that puts anything into it.
    """

    def __init__(self, comm: "ProcessCommunicator") -> None:
        self._comm = comm
        self._queue: deque[Posted[Any]] = deque()
        self._changing = threading.Lock()
        self._is_driven = False  # or will be, by the thread that takes its flow
        self._flow: Flow | None = None

    @property
    def busy(self) -> bool:
        """Whether something in it is not over."""
        return len(self._queue) > 0

    def put(self, posted: Posted[Any]) -> None:
        """Add a message that has been begun.

        Raises
        ------
        RuntimeError
            If the operating system gives the rank no more threads; then it has not been begun.
        """
        posted.lane = self
        with self._changing:
            self._queue.append(posted)
            if self._is_driven:
                return
            self._is_driven = True
        try:
            self._hand_to_a_thread()
        except (RuntimeError, MemoryError) as error:
            self._queue.clear()
            self._is_driven = False
            self._comm._flow.unsettled.pop(posted)
            raise RuntimeError(
                f"rank {self._comm._progress.rank} could not begin {posted.name}: the operating "
                f"system let it have no thread for it ({error}); wait() for what has been begun "
                "before you begin more, or use send and recv"
            ) from error

    def _hand_to_a_thread(self) -> None:
        progress = self._comm._progress
        self._flow = progress.open_flow(self._comm.name, self._comm._flow)
        try:
            progress.drivers.call(self._live)
        except (RuntimeError, MemoryError):
            flow, self._flow = self._flow, None
            progress.close_flow(flow)
            raise

    def _take_flow(self) -> Flow | None:
        """Take the flow that is there for whoever comes first to drive what is in the lane."""
        with self._changing:
            flow, self._flow = self._flow, None
            return flow

    def _live(self) -> None:
        """Drive one message after the other, in a thread, until there are none."""
        flow = self._take_flow()
        if flow is None:  # the rank waits already, and does it itself
            return
        progress = self._comm._progress
        progress.enter(flow)
        more = True
        while more:
            more, _ = self._drive_next(flow)
        progress.close_flow(flow)

    def drive_up_to(self, posted: Posted[Any], waiter: Flow) -> None:
        """Drive what is in it up to a message, in the flow that waits for that, if no thread does.

        So a message for which a rank waits at once costs little more than one of ``recv``.
        """
        flow = self._take_flow()
        if flow is None:
            return
        self._comm._progress.close_flow(flow)
        more, error = True, None
        while more and not posted.over and isinstance(error, Exception | None):
            more, error = self._drive_next(waiter)
        waiter.waits.clear()  # they are noted as one of ``wait``
        if more:
            try:
                self._hand_to_a_thread()
            except (RuntimeError, MemoryError):  # no thread is left: the rest goes now
                while more:
                    more, _ = self._drive_next(waiter)
        if error is not None and not isinstance(error, Exception):
            raise error  # it ends this flow, whatever it was driving

    def _drive_next(self, flow: Flow) -> tuple[bool, BaseException | None]:
        """Drive the first message; return whether there are more, and what went wrong."""
        posted, wrong = self._queue[0], None
        try:
            posted.context.run(posted.go, flow)
        except BaseException as error:
            wrong = error
            posted.fail(error)
        with self._changing:
            self._queue.popleft()
            more = self._is_driven = len(self._queue) > 0
        self._comm._progress.settle(posted)
        return more, wrong
