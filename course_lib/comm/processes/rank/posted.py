"""What ``isend`` and ``irecv`` return: messages that travel while the rank does other things."""

from abc import abstractmethod
from contextvars import copy_context
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from course_lib.comm.messages import Envelope, Tag
from course_lib.comm.pending import Pending
from course_lib.comm.processes.memory.mailbox import NOBODY
from course_lib.comm.processes.memory.transfers import Wanted
from course_lib.comm.processes.memory.wait_board import call_text
from course_lib.comm.processes.rank.flow import Call, Flow

if TYPE_CHECKING:
    from course_lib.comm.processes.rank.communicator import ProcessCommunicator
    from course_lib.comm.processes.rank.lanes import Lane

__all__ = ["Posted", "PostedReceive", "PostedSend"]

T = TypeVar("T")
_WORTH_NOTING_S = 1e-4


class Posted(Pending[T]):
    """A message that was begun, and that its lane drives.

    Parameters
    ----------
    comm : ProcessCommunicator
        On which it was begun.
    call : Call
        The verb, as errors and the wait board tell it.

    Attributes
    ----------
    over : bool
        Whether the lane is through with it.
    waiters : list of Flow
        Those that wait for it.
    awaits : None
        What it waits for in its own rank: nothing.
    name : str
        It as a call, for those that wait for it.
    lane : Lane
        In which it is, unless it was over at once.
    context : Context
        In which it was begun: NumPy's ``errstate`` holds for it, whoever drives it.
    """

    awaits = None
    lane: "Lane"

    def __init__(self, comm: "ProcessCommunicator", call: Call) -> None:
        self.over = False
        self.waiters: list[Flow] = []
        self.name = call_text(call.verb, call.src, call.dst, call.tag)
        self._comm = comm
        self._call = call
        self._stamp = comm._stamp
        self._error: BaseException | None = None
        self._value: Any = None
        self.context = copy_context()
        self._poster = comm._flow
        self._poster.unsettled[self] = None

    @abstractmethod
    def go(self, flow: Flow) -> None:
        """Send or receive it, in the lane's thread."""

    def fail(self, error: BaseException) -> None:
        """Have ``wait`` raise."""
        self._error = error.with_traceback(None)

    def is_over(self) -> None:
        """Note that it is over."""
        self.over = True

    def wait(self) -> T:
        """Wait until it is over; return what it came to, however often asked."""
        waiter = self._comm._progress.flow_that_asks("wait", self._comm.name)
        if not self.over:
            began_s = perf_counter()
            self.lane.drive_up_to(self, waiter)
            if not self.over:
                self._comm._progress.wait_for(waiter, self)
            self._note_wait(began_s)
        self._poster.unsettled.pop(self, None)
        if self._error is not None:
            raise self._error
        found: T = self._value
        return found

    def test(self) -> bool:
        """Tell whether it is over."""
        self._comm._progress.flow_that_asks("test", self._comm.name)
        return self.over

    def _note_wait(self, began_s: float) -> None:
        context, now_s = self._comm._context, perf_counter()
        if context.settings.trace and now_s - began_s > _WORTH_NOTING_S:
            peer = max(self._call.src, self._call.dst)
            origin_s = self._comm._origin_s
            context.recorder.waits.append(
                (self._call.verb, peer, began_s - origin_s, now_s - origin_s, self._comm.name)
            )


class PostedSend(Posted[None]):
    """A message that ``isend`` has begun to send.

    Parameters
    ----------
    comm : ProcessCommunicator
        On which.
    data : numpy.ndarray
        What.
    sent : Envelope
        What it says about itself.
    to : int
        The rank of the whole run that is to receive it.
    posted_s : float
        When ``isend`` was called, on the run's clock.
    """

    def __init__(
        self, comm: "ProcessCommunicator", data: Any, sent: Envelope, to: int, posted_s: float
    ) -> None:
        losses = comm._progress.losses_heard()
        super().__init__(comm, Call("isend", NOBODY, to, sent.tag, (), comm.name, losses))
        self._data, self._sent, self._to, self._posted_s = data, sent, to, posted_s

    def go(self, flow: Flow) -> None:
        """Send it."""
        comm = self._comm
        going = comm._sending(
            self._data, self._sent, self._to, self._posted_s, flow=flow, stamp=self._stamp
        )
        comm._progress.drive(flow, self._call, going, None)
        comm._record_send(self._sent, self._to, self._data.nbytes, self._posted_s)
        self._data = None

    def is_over(self) -> None:
        """Note that it is over; of what has been sent nobody has to ask."""
        super().is_over()
        if self._error is None:
            self._poster.unsettled.pop(self, None)


class PostedReceive(Posted[tuple[Any, Envelope]]):
    """A message that ``irecv`` receives.

    Parameters
    ----------
    comm : ProcessCommunicator
        On which.
    from_ : int
        The rank of the whole run that sends it.
    out : numpy.ndarray or None
        Where it is to be put.
    op : str or None
        How it is to be combined with what is there.
    tag : int or str or None
        The label that it must carry.

    Attributes
    ----------
    comm, src
        As above.
    """

    def __init__(
        self, comm: "ProcessCommunicator", from_: int, out: Any, op: str | None, tag: Tag
    ) -> None:
        losses = comm._progress.losses_heard()
        super().__init__(comm, Call("irecv", from_, NOBODY, tag, (), comm.name, losses))
        self.comm = comm
        self.src = from_
        self._coming = comm._receiving(from_, Wanted(comm._channel, self._stamp, tag, out, op))

    def go(self, flow: Flow) -> None:
        """Receive it."""
        comm = self._comm
        try:
            comm._progress.drive(flow, self._call, None, self._coming)
        finally:
            if self._coming.done:
                self._value = comm._taken(self.src, self._coming)
