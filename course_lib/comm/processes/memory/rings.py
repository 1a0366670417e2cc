"""One direction between two ranks: a ring of bytes that is used over and over.

The sender counts the bytes it has put in (the head), the receiver those it has taken out (the
tail); both only grow, and ``count % capacity`` is the place in the ring. The sender owns ``capacity
- (head - tail)`` bytes, the receiver the rest, so neither ever touches a byte of the other. Each
tells the other its counter through the other's mailbox.
"""

from collections import defaultdict, deque
from typing import Any

import numpy as np

from course_lib.comm.messages import Envelope
from course_lib.comm.processes.memory.header import (
    FIXED,
    FIXED_PART,
    MAGIC,
    WAITS,
    Header,
    aligned,
    pack_into,
    understand,
    unpack,
)
from course_lib.comm.processes.memory.mailbox import Mailbox
from course_lib.comm.processes.memory.unexpected import Bytes, Unexpected
from course_lib.comm.processes.memory.wait_board import WaitBoard

__all__ = ["Inlet", "Outlet"]

Small = tuple[Envelope, np.dtype[Any], int, int, int]
"""What a message says about itself, its dtype, where its payload lies, its length, its stamp."""

_LARGE_RING = 256 * 1024


def largest_step(capacity: int) -> int:
    """Return how many bytes go in or out at a time, so that both ends work at once."""
    return aligned(capacity // 4)


class Outlet:
    """The sender's end of a ring.

    Attributes
    ----------
    head : int
        Bytes put in so far.
    tail : int
        Bytes taken out by the receiver, as far as this end knows.
    busy : bool
        Whether it is in the middle of a message.
    """

    __slots__ = (
        "_mailbox", "_rank", "_view", "busy", "capacity", "dst", "head", "largest_step", "tail",
    )  # fmt: skip

    def __init__(self, rank: int, dst: int, ring: Bytes, mailbox: Mailbox) -> None:
        self.dst = dst
        self.head = 0
        self.tail = 0
        self.busy = False
        self.capacity = len(ring)
        self.largest_step = largest_step(len(ring))
        self._rank = rank
        self._view = ring.data
        self._mailbox = mailbox

    def room(self) -> int:
        """Count the bytes that may be put in."""
        return self.capacity - (self.head - self.tail)

    def begin(self, header: Header, description: bytes) -> None:
        """Put in the header of the next message."""
        pack_into(self._view, self.head % self.capacity, header)
        self.head += FIXED
        self.put(description)

    def put(self, data: memoryview | bytes) -> None:
        """Copy ``data`` in, which must not be more than there is room for, and pad it."""
        n_bytes = len(data)
        start = self.head % self.capacity
        if start + n_bytes <= self.capacity:
            self._view[start : start + n_bytes] = data
        else:
            first = self.capacity - start
            self._view[start:] = data[:first]
            self._view[: n_bytes - first] = data[first:]
        self.head += aligned(n_bytes)

    def put_small(
        self, data: bytes, description: bytes, channel: int, number: int, posted_s: float,
        stamp: int,
    ) -> bool:  # fmt: skip
        """Put in a whole message in one piece and tell the receiver; False if it does not fit so.

        This is ``begin`` and ``put`` for the message of most runs, without their cases.
        """
        n_bytes, n_description = len(data), len(description)
        payload = FIXED + (n_description + 63 & -64)
        needed = payload + (n_bytes + 63 & -64)
        start = self.head % self.capacity
        fits = start + needed <= self.capacity and self.capacity - self.head + self.tail >= needed
        if self.busy or not fits:
            return False
        view = self._view
        FIXED_PART.pack_into(
            view, start, MAGIC, n_description, 0, 0, channel, number, n_bytes, posted_s, stamp
        )
        view[start + FIXED : start + FIXED + n_description] = description
        view[start + payload : start + payload + n_bytes] = data
        self.head += needed
        self._mailbox.tell_head(self._rank, self.head)
        return True

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
    head : int
        Bytes put in by the sender, as far as this end knows.
    tail : int
        Bytes taken out so far.
    busy : bool
        Whether somebody is in the middle of receiving a message from it.
    ring : numpy.ndarray of uint8
        Its memory.
    parcels : dict of deque of Unexpected
        Messages taken out of the ring before they were asked for, by channel, in order.
    """

    __slots__ = (
        "_board", "_capacity", "_largest_step", "_mailbox", "_next", "_patience", "_rank", "_taken",
        "_told", "_unfinished", "_view", "busy", "head", "parcels", "ring", "src", "tail",
    )  # fmt: skip

    def __init__(
        self, rank: int, src: int, ring: Bytes, mailbox: Mailbox, board: WaitBoard
    ) -> None:  # fmt: skip
        self.src = src
        self.head = 0
        self.tail = 0
        self.busy = False
        self.parcels: dict[int, deque[Unexpected]] = defaultdict(deque)
        self._next: Header | None = None
        self._unfinished: Unexpected | None = None
        self._rank = rank
        self.ring = ring
        self._view = ring.data
        self._capacity = len(ring)
        self._largest_step = largest_step(len(ring))
        # While most of a large ring is free, its sender need not hear of every small message.
        self._patience = len(ring) // 8 if len(ring) >= _LARGE_RING else 0
        self._told = 0
        self._taken = 0  # the channel of the message that is being taken out, or was last
        self._mailbox = mailbox
        self._board = board

    @property
    def is_empty(self) -> bool:
        """Whether all that is known to be in the ring has been taken out."""
        return self.head == self.tail

    def peek(self) -> Header | None:
        """Read the header of the next message in the ring; None if there is none yet."""
        if self._next is None and self.head > self.tail:
            self._next = unpack(self._view, self.tail % self._capacity)
        return self._next

    def peek_sent(self, header: Header) -> Envelope:
        """Read what the next message, whose header this is, says about itself."""
        start = (self.tail + FIXED) % self._capacity
        n_bytes = header.n_description
        part = bytes(self._view[start : start + n_bytes])
        return understand(part + bytes(self._view[: n_bytes - len(part)]))[0]

    def peek_small(self, channel: int) -> Small | None:
        """Find the next message if it is small, of this channel, and in one piece in the ring."""
        if (
            self.busy
            or self._unfinished is not None
            or (self.parcels and self.parcels.get(channel))
        ):
            return None
        start = self.tail % self._capacity
        _, n_description, flags, _, its_channel, _, n_bytes, _, stamp = FIXED_PART.unpack_from(
            self._view, start
        )
        payload = start + FIXED + (n_description + 63 & -64)
        end = payload + (n_bytes + 63 & -64)
        if flags & WAITS or its_channel != channel or end > self._capacity:
            return None
        description = bytes(self._view[start + FIXED : start + FIXED + n_description])
        return *understand(description), payload, end - start, stamp

    def skip_small(self, length: int) -> None:
        """Step behind a message that ``peek_small`` has found and that has been read."""
        self._next = None
        self.tail += length
        if self.tail - self._told > self._patience:
            self.publish()

    def begin(self, header: Header) -> None:
        """Step behind the header of the next message."""
        self._next = None
        self._taken = header.channel
        self.tail += FIXED + aligned(header.n_description)

    def accept(self, header: Header) -> None:
        """Tell a sender that waits for it that its message is being received."""
        if header.waits:
            self._board.accept(self.src, header.flow, header.number)
            self._mailbox.tell_accepted(self._rank)

    def span(self, n_bytes: int) -> Bytes:
        """View the next bytes: up to ``n_bytes``, one step, the ring's end, or what is there."""
        start = self.tail % self._capacity
        there = self.head - self.tail
        return self.ring[start : start + min(n_bytes, self._largest_step, there)]

    def skip(self, n_bytes: int) -> None:
        """Step over bytes that have been read."""
        self.tail += aligned(n_bytes)

    def publish(self, patience: int | None = None) -> None:
        """Tell the sender what has been taken out, if that is more than it may have to know."""
        if self.tail - self._told > (self._patience if patience is None else patience):
            self._told = self.tail
            self._mailbox.tell_tail(self._rank, self.tail)

    def set_aside(self) -> bool:
        """Take the next message, or more of it, into memory of our own.

        Returns
        -------
        bool
            Whether anything moved.
        """
        parcel, moved = self._unfinished, False
        if parcel is None:
            header = self.peek()
            if header is None:
                return False
            parcel = self._unfinished = Unexpected(header, self.peek_sent(header))
            self.begin(header)
            self.parcels[header.channel].append(parcel)
            moved = True
        moved = parcel.take_from(self) or moved
        if parcel.whole:
            self._unfinished = None
        if moved:
            self.publish(0)
        return moved

    def readable(self) -> int | None:
        """Return the channel that the next bytes in the ring are for; None if there are none."""
        if self.head == self.tail:
            return None
        if not self.between_messages:
            return self._taken
        header = self.peek()
        return None if header is None else header.channel

    @property
    def between_messages(self) -> bool:
        """Whether the next byte in the ring is that of a header."""
        return self._unfinished is None and not self.busy
