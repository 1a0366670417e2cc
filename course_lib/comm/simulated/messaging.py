"""Messages of a simulated rank: what each verb does to the clocks, the NICs and the inboxes."""

import math
from collections import defaultdict, deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from greenlet import getcurrent
from numpy.typing import NDArray

from course_lib.comm.collective_order import CHECK_SUM
from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import PeerFinishedError
from course_lib.comm.messages import Envelope, Tag, check_match
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.groups import Group
from course_lib.comm.simulated.in_flight import ANY, InFlight
from course_lib.comm.simulated.posted import PostedReceive, PostedSend, hand_over, match

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["MessagingCommunicator"]

T = TypeVar("T")


class MessagingCommunicator(Communicator):
    """One rank's end of a communicator, as far as messages go: its inbox, and who may use it.

    Attributes
    ----------
    flow : Flow
        The function that uses it. In a communicator that was started, it is there as soon as this
        rank has called ``start``; the inbox is there before.
    run_rank : int
        The rank in the whole run.
    nic : Nic
        That rank's NIC, shared by all its communicators.
    listens_to : int or None
        The rank it waits to hear from, or ``ANY``.
    posted : dict of int to deque of PostedReceive
        What ``irecv`` has begun to receive from each rank, and what has not started yet.
    awaited_by : dict of MessagingCommunicator to None
        The peers that have ever waited to hear from this one; some may still.
    n_refused : int
        How many of the group's ``refusals`` it has been told.
    """

    __slots__ = (
        "awaited_by", "flow", "group", "inbox", "listens_to", "log", "mail", "message", "n_refused",
        "nic", "peers", "posted", "run_rank", "world",
    )  # fmt: skip
    flow: Flow

    def __init__(self, group: Group, rank: int, world: "EventLoop") -> None:
        super().__init__(
            rank, len(group.members), world.seed, group.name, group.members, world.sites
        )
        self.world, self._rates = world, world.rates
        self.group = group
        self.peers = group.comms
        self.run_rank = group.members[rank]
        self.nic = world.nics[self.run_rank]
        self.log = world.log
        self.mail = group.mail
        self.listens_to: int | None = None
        self.posted: dict[int, deque[PostedReceive]] = {}
        self.awaited_by: dict[MessagingCommunicator, None] = {}
        self.n_refused = 0
        self.inbox: defaultdict[int, deque[InFlight]] = defaultdict(deque)
        self.message: InFlight | None = None

    def _check_flow(self, verb: str) -> None:
        if getcurrent() is not self.flow.caller:
            self.world.refuse(self.flow, self, verb)

    # Messages

    def _post_send(
        self, message: InFlight, receiver: "MessagingCommunicator", now_s: float
    ) -> None:
        poster, nic = message.poster, self.nic
        if nic.sends_free_s > now_s:  # something else of this rank is leaving
            nic.enqueue(message, receiver)
            poster.sends_to = receiver._rank
            poster.open_parts += 1
            return
        hears, messages = receiver.listens_to, receiver.inbox[self._rank]
        if messages and messages[0] is not message:  # those before it have not been received
            hears = None
        elif receiver.posted and receiver.posted.get(self._rank):
            hand_over(message, receiver, now_s)
            return
        if hears == self._rank or hears == ANY:
            if messages:
                messages.popleft()
            free_s = self._transfer(message, receiver, now_s)
            receiver.listens_to = None
            receiver.message = message
            receiver.flow.wake(message.arrived_s)
            if messages:
                nic.release(messages, receiver)
        else:
            lay_there, is_behind = message.lies_there, False
            if not lay_there:
                if messages:  # small ones, too, leave after those before them
                    is_behind = messages[-1].arrived_s == math.inf
                messages.append(message)
                message.lies_there = True
            if is_behind or message.data.nbytes > self.world.eager_bytes:
                poster.sends_to = receiver._rank
                poster.open_parts += 1
                return
            free_s = self._transfer(message, receiver, now_s)
            if lay_there and messages:
                nic.release(messages, receiver)
        if free_s > poster.done_s:
            poster.done_s = free_s

    def _post_recv(self, src: int) -> None:
        flow = self.flow
        messages = self.inbox.get(src)
        if not messages:
            self.listens_to = src
            flow.open_parts += 1
            listeners = self.group.listeners if src == ANY else self.peers[src].awaited_by
            listeners[self] = None
            return
        message = messages[0]
        if message.arrived_s == math.inf:
            sender = message.sender
            if sender.nic.sends_free_s > flow.now_s:
                if not message.queued:
                    sender.nic.enqueue(message, self)
                self.listens_to = src
                flow.open_parts += 1
                return
            message.poster.sends_to = None
            message.poster.wake(sender._transfer(message, self, flow.now_s))
            sender.nic.release(messages, self)
        messages.popleft()
        self.message = message
        if message.arrived_s > flow.done_s:
            flow.done_s = message.arrived_s

    def _transfer(
        self, message: InFlight, receiver: "MessagingCommunicator", start_s: float
    ) -> float:
        """Let a message leave, from this rank: return when its NIC is free again."""
        n_bytes = message.data.nbytes
        world, nic, mail = self.world, receiver.nic, self.mail
        busy_s = n_bytes * world.beta_s_per_byte
        comes_s = start_s + world.alpha_s
        if nic.receives_free_s > comes_s:
            comes_s = nic.receives_free_s
        arrived_s = message.arrived_s = nic.receives_free_s = comes_s + busy_s
        free_s = self.nic.sends_free_s = start_s + busy_s
        if mail is not None:
            message.number = mail.add(
                self.run_rank, receiver.run_rank, message.sent, n_bytes,
                message.posted_s, free_s, arrived_s,
            )  # fmt: skip
        return free_s

    def _open_early(self, out: NDArray[Any] | None, op: str | None) -> None:
        """Put a message that is in the inbox already where it belongs.

        Nobody may look there before the verb is over. With a thousand ranks, the message would have
        left the processor's cache until then, and a thousand copies would wait in memory.
        """
        message = self.message
        if message is None or out is None:
            return
        data = message.data
        if data.dtype is not out.dtype or data.shape != out.shape:
            return  # to be looked at more closely
        if not (message.stamp ^ self._stamp) & CHECK_SUM:  # else it will be refused
            message.put_into(out, op)

    def _open(
        self, message: Any, out: NDArray[Any] | None, op: str | None, tag: Tag, stamp: int,
        now_s: float,
    ) -> tuple[NDArray[Any], Envelope]:  # fmt: skip
        """Compare a message with what was asked for, and put it where it belongs."""
        if self.mail is not None:
            self.mail.received_s[message.number] = now_s
        if (message.stamp ^ stamp) & CHECK_SUM:
            raise self._other_stamp(message.sender.run_rank, message.stamp, self._sites.known)
        if message.data is not out:  # else it has been opened early
            check_match(message.sent, message.sender.run_rank, self.run_rank, tag, out, self.name)
            if out is not None:
                message.put_into(out, op)
        if op is not None and message.trouble is not None:
            message.raise_trouble()
        return message.data, message.sent

    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        flow = self.flow
        flow.begin(self, "send", sent.tag)
        message = InFlight(data.copy(), sent, self, flow.now_s)
        self._post_send(message, self.peers[dst], flow.now_s)
        flow.end(self._members[dst])

    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        if self.posted and self.posted.get(src):  # this one comes after those
            return self._irecv(src, out, op, tag).wait()
        self.flow.begin(self, "recv", tag)
        self._post_recv(src)
        if tag is None:
            self._open_early(out, op)
        self.flow.end(self._members[src])
        message, self.message = self.message, None
        return self._open(message, out, op, tag, self._stamp, self.flow.now_s)

    def _sendrecv(
        self,
        data: NDArray[Any],
        sending: Envelope,
        dst: int,
        src: int,
        out: NDArray[Any] | None,
        op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:
        if self.posted and self.posted.get(src):
            coming = self._irecv(src, out, op, None)
            self._send(data, sending, dst)
            return coming.wait()
        flow = self.flow
        flow.begin(self, "sendrecv", sending.tag)
        going = InFlight(data.copy(), sending, self, flow.now_s)
        self._post_send(going, self.peers[dst], flow.now_s)
        self._post_recv(src)
        self._open_early(out, op)
        try:
            flow.end(self._members[src])
        except PeerFinishedError:
            message, self.message = self.message, None
            if message is not None:  # it has been received, or is refused
                self._open(message, out, op, None, self._stamp, flow.now_s)
            raise
        message, self.message = self.message, None
        return self._open(message, out, op, None, self._stamp, flow.now_s)

    def _isend(self, data: NDArray[Any], sent: Envelope, dst: int) -> Pending[None]:
        flow = self.flow
        flow.begin(self, "isend", sent.tag)
        posted = PostedSend(self, dst, sent.tag, flow.now_s)
        message = InFlight(data.copy(), sent, self, flow.now_s)
        message.poster = posted
        self._post_send(message, self.peers[dst], flow.now_s)
        return posted

    def _irecv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> Pending[tuple[NDArray[Any], Envelope]]:
        flow = self.flow
        flow.begin(self, "irecv", tag)
        posted = PostedReceive(self, src, tag, flow.now_s, out, op)
        self.posted.setdefault(src, deque()).append(posted)
        match(self, src, flow.now_s)
        return posted

    def _awaited_by_irecv(self) -> int | None:
        mine = (each for each in self.flow.unsettled if each.comm is self)
        return next((self._members[each.peer] for each in mine if each.verb == "irecv"), None)

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        flow = self.flow
        flow.begin(self, "recv_any")
        first = self._first()
        if first is not None and flow.now_s < first.arrived_s < math.inf:
            self._await_first(first)
            flow.done_s = flow.now_s
            first = self._first()
        self._post_recv(ANY if first is None else first.sender.rank)
        flow.end(None)
        message, self.message = self.message, None
        assert message is not None
        data, sent = self._open(message, None, None, None, self._stamp, flow.now_s)
        return message.sender.rank, data, sent

    def _await_first(self, first: InFlight) -> None:
        """Let the time pass until a message is there that arrives before all others so far."""
        # What is sent from now on cannot arrive earlier, but perhaps in the same instant.
        self.flow.advance(first.arrived_s)

    def _first(self) -> InFlight | None:
        """Find the message that arrives first, or was posted first if none has started."""
        heads = [messages[0] for messages in self.inbox.values() if messages]
        on_their_way = [head for head in heads if head.arrived_s < math.inf]
        if on_their_way:
            return min(on_their_way, key=attrgetter("arrived_s", "sender.rank"))
        return min(heads, key=attrgetter("posted_s", "sender.rank"), default=None)
