"""A simulated rank on a network with shared or slow links, or with a schedule of faults.

It differs from its base in what happens to a message on its way, and in nothing else; on a plain
star without faults the base is used, which looks at none of this.
"""

import math
from collections import deque
from collections.abc import Callable
from heapq import heapify
from typing import Any, TypeVar

from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import SimulationError
from course_lib.comm.messages import Envelope
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.communicator import SimulatedCommunicator
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.in_flight import ANY, InFlight
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.simulated.routes import Route

__all__ = ["RoutedCommunicator"]

T = TypeVar("T")


class RoutedCommunicator(SimulatedCommunicator):
    """The end of a communicator whose messages take routes and may meet with faults.

    Attributes
    ----------
    first_so_far : InFlight or None
        In ``recv_any``, the message that is on its way and arrives before all others so far.
    """

    first_so_far: InFlight | None = None

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        try:
            return super()._recv_any()
        finally:
            self.first_so_far = None

    def _await_first(self, first: InFlight) -> None:
        self.first_so_far = first
        super()._await_first(first)
        self.first_so_far = None

    def _post_send(self, message: InFlight, receiver: MessagingCommunicator, now_s: float) -> None:
        receiver = self.peers[receiver.rank]  # it may have been started again in the meantime
        assert isinstance(receiver, RoutedCommunicator)
        hears_any = receiver.listens_to == ANY
        self._post_routed(message, receiver, now_s)
        first = receiver.first_so_far
        if hears_any and receiver.message is message:
            receiver.first_so_far = message
        elif first is not None and message.arrived_s < first.arrived_s:
            receiver._overtake(first, message)

    def _overtake(self, first: InFlight, message: InFlight) -> None:
        """In ``recv_any``, take a message that arrives before the one which was sent first."""
        messages = self.inbox[message.sender.rank]
        if messages[0] is not message:  # behind one that arrives later
            return
        if self.message is first:
            first.lies_there = True
            self.inbox[first.sender.rank].appendleft(first)
            self.message = messages.popleft()
        self.first_so_far = message
        _hurry(self.flow, message.arrived_s)

    def _post_routed(
        self, message: InFlight, receiver: MessagingCommunicator, now_s: float
    ) -> None:
        mishaps = self.world.mishaps
        if mishaps is not None and self.nic.sends_free_s <= now_s:
            if not hasattr(message, "fate"):
                message.fate = mishaps.fate(self, receiver, message, now_s)
            messages = receiver.inbox[self.rank]
            is_next = message.lies_there or not messages or messages[-1].arrived_s < math.inf
            if message.is_lost and is_next:
                self._lose(message, receiver, now_s)
                return
        super()._post_send(message, receiver, now_s)

    def _lose(self, message: InFlight, receiver: MessagingCommunicator, start_s: float) -> None:
        """Let a message leave that will never arrive."""
        free_s = start_s + self._route(receiver).out_s(message.data.nbytes)
        self.nic.sends_free_s = free_s
        message.poster.done_s = max(message.poster.done_s, free_s)
        self._log_message(message, receiver, free_s, math.inf)
        if message.lies_there:
            messages = receiver.inbox[self.rank]
            messages.remove(message)
            following = next((each for each in messages if each.arrived_s == math.inf), None)
            if following is not None and not following.queued:  # somebody may wait for it
                self.nic.enqueue(following, receiver)

    def _transfer(
        self, message: InFlight, receiver: MessagingCommunicator, start_s: float
    ) -> float:
        mishaps = self.world.mishaps
        late_s = 0.0
        if mishaps is not None:
            late_s = message.fate.late_s + mishaps.held_back_s(self, receiver, start_s)
        free_s = self._carry(message, receiver, start_s, late_s)
        self.nic.sends_free_s = free_s
        if mishaps is not None and message.fate.is_doubled:
            self._deliver_again(message, receiver, start_s, late_s)
        return free_s

    def _carry(
        self, message: InFlight, receiver: MessagingCommunicator, start_s: float, late_s: float
    ) -> float:
        route = self._route(receiver)
        free_s, message.arrived_s = route.carry(message.data.nbytes, start_s, late_s)
        self._log_message(message, receiver, free_s, message.arrived_s)
        return free_s

    def _deliver_again(
        self, message: InFlight, receiver: MessagingCommunicator, start_s: float, late_s: float
    ) -> None:
        """Put a copy of a message, which has just started, right behind it, before all others."""
        copy = InFlight(message.data.copy(), message.sent, self, message.posted_s)
        copy.fate, copy.stamp = message.fate, message.stamp
        self._carry(copy, receiver, start_s, late_s)
        copy.lies_there = True
        messages = receiver.inbox.setdefault(self.rank, deque())
        place = messages.index(message) + 1 if message in messages else 0
        messages.insert(place, copy)

    def _route(self, receiver: MessagingCommunicator) -> Route:
        assert self.world.routes is not None
        return self.world.routes.between(self.run_rank, receiver.run_rank)

    def _log_message(
        self, message: InFlight, receiver: MessagingCommunicator, free_s: float, arrived_s: float
    ) -> None:
        if self.mail is not None:
            message.number = self.mail.add(
                self.run_rank, receiver.run_rank, message.sent, message.data.nbytes,
                message.posted_s, free_s, arrived_s,
            )  # fmt: skip

    def _split(self, color: int | None, key: int) -> Communicator | None:
        self._refuse_if_reborn("split")
        return super()._split(color, key)

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        self._refuse_if_reborn("start")
        return super()._start(fn, args)

    def _refuse_if_reborn(self, verb: str) -> None:
        mishaps = self.world.mishaps
        if mishaps is not None and self.run_rank in mishaps.reborn:
            raise SimulationError(
                f"rank {self.run_rank} called {verb}() after it had crashed and was started again; "
                f"the others called their {verb}() in its former life: it may send, receive and "
                "meet in barriers",
                rank=self.run_rank,
            )


def _hurry(flow: Flow, done_s: float) -> None:
    """Let a verb that is settled end sooner than it would have."""
    flow.now_s = min(flow.now_s, done_s)
    flow.done_s = done_s
    place = next(k for k, waiting in enumerate(flow.heap) if waiting[3] is flow)
    flow.heap[place] = (done_s, flow.rank, flow.number, flow)
    heapify(flow.heap)
