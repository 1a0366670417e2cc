"""A message that ``isend`` or ``irecv`` has begun: it goes on while its rank does other things."""

import math
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from course_lib.comm.errors import RunError
from course_lib.comm.messages import Envelope, Tag
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.in_flight import InFlight

if TYPE_CHECKING:
    from course_lib.comm.simulated.messaging import MessagingCommunicator

__all__ = ["Posted", "PostedReceive", "PostedSend", "hand_over", "match"]

T = TypeVar("T")


class Posted(Pending[T]):
    """What a flow has begun and not yet waited for; it is settled as the verb of a flow is.

    Attributes
    ----------
    comm : MessagingCommunicator
        On which it was begun.
    verb : str
        ``"isend"`` or ``"irecv"``.
    peer : int
        The rank in that communicator that it is sent to, or comes from.
    tag : int or str or None
        The label.
    open_parts : int
        1 while it waits for somebody, else 0.
    done_s : float
        When it is over, once nothing is open.
    hears, sends_to : int or None
        Whom it waits to hear from; who has not yet posted the receive of what it sends.
    waiters : list of Flow
        Who is in its ``wait``.
    error : RunError or None
        Why it will never be over.
    """

    verb = ""

    def __init__(self, comm: "MessagingCommunicator", peer: int, tag: Tag, now_s: float) -> None:
        self.comm = comm
        self.peer = peer
        self.tag = tag
        self.open_parts = 0
        self.done_s = now_s
        self.hears: int | None = None
        self.sends_to: int | None = None
        self.waiters: list[Flow] = []
        self.error: RunError | None = None
        self.arriving: InFlight | None = None
        self._is_settled = False
        self._poster = comm.flow
        self._poster.unsettled[self] = None

    def wake(self, done_s: float) -> None:
        """Settle its open part, and with that the waits for it."""
        if done_s > self.done_s:
            self.done_s = done_s
        self.open_parts -= 1
        if not self.open_parts:
            for waiter in self.waiters:
                waiter.wake(self.done_s)
            self.waiters.clear()

    def wait(self) -> T:
        """Wait until it is over; return what it came to, however often asked."""
        flow = self._poster.that_asks("wait")
        flow.begin(self.comm, "wait", self.tag)
        if not self._is_settled:
            self._wait_in(flow)
        self._poster.unsettled.pop(self, None)
        if self.error is not None:
            raise self.error
        found: T = self._result()
        return found

    def _wait_in(self, flow: Flow) -> None:
        flow.awaits = self
        try:
            if self.error is None:
                flow.wait_for_message(self)
        finally:
            flow.awaits = None
        self._settle()

    def test(self) -> bool:
        """Tell whether it is over; who asks again at the same instant lets time go on."""
        flow = self._poster.that_asks("test")
        flow.begin(self.comm, "test", self.tag)
        if not self._is_over(flow):
            known_s = None if self.open_parts else self.done_s
            if not flow.poll(self, lambda: self._is_over(flow), known_s):
                self._wait_in(flow)  # for ever, and it is told why
        return self._is_over(flow)

    def _is_over(self, flow: Flow) -> bool:
        return self.error is not None or not (self.open_parts or self.done_s > flow.now_s)

    @property
    def is_unread(self) -> bool:
        """Whether it has a message that nobody has looked at."""
        return False

    def _settle(self) -> None:
        self._is_settled = True

    def _result(self) -> Any:
        return None

    def withdraw(self, error: RunError, now_s: float) -> None:  # noqa: ARG002
        """Take it back: who waits for it raises ``error``."""
        self.error = error
        self.open_parts = 0
        self.hears = self.sends_to = None


class PostedSend(Posted[None]):
    """A message that ``isend`` has begun to send."""

    verb = "isend"

    def withdraw(self, error: RunError, now_s: float) -> None:
        """Take the message back, which lies where nobody will receive it."""
        receiver, nic = self.comm.peers[self.peer], self.comm.nic
        inbox = receiver.inbox[self.comm.rank]
        inbox.remove(next(message for message in inbox if message.poster is self))
        super().withdraw(error, now_s)
        nic.sends_free_s = max(nic.sends_free_s, now_s)
        nic.release(inbox, receiver)


class PostedReceive(Posted[tuple[Any, Envelope]]):
    """A message that ``irecv`` will receive.

    Parameters
    ----------
    comm : MessagingCommunicator
        On which.
    peer : int
        From which rank of it.
    tag : int or str or None
        The label that it must carry.
    now_s : float
        The time.
    out : numpy.ndarray or None
        Where it is to be put.
    op : str or None
        How it is to be combined with what is there.

    Attributes
    ----------
    arriving : InFlight or None
        Its message, while that is on its way or nobody has looked at it.
    """

    verb = "irecv"

    def __init__(
        self, comm: "MessagingCommunicator", peer: int, tag: Tag, now_s: float, out: Any,
        op: str | None,
    ) -> None:  # fmt: skip
        super().__init__(comm, peer, tag, now_s)
        self.open_parts = 1
        self.hears = peer
        self._out, self._op = out, op
        self._context = copy_context()  # NumPy's errstate holds for it, whoever waits for it
        self._stamp = comm._stamp
        self._found: Any = None
        self._refusal: Exception | None = None

    def take(self, message: InFlight) -> None:
        """Get the message, which has just started."""
        self.arriving = message
        self.hears = None
        self.wake(message.arrived_s)

    @property
    def is_unread(self) -> bool:
        """Whether its message is on its way or there, and nobody has looked."""
        return self.arriving is not None

    def _settle(self) -> None:
        """Open the message, the first time that somebody looks when it is there."""
        super()._settle()
        message, self.arriving = self.arriving, None
        if message is None:
            return
        try:
            self._found = self._context.run(
                self.comm._open, message, self._out, self._op, self.tag, self._stamp, self.done_s
            )
        except Exception as refusal:
            self._refusal = refusal.with_traceback(None)

    def _result(self) -> tuple[Any, Envelope]:
        if self._refusal is not None:
            raise self._refusal
        found: tuple[Any, Envelope] = self._found
        return found

    def withdraw(self, error: RunError, now_s: float) -> None:
        """Receive it no more."""
        self.comm.posted[self.peer].remove(self)
        super().withdraw(error, now_s)


def hand_over(message: InFlight, receiver: "MessagingCommunicator", now_s: float) -> None:
    """Let a message leave for a receive that ``irecv`` has posted; then see to those behind it."""
    sender, src = message.sender, message.sender.rank
    messages = receiver.inbox.get(src)
    if messages:
        messages.popleft()
    free_s = sender._transfer(message, receiver, now_s)
    message.poster.done_s = max(message.poster.done_s, free_s)
    receiver.posted[src].popleft().take(message)
    if messages:
        sender.nic.release(messages, receiver)
    match(receiver, src, now_s)


def match(receiver: "MessagingCommunicator", src: int, now_s: float) -> None:
    """Give what lies in an inbox to the receives that ``irecv`` has posted, in order."""
    waiting, messages = receiver.posted[src], receiver.inbox.get(src)
    while waiting and messages:
        message = messages[0]
        if message.arrived_s == math.inf:
            if message.queued:
                return
            sender, poster = message.sender, message.poster
            if sender.nic.sends_free_s > now_s:
                sender.nic.enqueue(message, receiver)
                return
            poster.sends_to = None
            poster.wake(sender._transfer(message, receiver, now_s))
            sender.nic.release(messages, receiver)
        messages.popleft()
        waiting.popleft().take(message)
