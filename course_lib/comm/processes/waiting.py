"""What a rank does while it cannot go on: make room for others, then sleep until there is news.

A rank that has to wait for room in a ring asks its receiver, who may be waiting for somebody else,
to move small messages into memory of its own. So small messages never block for long, however many
are sent before the first is received.
"""

from course_lib.comm.errors import PeerFinishedError
from course_lib.comm.processes.channels import Channels
from course_lib.comm.processes.mailbox import ANYONE
from course_lib.comm.processes.rings import Inlet

__all__ = ["Waiter"]


class Waiter:
    """The part of a communicator that waits.

    Parameters
    ----------
    rank : int
        Who waits.
    channels : Channels
        The run's mailboxes.
    inlets : dict of Inlet
        The rank's ends for receiving, by source.

    Attributes
    ----------
    seen : list of int
        The mailbox as it was at the last look. Its counters only grow, so an old look is safe to
        act on; it shows less than there is.
    """

    def __init__(self, rank: int, channels: Channels, inlets: dict[int, Inlet]) -> None:
        self._rank = rank
        self._slots = channels.slots
        self._mailbox = channels.mailboxes[rank]
        self._board = channels.board
        self._inlets = inlets
        self.seen = self._mailbox.look()

    def look(self) -> bool:
        """Look into the mailbox; return whether there is news since the last look."""
        before = self.seen
        self.seen = self._mailbox.look()
        return self.seen != before

    def sleep(self, verb: str, src: int, dst: int, busy: Inlet | None = None) -> None:
        """Sleep until something has changed since the last look, then look again.

        Parameters
        ----------
        verb : str
            What the rank is doing, for errors and reports.
        src, dst : int
            Whom it waits for: to receive from, to send to; a rank, ``ANYONE`` or ``NOBODY``.
        busy : Inlet or None
            A ring that is in the middle of a message.

        Raises
        ------
        PeerFinishedError
            If it waits for a rank that has returned.
        """
        self._refuse_finished(verb, src, dst)
        if self.seen[self._slots.stalled]:
            self._make_room(busy)
            return
        self._board.waits(self._rank, verb, src, dst)
        self._mailbox.sleep(self.seen, src, dst)
        self._board.goes_on(self._rank)
        self.look()

    def first_arrived(self) -> int | None:
        """Return the rank whose next message was sent first; None if there is no message."""
        waiting = []
        for src, inlet in self._inlets.items():
            if inlet.unexpected:
                header = inlet.unexpected[0][0]
            else:
                found = inlet.peek(self.seen[self._slots.heads + src])
                if found is None:
                    continue
                header = found
            waiting.append((header.posted_s, src))
        return min(waiting)[1] if waiting else None

    def _make_room(self, busy: Inlet | None) -> None:
        self._mailbox.clear_stalled()
        self.look()  # whoever stalls from now on sets the flag again
        for src, inlet in self._inlets.items():
            if inlet is busy:
                continue
            head = self.seen[self._slots.heads + src]
            before = inlet.tail
            while (header := inlet.peek(head)) is not None and not header.waits:
                inlet.set_aside(header)
            if inlet.tail != before:
                inlet.publish()

    def _refuse_finished(self, verb: str, src: int, dst: int) -> None:
        first = self._slots.finished
        if not any(self.seen[first : first + len(self._inlets) + 1]):
            return
        finished = {peer for peer in self._inlets if self.seen[first + peer]}
        if verb == "barrier":
            # Rank 0 counts. To the others, a rank that has returned may have passed this barrier.
            gone = finished if self._rank == 0 else finished & {0}
            if gone:
                raise self._error(verb, f"for rank {min(gone)}", "without calling barrier()")
        elif src == ANYONE:
            if len(finished) == len(self._inlets):
                raise self._error(verb, "for a message from anybody", "and sent nothing more", True)
        elif src in finished:
            raise self._error(verb, f"for a message from rank {src}", "and sent nothing more")
        elif dst in finished:
            raise self._error(verb, f"to send to rank {dst}", "and will not receive it")

    def _error(self, verb: str, whom: str, how: str, everybody: bool = False) -> PeerFinishedError:
        who = "but every other rank" if everybody else "which"
        return PeerFinishedError(
            f"rank {self._rank} waits in {verb}() {whom}, {who} has already returned {how}; "
            "check that every send has its recv, on all ranks and in every step",
            rank=self._rank,
        )
