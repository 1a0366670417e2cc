"""The communicator of one real worker: the verbs, and the loop that drives messages."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Envelope, Tag
from course_lib.comm.processes.channels import Channels
from course_lib.comm.processes.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.rings import Inlet
from course_lib.comm.processes.transfers import Receiving, Sending
from course_lib.comm.processes.waiting import Waiter
from course_lib.trace.recorder import Recorder

__all__ = ["ProcessCommunicator"]

_WORTH_NOTING_S = 1e-4
_WORLD = "world"
P = ParamSpec("P")
R = TypeVar("R")
_Method = Callable[Concatenate["ProcessCommunicator", P], R]


def _verb(name: str) -> Callable[[_Method[P, R]], _Method[P, R]]:
    """Let one thread at a time into a verb: the counters of a ring belong to one hand."""

    def decorate(method: _Method[P, R]) -> _Method[P, R]:
        @wraps(method)
        def guarded(self: "ProcessCommunicator", /, *args: P.args, **kwargs: P.kwargs) -> R:
            if self.verb:
                raise RuntimeError(
                    f"rank {self.rank} called {name}() in one thread while it is in {self.verb}() "
                    "in another; one communicator belongs to one thread"
                )
            self.verb = name
            try:
                return method(self, *args, **kwargs)
            finally:
                self.verb = ""

        return guarded

    return decorate


class ProcessCommunicator(Communicator):
    """A communicator over shared memory.

    Parameters
    ----------
    rank : int
        This worker.
    channels : Channels
        The run's rings and mailboxes.
    eager_bytes : int
        Up to this size a send returns after copying; 0 makes every send wait for its receive.
    seed : int
        For ``rng``.
    trace : bool
        Whether to record.
    origin_s : float
        When the run began, on the clock that all processes of this computer share.
    """

    def __init__(
        self, rank: int, channels: Channels, eager_bytes: int, seed: int, trace: bool,
        origin_s: float,
    ) -> None:  # fmt: skip
        super().__init__(rank, channels.size, seed)
        self.verb = ""
        self.recorder = Recorder(rank)
        self.outlets = channels.outlets(rank)
        self.inlets = channels.inlets(rank)
        self._mailboxes = channels.mailboxes
        self._slots = channels.slots
        self._waiter = Waiter(rank, channels, self.inlets)
        self._eager_bytes = eager_bytes
        self._trace = trace
        self._origin_s = origin_s
        self._barriers = 0

    def finish(self) -> None:
        """Tell all others that this rank will neither send nor receive any more."""
        for peer in self.outlets:
            self._mailboxes[peer].tell_finished(self.rank)

    @_verb("send")
    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        posted_s = self._clock()
        self._drive(self._sending(data, sent, dst, posted_s), None)
        self._record_send(sent, dst, data.nbytes, posted_s)

    @_verb("recv")
    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        coming = Receiving(self.inlets[src], self.rank, out, op, tag)
        self._drive(None, coming)
        return coming.result, self._received(coming)

    @_verb("recv_any")
    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        while (src := self._waiter.first_arrived()) is None:
            self._sleep(ANYONE, NOBODY)
        coming = Receiving(self.inlets[src], self.rank, None, None, None)
        self._drive(None, coming)
        return src, coming.result, self._received(coming)

    @_verb("sendrecv")
    def _sendrecv(
        self, data: NDArray[Any], sending: Envelope, dst: int, src: int,
        out: NDArray[Any] | None, op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:  # fmt: skip
        posted_s = self._clock()
        coming = Receiving(self.inlets[src], self.rank, out, op, None)
        self._drive(self._sending(data, sending, dst, posted_s), coming)
        self._record_send(sending, dst, data.nbytes, posted_s)
        return coming.result, self._received(coming)

    @_verb("barrier")
    def _barrier(self) -> None:
        # Rank 0 counts who has come, then lets everybody go.
        self._barriers += 1
        if self.rank == 0:
            while self._waiter.seen[self._slots.arrived] < self._barriers * (self.size - 1):
                self._sleep(ANYONE, NOBODY)
            for peer in self.outlets:
                self._mailboxes[peer].tell_released(self._barriers)
        else:
            self._mailboxes[0].tell_arrived()
            while self._waiter.seen[self._slots.released] < self._barriers:
                self._sleep(ANYONE, NOBODY)

    def _sending(self, data: NDArray[Any], sent: Envelope, dst: int, now_s: float) -> Sending:
        waits = data.nbytes > self._eager_bytes
        return Sending(self.outlets[dst], data, sent, waits, now_s)

    def _drive(self, going: Sending | None, coming: Receiving | None) -> None:
        """Move both messages on, a step of each in turn, and sleep while neither can move."""
        slots, waiter = self._slots, self._waiter
        while True:
            moved = False
            if going is not None and not going.done:
                moved = going.advance(waiter.seen, slots)
            if coming is not None and not coming.done:
                moved = coming.advance(waiter.seen, slots) or moved
            dst = NOBODY if going is None or going.done else going.outlet.dst
            src = NOBODY if coming is None or coming.done else coming.inlet.src
            if src == dst == NOBODY:
                return
            if waiter.look() or moved:
                continue
            if going is not None and not going.begun:
                going.outlet.stall()
            busy = coming.inlet if coming is not None and coming.header is not None else None
            self._sleep(src, dst, busy)

    def _sleep(self, src: int, dst: int, busy: Inlet | None = None) -> None:
        start_s = self._clock()
        self._waiter.sleep(self.verb, src, dst, busy)
        end_s = self._clock()
        if self._trace and end_s - start_s > _WORTH_NOTING_S:
            awaited = dst if src == NOBODY else src
            peer = awaited if awaited >= 0 else None
            self.recorder.waits.append((self.verb, peer, start_s, end_s, _WORLD))

    def _record_send(self, sent: Envelope, dst: int, n_bytes: int, posted_s: float) -> None:
        if self._trace:
            self.recorder.sends.append(
                (_WORLD, dst, sent.tag, sent.dtype, sent.shape, n_bytes, posted_s, self._clock())
            )

    def _received(self, coming: Receiving) -> Envelope:
        header = coming.header
        assert header is not None, "a message that has arrived has a header"
        if self._trace:
            now_s = self._clock()
            # A message that did not wait lay ready in the ring when its sender had copied it.
            arrived_s = now_s if header.waits else None
            self.recorder.receives.append((_WORLD, coming.inlet.src, arrived_s, now_s))
        return header.sent

    def _computed(self, label: str, flops: float, started_s: float) -> None:
        if self._trace:
            self.recorder.computes.append((label, flops, started_s, self._clock()))

    def _note(self, name: str, value: Any) -> None:
        if self._trace:
            self.recorder.notes.append((name, value, self._clock()))

    def _collective(self, name: str, entered_s: float) -> None:
        if self._trace:
            number = len(self.recorder.collectives)
            self.recorder.collectives.append((name, number, entered_s, self._clock(), _WORLD))

    def _clock(self) -> float:
        return time.perf_counter() - self._origin_s
