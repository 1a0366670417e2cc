"""A rank's end of all connections: a thread takes every packet that comes, flows wait for them.

A message of up to ``EAGER_BYTES`` is a packet. A larger one is announced by a packet; when its
receive is posted, the receiver asks for it by another, and the listening thread of the sender
begins to send, whatever the sender's flows do meanwhile. So nobody ever waits for a flow that is
not in the verb that is waited for.

On one computer a packet that is under way is announced in its receiver's mailbox, in shared memory:
a rank is asleep on the board only if it has read all that has been written to it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from course_lib.comm.errors import PeerFinishedError
from course_lib.comm.processes.memory.mailbox import NOBODY, Mailbox
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.processes.returned import in_vain
from course_lib.comm.torch_backend.abandoned import Waiter
from course_lib.comm.torch_backend.incoming import Incoming
from course_lib.comm.torch_backend.joining import Wires
from course_lib.comm.torch_backend.packets import Packet, PacketKind, note
from course_lib.comm.torch_backend.transfers import Receiving, Sending

__all__ = ["REPORTS", "TorchProgress", "told"]

REPORTS = "reports"
"""The communicator on which ranks that have returned say so to rank 0, under torchrun."""


class TorchProgress(Incoming):
    """A rank's connections, and its flows.

    Parameters
    ----------
    rank, size : int
        Whose they are, of how many.
    board : WaitBoard
        Where is written what its flows wait for.
    mailboxes : sequence of Mailbox
        Where packets are announced, by rank; empty if the ranks share no memory.
    meet : callable
        Connects the ranks.

    Attributes
    ----------
    numbers : iterator of int
        Of the rank's messages.
    """

    def __init__(
        self, rank: int, size: int, board: WaitBoard, mailboxes: Sequence[Mailbox],
        meet: Callable[[], Wires],
    ) -> None:  # fmt: skip
        super().__init__(rank, size, board, mailboxes)
        self.numbers = count(1)
        self._meet = meet
        self._asking = [threading.Lock() for _ in range(size)]

    # Life

    def connect(self) -> None:
        """Meet the others, and take all packets from now on."""
        self.wires = self._meet()
        if self._peers:
            Waiter(self._listen, "packets").start()

    def finish(self) -> None:
        """Tell all others that this rank will neither send nor receive any more."""
        for peer in self._peers:
            self._post(peer, note(PacketKind.FINISHED, self.rank))
        self.wires.flush(self._left_s())
        with self.turn:
            # A packet that still comes is no news, and a process that ends while its listening
            # thread holds the mailbox's lock would keep it: whoever announces more waits for ever.
            self._mailboxes = ()

    def close(self) -> None:
        """Wait until nobody will write any more; then close what a program that goes on need not.

        A process that ends does without: whoever waits for it in a collective of the default group
        is to hear that at once, and its connections end with it.
        """
        with self.turn:
            while len(self._finished) < len(self._peers):
                if self._stop is not None:
                    raise self._stop
                self._word.wait(self._left_s())
                self._check_deadline("until all ranks have returned")
        self.wires.close()

    def give_up(self, number: int, gone: dict[int, str]) -> None:
        """Tell a flow that waits which functions have returned of the ranks that it waits for."""
        with self.turn:
            flow = self.flows.get(number)
            if flow is not None:
                flow.gone |= gone
                self._wake(flow)

    def _hear_of_end(self, src: int) -> None:
        self.wires.forget(src)

    # What goes out

    def _post(self, dst: int, packet: bytearray) -> None:
        if self._mailboxes:
            self._mailboxes[dst].announce()
        self.wires.post(packet, dst)

    def _ask(
        self, coming: Receiving, packet: Packet, going: Sending | None, call: Call, flow: Flow
    ) -> None:
        """Have a message sent that has been announced."""
        del going, call, flow  # they matter where a connection is slow
        # NCCL has no tags: what is asked for first is received first.
        with self._asking[coming.src]:
            self._post(coming.src, note(PacketKind.ACCEPT, self.rank, packet.number))
            coming.work = self.wires.receive(
                coming.room, coming.src, packet.number, on_device=packet.on_device
            )

    # Messages

    def drive(
        self, flow: Flow, call: Call, going: Sending | None, coming: Receiving | None
    ) -> None:
        """Send and receive, and wait until both are done."""
        if going is not None:
            if going.waits:
                if coming is not None and coming.src == going.dst:
                    going.exchanged = coming
                self._going[going.number] = going, flow
            self._post(going.dst, going.packed)
            if coming is None and not going.waits:
                return
        try:
            while self._step(flow, call, going, coming):
                if coming is not None and coming.packet is not None and coming.may_be_asked_for:
                    self._ask(coming, coming.packet, going, call, flow)
        except PeerFinishedError:  # what it has begun to receive comes to its end
            self._take_back(going)
            if coming is not None and coming.packet is not None:
                self._await(coming.work, call, flow)
                coming.finish()
            raise
        # First what goes: a message that comes may be refused, and this one is sent all the same.
        if going is not None:
            self._await(going.work, call, flow)
        if coming is not None:
            self._await(coming.work, call, flow)
            coming.finish()

    def _take_back(self, going: Sending | None) -> None:
        if going is not None:
            self._going.pop(going.number, None)

    def _step(
        self, flow: Flow, call: Call, going: Sending | None, coming: Receiving | None
    ) -> bool:
        """Go on as far as packets allow; return whether there is more to ask or to wait for."""
        with self.turn:
            if coming is not None and coming.packet is None:
                self._open(coming)
            src = NOBODY if coming is None or coming.packet is not None else coming.src
            unasked = going is not None and going.waits and going.work is None
            dst = going.dst if going is not None and unasked else NOBODY
            if coming is not None and coming.may_be_asked_for:
                self._went_on(flow)
                return True
            if src == NOBODY and dst == NOBODY:
                self._went_on(flow)
                return False
            channel = 0 if coming is None else coming.channel
            self._rest(flow, call.still(src, dst), channel)
            return True

    def _open(self, coming: Receiving) -> None:
        packets = self._packets.get((coming.src, coming.channel))
        if packets:
            coming.open(packets[0][1])
            packets.popleft()

    def first_arrived(self, flow: Flow, call: Call, channel: int, members: Iterable[int]) -> int:
        """Wait for a message from any of ``members``; return who sent the first."""
        with self.turn:
            while True:
                waiting = ((self._packets.get((src, channel)), src) for src in members)
                arrived = [(packets[0][0], src) for packets, src in waiting if packets]
                if arrived:
                    self._went_on(flow)
                    return min(arrived)[1]
                self._rest(flow, call, channel)

    # Waiting

    def _rest(self, flow: Flow, call: Call, channel: int) -> None:
        """Wait until a packet comes, or another flow has moved something."""
        flow.idle_since_s = flow.idle_since_s or time.perf_counter()
        if gone := self._gone(flow, call, channel):
            function = "" if min(gone) in self._returned else flow.gone[min(gone)]
            text = call.explain_gone(self.rank, gone, flow.entered(), function)
            raise PeerFinishedError(text, rank=self.rank, peer=min(gone))
        flow.call = call
        self._board.waits(self.rank, flow.number, call.verb, call.src, call.dst)
        if call.src != NOBODY:
            self._awaiting[call.src, channel] = flow
        self._doze(flow)
        self._awaiting.pop((call.src, channel), None)
        flow.call = None
        self._board.goes_on(self.rank, flow.number)

    def _doze(self, flow: Flow) -> None:
        if self._stop is not None:
            raise self._stop
        self._lie_down()
        self._dozing[flow] = None
        flow.woken.wait(self._left_s())
        self._dozing.pop(flow, None)  # where the time is up
        if flow.call is not None:
            self._check_deadline(told(flow.call, flow))

    def _await(self, work: Any, call: Call, flow: Flow) -> None:  # noqa: ARG002
        """Wait for bytes that are under way; the launcher ends us if they never come."""
        if work is not None:
            work.wait()

    def _left_s(self) -> float | None:
        """Return how long may be waited; None for ever, where the launcher sees to it."""
        return None

    def _check_deadline(self, where: str) -> None:
        """Raise if no more time is left."""

    def _gone(self, flow: Flow, call: Call, channel: int) -> list[int]:
        """List the ranks that have returned, and left nothing, without which it cannot end."""
        if call.comm == REPORTS:  # which come after that
            return []
        gone = self._returned | flow.gone.keys()
        if call.dst == NOBODY:
            gone = {src for src in gone if not self._packets.get((src, channel))}
        return in_vain(call, gone)


def told(call: Call, flow: Flow) -> str:
    """Say what a flow waits in, or for."""
    if call.comm != REPORTS:
        return f"in {call.written(flow.name)}"
    if call.src != NOBODY:
        return f"until the function of rank {call.src} has returned"
    return f"until rank {call.dst} takes what its function has returned"
