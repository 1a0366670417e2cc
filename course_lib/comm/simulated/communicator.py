"""The verbs of a simulated rank: what each does to the clocks, the cards and the heap."""

import math
from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from greenlet import getcurrent
from numpy.typing import NDArray

from course_lib.comm.collective_order import differ
from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import PeerFinishedError
from course_lib.comm.messages import Envelope, Tag, check_match
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.groups import Group
from course_lib.comm.simulated.in_flight import ANY, InFlight
from course_lib.comm.simulated.started import Started

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["SimulatedCommunicator"]

T = TypeVar("T")


class SimulatedCommunicator(Communicator):
    """One rank's end of a communicator: its inbox there, and the flow that may use it.

    Attributes
    ----------
    flow : Flow
        The function that uses it. In a communicator that was started, it is there as soon as this
        rank has called ``start``; the inbox is there before.
    run_rank : int
        The rank in the whole run.
    card : Card
        That rank's network card, shared by all its communicators.
    listens_to : int or None
        The rank it waits to hear from, or ``ANY``.
    sends_to : int or None
        The rank that has not yet posted the receive of what this one sends.
    awaited_by : dict of SimulatedCommunicator to None
        The peers that have ever waited to hear from this one; some may still.
    n_refused : int
        How many of the group's ``refusals`` it has been told.
    """

    flow: Flow

    def __init__(self, group: Group, rank: int, world: "EventLoop") -> None:
        super().__init__(
            rank, len(group.members), world.seed, group.name, group.members, world.sites
        )
        self.world, self._rates = world, world.rates
        self.group = group
        self.peers = group.comms
        self.run_rank = group.members[rank]
        self.card = world.cards[self.run_rank]
        self.log = world.log
        self.mail = group.mail
        self.listens_to: int | None = None
        self.sends_to: int | None = None
        self.awaited_by: dict[SimulatedCommunicator, None] = {}
        self.n_refused = 0
        self.inbox: defaultdict[int, deque[InFlight]] = defaultdict(deque)
        self.message: InFlight | None = None

    def _check_flow(self, verb: str) -> None:
        if getcurrent() is not self.flow.caller:
            self.world.refuse(self.flow, self, verb)

    # Messages

    def _post_send(
        self, message: InFlight, receiver: "SimulatedCommunicator", now_s: float
    ) -> None:
        flow, card = self.flow, self.card
        if card.sends_free_s > now_s:  # another flow of this rank is sending
            card.enqueue(message, receiver)
            self.sends_to = receiver._rank
            flow.open_parts += 1
            return
        hears = receiver.listens_to
        if hears == self._rank or hears == ANY:
            free_s = self._transfer(message, receiver, now_s)
            receiver.listens_to = None
            receiver.message = message
            receiver.flow.wake(message.arrived_s)
        else:
            receiver.inbox[self._rank].append(message)
            if message.data.nbytes > self.world.eager_bytes:
                self.sends_to = receiver._rank
                flow.open_parts += 1
                return
            free_s = self._transfer(message, receiver, now_s)
        if free_s > flow.done_s:
            flow.done_s = free_s

    def _post_recv(self, src: int) -> None:
        flow = self.flow
        messages = self.inbox.get(src)
        if not messages:
            self.listens_to = src
            flow.open_parts += 1
            listeners = self.group.listeners if src == ANY else self.peers[src].awaited_by
            listeners[self] = None
            return
        message = messages.popleft()
        if message.arrived_s == math.inf:
            sender = message.sender
            if sender.card.sends_free_s > flow.now_s:
                sender.card.enqueue(message, self)
                self.listens_to = src
                flow.open_parts += 1
                return
            sender.sends_to = None
            sender.flow.wake(sender._transfer(message, self, flow.now_s))
        self.message = message
        if message.arrived_s > flow.done_s:
            flow.done_s = message.arrived_s

    def _transfer(
        self, message: InFlight, receiver: "SimulatedCommunicator", start_s: float
    ) -> float:
        """Let a message leave, from this rank: return when its card is free again."""
        n_bytes = message.data.nbytes
        world, card, mail = self.world, receiver.card, self.mail
        busy_s = n_bytes * world.beta_s_per_byte
        comes_s = start_s + world.alpha_s
        if card.receives_free_s > comes_s:
            comes_s = card.receives_free_s
        arrived_s = message.arrived_s = card.receives_free_s = comes_s + busy_s
        free_s = self.card.sends_free_s = start_s + busy_s
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
        if message is None or out is None or not message.fits(out):
            return
        if message.stamp != self._stamp and differ(message.stamp, self._stamp):
            return  # it will be refused when it arrives
        message.put_into(out, op)

    def _take(
        self, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        """Open the message that has been received."""
        message, self.message = self.message, None
        assert message is not None
        if self.mail is not None:
            self.mail.received_s[message.number] = self.flow.now_s
        if message.stamp != self._stamp and differ(message.stamp, self._stamp):
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
        self.flow.begin(self, "recv", tag)
        self._post_recv(src)
        if tag is None:
            self._open_early(out, op)
        self.flow.end(self._members[src])
        return self._take(out, op, tag)

    def _sendrecv(
        self,
        data: NDArray[Any],
        sending: Envelope,
        dst: int,
        src: int,
        out: NDArray[Any] | None,
        op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:
        flow = self.flow
        flow.begin(self, "sendrecv", sending.tag)
        message = InFlight(data.copy(), sending, self, flow.now_s)
        self._post_send(message, self.peers[dst], flow.now_s)
        self._post_recv(src)
        self._open_early(out, op)
        try:
            flow.end(self._members[src])
        except PeerFinishedError:
            if self.message is not None:  # it has been received, or is refused
                self._take(out, op, None)
            raise
        return self._take(out, op, None)

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        flow = self.flow
        flow.begin(self, "recv_any")
        first = self._first()
        if first is not None and flow.now_s < first.arrived_s < math.inf:
            # What is sent from now on cannot arrive earlier, but perhaps in the same instant.
            flow.advance(first.arrived_s)
            flow.done_s = flow.now_s
            first = self._first()
        self._post_recv(ANY if first is None else first.sender.rank)
        flow.end(None)
        assert self.message is not None
        src = self.message.sender.rank
        data, sent = self._take(None, None, None)
        return src, data, sent

    def _first(self) -> InFlight | None:
        """Find the message that arrives first, or was posted first if none has started."""
        heads = [messages[0] for messages in self.inbox.values() if messages]
        on_their_way = [head for head in heads if head.arrived_s < math.inf]
        if on_their_way:
            return min(on_their_way, key=attrgetter("arrived_s", "sender.rank"))
        return min(heads, key=attrgetter("posted_s", "sender.rank"), default=None)

    # What all ranks enter together

    def _barrier(self) -> None:
        self.group.meeting.enter(self, "barrier", None, lambda offers: [None] * len(offers))

    def _split(self, color: int | None, key: int) -> Communicator | None:
        divide = partial(self.group.divide, self.world, self._n_splits)
        part: Communicator | None = self.group.meeting.enter(self, "split", (color, key), divide)
        return part

    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        array: NDArray[Any] = self.group.meeting.enter(
            self, "shared_array", (shape, dtype), self.group.share
        )
        return array

    # What runs beside

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        self.flow.begin(self, "start")
        self._n_started += 1
        name = f"{self.name}/start {self._n_started}"
        group = self.group.children.get(name)
        if group is None:  # this rank is the first to start it
            group = self.world.open(name, self._members, self.group, n_running=self.size)
        child = group.comms[self.rank]
        flow = self.world.add_flow(child, lambda child: fn(child, *args), self.flow.now_s)
        self.flow.start_beside(flow)
        return Started(child, self)

    # What only this rank sees

    def _computed(self, label: str, flops: float, started_s: float) -> None:
        self.flow.begin(self, "compute")
        self.flow.advance(started_s + flops / self.world.flops_per_s[self.run_rank])
        if self.log is not None:
            self.log.computes.append((self.run_rank, label, flops, started_s, self.flow.now_s))

    def _note(self, name: str, value: Any) -> None:
        now_s = self._clock()
        if self.log is not None:
            self.log.notes.append((self.run_rank, name, value, now_s))

    def _clock(self) -> float:
        here = getcurrent()
        if here is not self.flow and isinstance(here, Flow):
            self.world.refuse(self.flow, self, "clock")  # its own time would be another one
        return self.flow.now_s

    def _collective(self, name: str, number: int, entered_s: float) -> None:
        if self.log is not None:
            self.log.collectives.append(
                (self.run_rank, name, number, entered_s, self.flow.now_s, self.name)
            )
