"""A rank's end of all connections where no launcher sees to it: under torchrun, or mpiexec.

Ranks tell each other of their failures, look at the clock themselves, and hear of ranks that
cannot tell anything any more (``lookout``).
"""

import threading
import time
from typing import Any

from course_lib.comm.errors import LaunchTimeout, RunError
from course_lib.comm.processes.memory.mailbox import NOBODY
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.processes.returned import owner
from course_lib.comm.torch_backend.abandoned import Waiter
from course_lib.comm.torch_backend.joining import Wires
from course_lib.comm.torch_backend.packets import Packet, PacketKind, note
from course_lib.comm.torch_backend.progress import REPORTS, TorchProgress, told
from course_lib.comm.torch_backend.transfers import Receiving, Sending

__all__ = ["RemoteProgress"]

_LAST_WORDS_S = 2.0
_LATE_S = 1.0
_PATIENCE_S = 0.5
"""How long a flow waits before it asks whether the other's function has returned."""


class RemoteProgress(TorchProgress):
    """The connections and the flows of a rank under torchrun.

    Parameters
    ----------
    rank, size : int
        Whose they are, of how many.
    board : WaitBoard
        Where is written what its flows wait for; nobody else reads it.
    wires : Wires
        The connections.
    time_limit_s : float
        How long its flows may wait in all, from now on.

    Attributes
    ----------
    told : bytes or None
        How another rank has failed, pickled, in its own words.
    lost : RunError or None
        How another rank has failed that could not tell it.
    has_begun : bool
        Whether the rank's function has been called.
    """

    def __init__(
        self, rank: int, size: int, board: WaitBoard, wires: Wires, time_limit_s: float
    ) -> None:  # fmt: skip
        super().__init__(rank, size, board, (), lambda: wires)
        self.wires = wires
        self.told: bytes | None = None
        self.lost: RunError | None = None
        self.has_begun = False
        self._deadline_s = time.monotonic() + time_limit_s
        self._asked: dict[str, set[int]] = {}  # by function, who wants to know when it has returned
        self._asked_for: set[tuple[str, int]] = set()
        self._telling = threading.Lock()

    def tell_returned(self) -> None:
        """Tell all others that this rank's function, and all that it had started, has returned."""
        for peer in self._peers:
            self._post(peer, note(PacketKind.RETURNED, self.rank))

    def await_word(self, limit_s: float) -> None:
        """Wait for a moment until a rank that has failed says so."""
        with self.turn:
            self._word.wait_for(lambda: self.told or self.lost, limit_s)

    def tell_failure(self, data: bytes) -> None:
        """Tell all others that this rank has failed, and how."""
        for peer in self._peers:
            self._post(peer, note(PacketKind.FAILED, self.rank, data=data))
        self.wires.flush(_LAST_WORDS_S)

    def lose(self, rank: int, error: RunError) -> None:
        """Hear how a rank has failed that cannot tell it; let whatever waits here raise that."""
        with self.turn:
            if rank in self._finished or self.told is not None:
                return
            self.lost = error
            self._stop = self._stop or ConnectionAbortedError(f"rank {rank} is lost")
            self._wake_all()
            self._word.notify_all()
        self.wires.abort()

    def end_at_deadline(self) -> threading.Timer:
        """Break off what still waits below Python, where no flow can look at the clock.

        Returns
        -------
        Timer
            To be cancelled when the run is over.
        """
        timer = threading.Timer(self._left_s() + _LATE_S, self._break_off)
        timer.daemon = True
        timer.start()
        return timer

    def _break_off(self) -> None:
        self.stop(
            LaunchTimeout(
                f"rank {self.rank} was in the middle of a message when the time limit passed; look "
                "for a rank that has stopped, or raise time_limit_s",
                rank=self.rank,
            )
        )
        self.wires.abort()

    def cause_of(self, error: BaseException) -> BaseException:
        """Return why a connection has broken, if this rank has broken it, else what broke."""
        broken_here = self.is_consequence(error) and isinstance(self._stop, LaunchTimeout)
        return self._stop if broken_here and self._stop is not None else error

    # Exchanges: gloo has one connection for two ranks, and what asks for one half of an exchange
    # would wait behind the other half, had that begun: on a slow network twice the time.

    def _begin(self, going: Sending) -> None:
        """Begin to send what has been asked for, in an exchange when the other half is, too."""
        coming = going.exchanged
        going.is_held = coming is not None and not coming.has_asked and self._waits(coming)
        if not going.is_held:
            super()._begin(going)

    def _waits(self, coming: Receiving) -> bool:
        """Tell whether the sender of a message that is wanted waits to be asked for it."""
        if coming.packet is not None:
            return coming.packet.waits
        packets = self._packets.get((coming.src, coming.channel))
        return packets[0][1].waits if packets else False

    def _ask(
        self, coming: Receiving, packet: Packet, going: Sending | None, call: Call, flow: Flow
    ) -> None:
        """Have a message sent that has been announced; in an exchange, make sure that it is."""
        if going is None or going.exchanged is not coming or packet.on_device:
            super()._ask(coming, packet, going, call, flow)
            return
        asked = self.wires.deliver(note(PacketKind.ACCEPT, self.rank, packet.number), coming.src)
        coming.work = self.wires.receive(coming.room, coming.src, packet.number, on_device=False)
        self._await(asked, call, flow)
        with self.turn:
            coming.has_asked = True
            if going.is_held:
                self._begin(going)

    def _hear_of_end(self, src: int) -> None:
        """Go on: it ends when all have finished, and waits to hear that of this rank."""

    def _hear_failure(self, packet: Packet) -> None:
        if self.lost is None:
            self.told = self.told or packet.data
        self._stop = self._stop or ConnectionAbortedError(f"rank {packet.src} has failed")

    # Functions that have returned, of ranks that live on

    def finish(self) -> None:
        """Tell all others that this rank will neither send nor receive any more."""
        with self._telling:
            self._asked.clear()
            super().finish()

    def close_flow(self, flow: Flow) -> None:
        """Forget a flow that is over, and wake or tell those that wait for that."""
        super().close_flow(flow)
        self._tell_over()

    def wait_for_all(self, flow: Flow) -> None:
        """Let ``flow``, the rank's function, which has returned, wait until all others are over."""
        flow.over = True
        self._tell_over()
        super().wait_for_all(flow)

    def _doze(self, flow: Flow) -> None:
        """Sleep until somebody wakes this flow; after a while ask what has become of the others."""
        call = flow.call
        if call is None or call.verb == "wait" or call.comm == REPORTS:
            super()._doze(flow)
            return
        function = owner(call.comm)
        peers = [call.dst] if call.dst != NOBODY else call.missing or [call.src]
        unasked = {(function, peer) for peer in peers} - self._asked_for
        if not unasked:
            super()._doze(flow)
            return
        self._dozing[flow] = None
        woken = flow.woken.wait(min(_PATIENCE_S, self._left_s()))
        self._dozing.pop(flow, None)
        if not woken:
            self._asked_for |= unasked
            for _, peer in unasked:
                self._post(peer, note(PacketKind.ASKED, self.rank, data=function.encode()))

    def _hear_of_function(self, packet: Packet) -> None:
        if packet.kind == PacketKind.ASKED:
            self._asked.setdefault(packet.data.decode(), set()).add(packet.src)
            # In a thread: the one that listens must not wait for room for an answer.
            Waiter(self._tell_over, "answer").start()
            return
        function, returned = packet.data.decode().split("\n")
        for flow in self.flows.values():
            if owner(flow.name) == function:
                flow.gone[packet.src] = returned
                self._wake(flow)

    def _tell_over(self) -> None:
        """Answer those who have asked for functions that have returned meanwhile."""
        if not self._asked:
            return
        with self._telling:
            standing = self.standing()
            for function in list(self._asked):
                if returned := standing.returned(function):
                    data = f"{function}\n{returned}".encode()
                    for peer in self._asked.pop(function):
                        self._post(peer, note(PacketKind.OVER, self.rank, data=data))

    def _await(self, work: Any, call: Call, flow: Flow) -> None:
        """Wait for bytes that are under way, but not longer than we may.

        A wait of gloo's cannot be broken off while part of a message is in a connection. So a
        thread waits, and is left behind if the message never comes.
        """
        if work is None:
            return
        ended: list[BaseException | None] = []

        def wait() -> None:
            try:
                work.wait()
                outcome = None
            except BaseException as error:
                outcome = error
            with self.turn:
                ended.append(outcome)
                self._word.notify_all()

        Waiter(wait, "transfer").start()
        with self.turn:
            while not ended:
                if self._stop is not None:
                    raise self._stop
                self._word.wait(self._left_s())
                if not ended:
                    self._check_deadline(told(call, flow))
        if ended[0] is not None:
            raise ended[0]

    def _left_s(self) -> float:
        return max(self._deadline_s - time.monotonic(), 0)

    def _check_deadline(self, where: str) -> None:
        if self._left_s() == 0:
            raise LaunchTimeout(
                f"rank {self.rank} still waits {where} when the time limit passes; look for a rank "
                "that does not do its part, or raise time_limit_s",
                rank=self.rank,
            )
