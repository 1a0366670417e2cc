"""Rings whose ends may be lost and come back: each end knows which incarnations it joins.

A ring counts the bytes that were ever put in and taken out. Here the counts of each pair of
incarnations begin at a number of their own, so an end ignores what an earlier one has told it. Who
lives on begins anew as soon as it hears of a loss, and what lay in the rings to and from the lost
rank is dropped. A rank that is new puts nothing into a ring before its reader has said, by the
count of the bytes taken out, that it reads from the new beginning: until then it may still be
copying what the former incarnation had left.
"""

from typing import TYPE_CHECKING, Any

from course_lib.comm.processes.memory.layout import Channels, total_bytes
from course_lib.comm.processes.memory.mailbox import Mailbox
from course_lib.comm.processes.memory.rings import Inlet, Outlet
from course_lib.comm.processes.memory.roll import Life, MarkedLock, Roll
from course_lib.comm.processes.memory.unexpected import Bytes
from course_lib.comm.processes.memory.wait_board import WaitBoard

if TYPE_CHECKING:
    from course_lib.comm.processes.memory.renewed_receiving import RenewedReceiving
    from course_lib.comm.processes.worker.setup import Shared

__all__ = ["RenewedChannels", "RenewedInlet", "RenewedOutlet"]

_PAIR_AT = 48  # bits: counts below that are 256 TiB, more than a run can move
_MOST_INCARNATIONS = 128


def _beginning(src_incarnation: int, dst_incarnation: int) -> int:
    """Return the number at which the counts of two incarnations begin."""
    return (src_incarnation * _MOST_INCARNATIONS + dst_incarnation) << _PAIR_AT


class RenewedOutlet(Outlet):
    """The sender's end of a ring, which may begin anew."""

    __slots__ = ("_pair", "_tail")

    def __init__(self, rank: int, dst: int, ring: Bytes, mailbox: Mailbox) -> None:
        self._pair = self._tail = 0
        super().__init__(rank, dst, ring, mailbox)

    def begin_anew(self, incarnation: int, dst_incarnation: int, *, may_write: bool) -> None:
        """Join two incarnations; with ``may_write`` at once, else when the reader has said so."""
        start = _beginning(incarnation, dst_incarnation)
        self._pair = start >> _PAIR_AT
        self.head, self.busy = start, False
        self._tail = start if may_write else start - self.capacity

    @property
    def tail(self) -> int:
        """Bytes taken out by the receiver, of this pair of incarnations."""
        return self._tail

    @tail.setter
    def tail(self, count: int) -> None:
        if count >> _PAIR_AT == self._pair:
            self._tail = count


class RenewedInlet(Inlet):
    """The receiver's end of a ring, which may begin anew.

    Attributes
    ----------
    left : RenewedReceiving or None
        A message whose receiver has given up in the middle; the rest of it goes nowhere.
    """

    __slots__ = ("_head", "_pair", "left")

    def __init__(
        self, rank: int, src: int, ring: Bytes, mailbox: Mailbox, board: WaitBoard
    ) -> None:  # fmt: skip
        self._pair = self._head = 0
        self.left: RenewedReceiving | None = None
        super().__init__(rank, src, ring, mailbox, board)

    def begin_anew(self, src_incarnation: int, incarnation: int) -> None:
        """Join two incarnations; let go of all that lay in the ring."""
        start = _beginning(src_incarnation, incarnation)
        self._pair = start >> _PAIR_AT
        self._head = self.tail = self._told = start
        self.left = self._next = self._unfinished = None
        self.busy = False
        self.parcels.clear()
        self._mailbox.tell_tail(self._rank, start)

    @property
    def head(self) -> int:
        """Bytes put in by the sender, of this pair of incarnations."""
        return self._head

    @head.setter
    def head(self, count: int) -> None:
        if count >> _PAIR_AT == self._pair:
            self._head = count

    def drain(self) -> None:
        """Take out all that there is of a message that its receiver has given up.

        All: its sender may have put in the rest and returned, and then nothing wakes the receiver
        for another look.
        """
        while self.left is not None and not self.is_empty:
            if self.left.goes_nowhere_on():
                self.left = None

    @property
    def between_messages(self) -> bool:
        """Whether the next byte in the ring is that of a header."""
        self.drain()
        return super().between_messages


class RenewedChannels(Channels):
    """The mailboxes, the board and the rings of a rank whose peers may be lost and come back.

    Parameters
    ----------
    shared : Shared
        What all processes of the run have in common.
    rank, incarnation : int
        Whose they are.

    Attributes
    ----------
    roll : Roll
        Who lives.
    version : int
        Of the roll, when it was read.
    met : list of int
        The incarnation of each rank with which this one talks.
    """

    def __init__(self, shared: "Shared", rank: int, incarnation: int) -> None:
        memory, size = shared.segment.memory, len(shared.locks)
        self.roll = Roll(memory[total_bytes(size) :], size)
        locks: list[Any] = [
            MarkedLock(lock, self.roll, rank, owner) for owner, lock in enumerate(shared.locks)
        ]
        super().__init__(memory, locks, shared.bells, shared.arena)
        self.incarnation = incarnation
        self.version = self.roll.version
        lives = [self.roll.life(peer) for peer in range(size)]
        self.met = [last + (life is not Life.THERE) for last, life in lives]
        self.gone = {peer for peer, (_, life) in enumerate(lives) if life is Life.GONE}

    def outlets(self, rank: int) -> dict[int, Outlet]:
        """Return ``rank``'s ends for sending, by destination."""
        found: dict[int, Outlet] = {}
        for dst in self._peers(rank):
            found[dst] = end = RenewedOutlet(rank, dst, self._ring(rank, dst), self.mailboxes[dst])
            if self.incarnation:
                end.begin_anew(self.incarnation, self.met[dst], may_write=False)
        return found

    def inlets(self, rank: int) -> dict[int, Inlet]:
        """Return ``rank``'s ends for receiving, by source."""
        found: dict[int, Inlet] = {}
        for src in self._peers(rank):
            ring, mailbox = self._ring(src, rank), self.mailboxes[src]
            found[src] = end = RenewedInlet(rank, src, ring, mailbox, self.board)
            if self.incarnation:
                end.begin_anew(self.met[src], self.incarnation)
        return found

    def _peers(self, rank: int) -> list[int]:
        return [peer for peer in range(self.size) if peer != rank]
