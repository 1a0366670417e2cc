"""One direction between two ranks: a ring of bytes that is used over and over.

The sender counts the bytes it has put in (the head), the receiver those it has taken out (the
tail); both only grow, and ``count % capacity`` is the place in the ring. The sender owns ``capacity
- (head - tail)`` bytes, the receiver the rest, so neither ever touches a byte of the other. Each
tells the other its counter through the other's mailbox.
"""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.messages import Envelope, Tag
from course_lib.comm.processes.header import LARGEST_HEADER, Header, aligned, unpack
from course_lib.comm.processes.mailbox import Mailbox

__all__ = ["Inlet", "Outlet", "Unexpected"]

Bytes = NDArray[np.uint8]
Unexpected = tuple[Header, NDArray[Any]]
"""A message that was taken out of its ring before anybody asked for it."""


def largest_step(capacity: int) -> int:
    """Return how many bytes go in or out at a time, so that both ends work at once."""
    return aligned(capacity // 4)


class Outlet:
    """The sender's end of a ring.

    Attributes
    ----------
    head : int
        Bytes put in so far.
    number : int
        Messages put in so far.
    last_tags : deque
        The tags of the last messages, for a warning if nobody receives them.
    """

    def __init__(self, rank: int, dst: int, ring: Bytes, mailbox: Mailbox) -> None:
        self.dst = dst
        self.head = 0
        self.number = 0
        self.last_tags: deque[Tag] = deque(maxlen=1_000)
        self.capacity = len(ring)
        self.largest_step = largest_step(len(ring))
        self._rank = rank
        self._ring = ring
        self._view = ring.data
        self._mailbox = mailbox

    def begin(self, header: bytes, tag: Tag) -> None:
        """Put in the header of the next message."""
        self.put(header)
        self.number += 1
        self.last_tags.append(tag)

    def put(self, data: memoryview | bytes) -> None:
        """Copy ``data`` in, which must not be more than there is room for, and pad it."""
        start = self.head % self.capacity
        first = min(len(data), self.capacity - start)
        self._view[start : start + first] = data[:first]
        if first < len(data):
            self._view[: len(data) - first] = data[first:]
        self.head += aligned(len(data))

    def publish(self) -> None:
        """Tell the receiver what has been put in."""
        self._mailbox.tell_head(self._rank, self.head)

    def stall(self) -> None:
        """Ask the receiver to make room."""
        self._mailbox.tell_stalled()


class Inlet:
    """The receiver's end of a ring.

    Attributes
    ----------
    tail : int
        Bytes taken out so far.
    received : int
        Messages received so far.
    unexpected : deque of Unexpected
        Messages taken out of the ring to make room, in order.
    """

    def __init__(self, rank: int, src: int, ring: Bytes, mailbox: Mailbox) -> None:
        self.src = src
        self.tail = 0
        self.received = 0
        self.unexpected: deque[Unexpected] = deque()
        self._number = 0
        self._largest_step = largest_step(len(ring))
        self._rank = rank
        self._ring = ring
        self._mailbox = mailbox

    def peek(self, head: int) -> Header | None:
        """Read the header of the next message in the ring; None if there is none yet."""
        if head <= self.tail:
            return None
        return unpack(self._copy(min(LARGEST_HEADER, head - self.tail)))

    def skip(self, n_bytes: int) -> None:
        """Step over bytes that have been read."""
        self.tail += aligned(n_bytes)

    def span(self, n_bytes: int) -> Bytes:
        """View the next bytes: up to ``n_bytes``, one step, or the ring's end."""
        start = self.tail % len(self._ring)
        return self._ring[start : start + min(n_bytes, self._largest_step)]

    def publish(self) -> None:
        """Tell the sender what has been taken out."""
        self._mailbox.tell_tail(self._rank, self.tail)

    def begin(self, header: Header) -> None:
        """Step behind the header of the next message, and tell a sender that waits for it."""
        self._number += 1
        assert header.number == self._number, "messages must arrive in the order they were sent"
        self.skip(header.length)
        if header.waits:
            self._mailbox.tell_accepted(self._rank, header.number)

    def set_aside(self, header: Header) -> None:
        """Take a message that is whole in the ring into memory of our own."""
        self.begin(header)
        array = new_array(header.sent)
        target = flat_bytes(array)
        done = 0
        while done < header.n_bytes:
            part = self.span(header.n_bytes - done)
            target[done : done + len(part)] = part
            done += len(part)
            self.skip(len(part))
        self.unexpected.append((header, array))

    def _copy(self, n_bytes: int) -> bytes:
        start = self.tail % len(self._ring)
        part = self._ring[start : start + n_bytes].tobytes()
        return part + self._ring[: n_bytes - len(part)].tobytes()


def new_array(sent: Envelope) -> NDArray[Any]:
    """Make an array for a message."""
    return np.empty(sent.shape, np.dtype(sent.dtype))


def flat_bytes(array: NDArray[Any]) -> Bytes:
    """View a C-contiguous array as bytes."""
    if array.nbytes == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1).view(np.uint8)
