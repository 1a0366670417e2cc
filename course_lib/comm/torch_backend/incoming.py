"""What comes in over connections: a thread takes every packet, and wakes whoever waits for it."""

import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

import torch

from course_lib.comm.frames import of_exception
from course_lib.comm.processes.memory.mailbox import ANYONE, Mailbox
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.flows import Flows
from course_lib.comm.torch_backend.joining import Wires, WiresClosed
from course_lib.comm.torch_backend.packets import LONGEST, Packet, PacketKind, unpack
from course_lib.comm.torch_backend.transfers import Sending

__all__ = ["Incoming"]


class Incoming(Flows):
    """The flows of a rank, and the packets that have come for them.

    Parameters
    ----------
    rank, size : int
        Whose they are, of how many.
    board : WaitBoard
        Where is written what its flows wait for.
    mailboxes : sequence of Mailbox
        Where packets are announced, by rank; empty if the ranks share no memory.

    Attributes
    ----------
    wires : Wires
        The connections, once there are any.
    """

    wires: Wires

    def __init__(
        self, rank: int, size: int, board: WaitBoard, mailboxes: Sequence[Mailbox]
    ) -> None:
        super().__init__(rank, size, board)
        self._mailboxes = mailboxes
        self._peers = [peer for peer in range(size) if peer != rank]
        self._packets: dict[tuple[int, int], deque[tuple[int, Packet]]] = defaultdict(deque)
        self._going: dict[int, tuple[Sending, Flow]] = {}
        self._awaiting: dict[tuple[int, int], Flow] = {}  # by source and channel
        self._word = threading.Condition(self.turn)  # a rank has returned, or failed
        self._n_heard = 0
        self._finished: set[int] = set()
        self._returned: set[int] = set()
        self._stop: BaseException | None = None

    def stop(self, error: BaseException) -> None:
        """Let whatever waits here raise ``error``."""
        with self.turn:
            self._stop = self._stop or error
            self._wake_all()
            self._word.notify_all()

    def is_consequence(self, error: BaseException) -> bool:
        """Tell whether an exception says that a connection has broken, or timed out."""
        return any(map(_tells_of_connection, _chain(error)))

    def _listen(self) -> None:
        buffer = torch.empty(LONGEST, dtype=torch.uint8)
        view = buffer.numpy().data
        try:
            while len(self._finished) < len(self._peers):
                self.wires.next_packet(buffer)
                self._hear(unpack(view))
        except Exception as error:
            self.stop(error)

    def _hear(self, packet: Packet) -> None:
        with self.turn:
            self._n_heard += 1
            if packet.kind == PacketKind.MESSAGE:
                self._packets[packet.src, packet.channel].append((self._n_heard, packet))
                for src in (packet.src, ANYONE):
                    if (src, packet.channel) in self._awaiting:
                        self._wake(self._awaiting[src, packet.channel])
            elif packet.kind == PacketKind.ACCEPT:
                going, flow = self._going.pop(packet.number)
                self._begin(going)
                self._wake(flow)
            elif packet.kind in (PacketKind.ASKED, PacketKind.OVER):
                self._hear_of_function(packet)
            else:
                if packet.kind == PacketKind.FAILED:
                    self._hear_failure(packet)
                else:
                    self._returned.add(packet.src)
                    if packet.kind == PacketKind.FINISHED:
                        self._finished.add(packet.src)
                        self._hear_of_end(packet.src)
                self._wake_all()
                self._word.notify_all()
            self._lie_down()

    def _begin(self, going: Sending) -> None:
        """Begin to send what has been asked for."""
        going.work = self.wires.send(
            going.payload, going.dst, going.number, on_device=going.on_device
        )

    def _lie_down(self) -> None:
        """Say on the board that all packets have been read; who is woken says so itself."""
        if self._mailboxes:
            self._mailboxes[self.rank].lie_down(self._n_heard)

    def _hear_of_end(self, src: int) -> None:
        """Take that a rank's process is about to end, where nothing keeps it."""

    def _hear_failure(self, packet: Packet) -> None:
        """Take what a rank that has failed tells all others, where no launcher does."""

    def _hear_of_function(self, packet: Packet) -> None:
        """Take what ranks tell each other of functions of theirs, where no launcher does."""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from, each once: they may go in a circle."""
    met: set[int] = set()
    seen: BaseException | None = error
    while seen is not None and id(seen) not in met:
        yield seen
        met.add(id(seen))
        cause = of_exception(seen, "__cause__")
        seen = of_exception(seen, "__context__") if cause is None else cause


def _tells_of_connection(error: BaseException) -> bool:
    if issubclass(type(error), (torch.distributed.DistError, WiresClosed)):
        return True
    # Only torch's own text is looked at: that of a learner's exception may not even be made.
    text = error.args[0] if type(error) is RuntimeError and error.args else None
    return type(text) is str and ("gloo/transport" in text or "caused pair closure" in text)
