"""The NIC of a rank: when each of its sides is free, and what waits for the sending side.

A rank that does one thing at a time finds its NIC free whenever it sends, because ``send`` returns
no earlier. Only what ``isend`` has begun, and functions that were started beside each other, can
get in each other's way.
"""

import math
from collections import deque
from collections.abc import Iterable
from functools import partial
from heapq import heappush
from typing import TYPE_CHECKING, Any

from greenlet import greenlet

from course_lib.comm.simulated.in_flight import InFlight

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop
    from course_lib.comm.simulated.flow import Flow
    from course_lib.comm.simulated.messaging import MessagingCommunicator
    from course_lib.comm.simulated.posted import Posted

__all__ = ["Nic"]


class Nic:
    """One rank's NIC. It sends and receives at the same time, and one message after the other.

    Attributes
    ----------
    sends_free_s, receives_free_s : float
        When its sending and its receiving side are free; infinite while messages queue to be sent.
    """

    __slots__ = ("_is_serving", "_queue", "_rank", "_world", "receives_free_s", "sends_free_s")

    def __init__(self, rank: int, world: "EventLoop") -> None:
        self._rank = rank
        self._world = world
        self._queue: deque[tuple[InFlight, MessagingCommunicator]] = deque()
        self._is_serving = False
        self.sends_free_s = self.receives_free_s = 0.0

    def enqueue(self, message: InFlight, receiver: "MessagingCommunicator") -> None:
        """Keep a message, in an open part of its sender's verb, until those before it have left."""
        if not (self._queue or self._is_serving):
            self._serve_at(self.sends_free_s)
        message.queued = True
        self._queue.append((message, receiver))

    def release(self, messages: Iterable[InFlight], receiver: "MessagingCommunicator") -> None:
        """Let messages leave that lie behind one which has just left, up to the next large one."""
        for message in messages:
            if message.arrived_s == math.inf and not message.queued:
                if message.data.nbytes > self._world.eager_bytes and not message.is_lost:
                    return
                self.enqueue(message, receiver)

    def cancel(self, poster: "Flow | Posted[Any]") -> None:
        """Let go of what one has put there that has not left."""
        self._queue = deque(entry for entry in self._queue if entry[0].poster is not poster)

    def forget(self) -> None:
        """Let go of what has not left: this rank has crashed."""
        self._queue.clear()

    def _serve_at(self, free_s: float) -> None:
        """Go on with the queue when this side is free, before the rank's flows have their turn."""
        serve = greenlet(partial(self._serve, free_s), self._world.loop)
        heappush(self._world.heap, (free_s, self._rank, -1, serve))
        self.sends_free_s = math.inf

    def _serve(self, now_s: float) -> None:
        self.sends_free_s, self._is_serving = now_s, True
        while self._queue and self.sends_free_s <= now_s:
            message, receiver = self._queue.popleft()
            message.queued = False
            poster = message.poster
            poster.sends_to = None
            message.sender._post_send(message, receiver, now_s)
            poster.wake(now_s)  # for the part that was open while it was in the queue
        self._is_serving = False
        if self._queue:
            self._serve_at(self.sends_free_s)
