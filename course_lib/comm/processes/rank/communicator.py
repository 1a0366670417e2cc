"""The communicator of one real worker: the verbs, over the rank's progress."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import get_ident
from time import perf_counter
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import WORLD, Communicator, in_another_thread
from course_lib.comm.errors import PeerFinishedError
from course_lib.comm.messages import Envelope, Tag, envelope
from course_lib.comm.pending import Pending
from course_lib.comm.processes.memory.header import Header, describe
from course_lib.comm.processes.memory.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.memory.transfers import Receiving, Sending, Wanted
from course_lib.comm.processes.rank.eager import receive_small, send_small
from course_lib.comm.processes.rank.flow import NO_THREAD, Call, Flow
from course_lib.comm.processes.rank.lanes import Lane
from course_lib.comm.processes.rank.meetings import meet, place_of_array
from course_lib.comm.processes.rank.posted import PostedReceive, PostedSend
from course_lib.comm.processes.rank.rank_context import RankContext
from course_lib.comm.processes.rank.recording import RecordingCommunicator
from course_lib.comm.processes.rank.started import start

__all__ = ["ProcessCommunicator"]

T = TypeVar("T")


class ProcessCommunicator(RecordingCommunicator):
    """A communicator over shared memory.

    What is said of shared memory alone stands in four methods, ``_sending``, ``_receiving`` and the
    two of small messages; another world of real processes has others in their place.

    Parameters
    ----------
    context : RankContext
        The rank's progress and settings.
    flow : Flow
        Whose verbs it serves.
    name : str, default: "world"
        The same on all its ranks; their messages find each other by it.
    members : sequence of int or None, default: None
        Its ranks, as ranks of the whole run; None for all.
    """

    _send_small: ClassVar[Callable[..., bool]] = staticmethod(send_small)
    _receive_small: ClassVar[Callable[..., Any]] = staticmethod(receive_small)

    def __init__(
        self,
        context: RankContext,
        flow: Flow,
        name: str = WORLD,
        members: Sequence[int] | None = None,
    ) -> None:
        me = context.progress.rank
        members = tuple(range(context.progress.size) if members is None else members)
        super().__init__(context, name, members)
        flow.comm = flow.comm or self
        self._progress = context.progress
        self._flow = flow
        self._me = me
        self._peers = [peer for peer in members if peer != me]
        self._going: dict[int, Lane] = {}  # what isend has begun, by the receiver
        self._coming: dict[int, Lane] = {}  # what irecv has begun, by the sender
        channel = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
        self._channel = channel & ~1
        self._quiet_channel = channel | 1  # for what barrier, split and the like say to each other

    # Messages

    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        if self._flow.thread != get_ident():
            self._refuse_thread("send")
        if self._going and self._is_under_way(self._going, self._members[dst]):
            return self._isend(data, sent, dst).wait()  # it comes after those
        to, posted_s = self._members[dst], perf_counter() - self._origin_s
        if not self._send_small(
            self._context, data, sent, to, self._channel, posted_s, self._stamp
        ):
            going = self._sending(data, sent, to, posted_s)
            self._drive(Call("send", NOBODY, to, sent.tag, (), self.name), going, None)
        self._record_send(sent, to, data.nbytes, posted_s)

    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        if self._flow.thread != get_ident():
            self._refuse_thread("recv")
        if self._coming and self._is_under_way(self._coming, self._members[src]):
            return self._irecv(src, out, op, tag).wait()
        return self._receive("recv", self._members[src], out, op, tag)

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        if self._flow.thread != get_ident():
            self._refuse_thread("recv_any")
        call = Call("recv_any", ANYONE, NOBODY, None, self._peers, self.name)
        src = self._progress.first_arrived(self._flow, call, self._channel, self._peers)
        data, sent = self._receive("recv_any", src, None, None, None)
        return self._members.index(src), data, sent

    def _sendrecv(
        self, data: NDArray[Any], sending: Envelope, dst: int, src: int,
        out: NDArray[Any] | None, op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:  # fmt: skip
        if self._flow.thread != get_ident():
            self._refuse_thread("sendrecv")
        to, from_ = self._members[dst], self._members[src]
        if self._is_under_way(self._going, to) or self._is_under_way(self._coming, from_):
            coming = self._irecv(src, out, op, None)
            self._isend(data, sending, dst).wait()
            return coming.wait()
        posted_s = perf_counter() - self._origin_s
        if self._send_small(self._context, data, sending, to, self._channel, posted_s, self._stamp):
            self._record_send(sending, to, data.nbytes, posted_s)
            return self._receive("sendrecv", from_, out, op, None)
        going = self._sending(data, sending, to, posted_s)
        coming = self._receiving(from_, Wanted(self._channel, self._stamp, None, out, op))
        try:
            self._drive(Call("sendrecv", from_, to, None, (), self.name), going, coming)
        except PeerFinishedError:
            if going.done:
                self._record_send(sending, to, data.nbytes, posted_s)
            raise
        self._record_send(sending, to, data.nbytes, posted_s)
        return self._taken(from_, coming)

    # Messages that go on while the rank does other things

    def _isend(self, data: NDArray[Any], sent: Envelope, dst: int) -> Pending[None]:
        self._check_flow("isend")
        to, posted_s = self._members[dst], perf_counter() - self._origin_s
        posted = PostedSend(self, data, sent, to, posted_s)
        if not self._is_under_way(self._going, to) and self._send_now(data, sent, to, posted_s):
            self._record_send(sent, to, data.nbytes, posted_s)
            posted.is_over()
        else:
            self._going.setdefault(to, Lane(self)).put(posted)
        return posted

    def _send_now(self, data: NDArray[Any], sent: Envelope, to: int, posted_s: float) -> bool:
        """Send a message if that takes no time; return whether it is done."""
        return self._send_small(self._context, data, sent, to, self._channel, posted_s, self._stamp)

    def _irecv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> Pending[tuple[NDArray[Any], Envelope]]:
        self._check_flow("irecv")
        posted = PostedReceive(self, self._members[src], out, op, tag)
        self._coming.setdefault(self._members[src], Lane(self)).put(posted)
        return posted

    @staticmethod
    def _is_under_way(lanes: dict[int, Lane], peer: int) -> bool:
        return peer in lanes and lanes[peer].busy

    def _awaited_by_irecv(self) -> int | None:
        unsettled = self._flow.unsettled
        return next((each.src for each in unsettled if getattr(each, "comm", None) is self), None)

    def _receive(
        self, verb: str, from_: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        try:
            small: tuple[NDArray[Any], Envelope] | None = self._receive_small(
                self._progress, self._flow, from_, self._channel, out, op, tag, self
            )
        except Exception:  # what NumPy raises while it combines: the message is gone
            self._record_receive(from_, waited=False)
            raise
        if small is None:
            coming = self._receiving(from_, Wanted(self._channel, self._stamp, tag, out, op))
            self._drive(Call(verb, from_, NOBODY, tag, (), self.name), None, coming)
            return self._taken(from_, coming)
        self._record_receive(from_, waited=False)
        return small

    def _taken(self, from_: int, coming: Any) -> tuple[NDArray[Any], Envelope]:
        """Return what has been received the general way, or raise why it was refused."""
        self._record_receive(from_, waited=coming.waited)
        refusal, coming.refusal = coming.refusal, None
        if refusal is None:
            return coming.result, coming.sent
        try:
            raise refusal
        finally:
            del refusal  # else it and this frame would hold each other

    def _check_flow(self, verb: str) -> None:
        if self._flow.thread != get_ident():
            self._refuse_thread(verb)

    def _refuse_thread(self, verb: str) -> NoReturn:
        if self._flow.thread == NO_THREAD:
            raise RuntimeError(
                f"a copy of rank {self._me} (os.fork) called {verb}(); a copy is no rank, and can "
                "neither send nor receive: run starts the workers"
            )
        raise in_another_thread(self._me, verb, self.name)

    def _sending(
        self, data: NDArray[Any], sent: Envelope, to: int, posted_s: float, quietly: bool = False,
        flow: Flow | None = None, stamp: int | None = None,
    ) -> Any:  # fmt: skip
        progress, description = self._progress, describe(sent)
        header = Header(
            len(description),
            waits=not quietly and data.nbytes > self._context.settings.eager_bytes,
            beside=not quietly and (len(progress.flows) > 1 or progress.may_give_up),
            flow=(flow or self._flow).number,
            channel=self._quiet_channel if quietly else self._channel,
            number=next(progress.numbers),
            n_bytes=data.nbytes,
            posted_s=posted_s,
            stamp=0 if quietly else self._stamp if stamp is None else stamp,
        )
        return Sending(progress.outlets[to], data, description, header)

    def _receiving(self, from_: int, wanted: Wanted) -> Any:
        return Receiving(self._progress.inlets[from_], self, wanted)

    def _drive(self, call: Call, going: Any, coming: Any) -> None:
        try:
            self._progress.drive(self._flow, call, going, coming)
        except PeerFinishedError:
            if coming is not None and coming.done:  # it may be refused, which says what went wrong
                self._taken(coming.src, coming)
            raise
        if self._flow.waits:
            self._note_waits(call)

    # Groups and what runs beside

    def _barrier(self) -> None:
        self._meet("barrier", np.empty(0, np.int64), np.concatenate)

    def _split(self, color: int | None, key: int) -> Communicator | None:
        mine = np.array([color is not None, color or 0, key], np.int64)
        table = self._meet("split", mine, np.stack).tolist()
        if color is None:
            return None
        joined = sorted(
            (k, rank) for rank, (joins, c, k) in enumerate(table) if joins and c == color
        )
        name = f"{self.name}/split {self._n_splits} color {color}"
        members = [self._members[rank] for _, rank in joined]
        return type(self)(self._context, self._flow, name, members)

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        self._check_flow("start")

        stamp = self._stamp

        def body(flow: Flow) -> T:
            child = type(self)(self._context, flow, flow.name, self._members)
            child._belong_to(self, stamp)
            return fn(child, *args)

        return start(self._progress, self._flow, self.name, body, self._context.fail)

    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        self._check_flow("shared_array")
        arena = self._context.arena
        if arena is None:
            raise RuntimeError(
                f"rank {self._me} called shared_array(), which needs ranks that share memory: "
                'use backend="processes", or "torch" without torchrun'
            )
        n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
        start = place_of_array(self, arena, shape, dtype)
        if n_bytes == 0:
            return np.zeros(shape, dtype)
        memory = arena.view(start, n_bytes, f"{self.name}-{start}")
        return np.frombuffer(memory, dtype, n_bytes // dtype.itemsize).reshape(shape)

    def _meet(
        self, verb: str, mine: NDArray[Any], conclude: Callable[[list[NDArray[Any]]], NDArray[Any]]
    ) -> NDArray[Any]:
        self._check_flow(verb)
        return meet(self, verb, mine, conclude)

    def _quietly_send(
        self, verb: str, data: NDArray[Any], to: int, told: str | None = None
    ) -> None:
        sent = envelope(told or verb, data.dtype, data.shape, "numpy")
        going = self._sending(data, sent, to, self._clock(), quietly=True)
        self._drive(Call(verb, NOBODY, to, None, (), self.name), going, None)

    def _quietly_receive(
        self, verb: str, from_: int, awaited: Sequence[int]
    ) -> tuple[str, NDArray[Any]]:
        coming = self._receiving(from_, Wanted(self._quiet_channel, stamp=0))
        self._drive(Call(verb, from_, NOBODY, None, awaited, self.name), None, coming)
        return coming.sent.tag, coming.result  # what its sender calls it, and what it is
