"""The communicator of one real worker: the verbs, over the rank's port."""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import get_ident
from time import perf_counter
from typing import Any, ClassVar, NoReturn, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import WORLD, Communicator
from course_lib.comm.errors import MessageMismatchError
from course_lib.comm.messages import Envelope, Tag, envelope
from course_lib.comm.pending import Pending
from course_lib.comm.processes.flows import Call, Flow
from course_lib.comm.processes.home import Home
from course_lib.comm.processes.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.small import receive_small, send_small
from course_lib.comm.processes.started import Started
from course_lib.comm.processes.tallies import Tally
from course_lib.comm.processes.transfers import Receiving, Sending

__all__ = ["ProcessCommunicator"]

_MOST_TAGS = 1_000
T = TypeVar("T")


class ProcessCommunicator(Communicator):
    """A communicator over shared memory.

    What is said of shared memory alone stands in four methods, ``_sending``, ``_receiving`` and the
    two of small messages; another world of real processes has others in their place.

    Parameters
    ----------
    home : Home
        The rank's port and settings.
    flow : Flow
        Whose verbs it serves.
    name : str, default: "world"
        The same on all its ranks; their messages find each other by it.
    members : sequence of int or None, default: None
        Its ranks, as ranks of the whole run; None for all.

    Attributes
    ----------
    n_sent, n_received : dict of int
        Without a trace, how many messages went to and came from each rank of the whole run.
    last_tags : dict of deque
        The tags of the last messages to each, for a warning if nobody receives them.
    """

    _send_small: ClassVar[Callable[..., bool]] = staticmethod(send_small)
    _receive_small: ClassVar[Callable[..., Any]] = staticmethod(receive_small)

    def __init__(
        self, home: Home, flow: Flow, name: str = WORLD, members: Sequence[int] | None = None
    ) -> None:
        me = home.port.rank
        members = tuple(range(home.port.size) if members is None else members)
        super().__init__(members.index(me), len(members), home.seed, name, members, home.sites)
        self._records = home.trace
        flow.comm = flow.comm or self
        self.n_sent: dict[int, int] = defaultdict(int)
        self.n_received: dict[int, int] = defaultdict(int)
        self.last_tags: dict[int, deque[Tag]] = defaultdict(lambda: deque(maxlen=_MOST_TAGS))
        self._home = home
        self._port = home.port
        self._recorder = home.recorder
        self._sends = home.recorder.sends if home.trace else None
        self._receives = home.recorder.receives if home.trace else None
        self._origin_s = home.origin_s
        self._flow = flow
        self._me = me
        self._peers = [peer for peer in members if peer != me]
        channel = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
        self._channel = channel & ~1
        self._quiet_channel = channel | 1  # for what barrier, split and the like say to each other
        home.communicators.append(ref(self, home.communicators.remove))

    def __del__(self) -> None:
        """Leave behind how many messages there were."""
        self._home.tallies.add(self.tally())

    def tally(self) -> Tally:
        """Say what this rank has sent and received."""
        last_tags = {dst: tuple(tags) for dst, tags in self.last_tags.items()}
        sent, received = dict(self.n_sent), dict(self.n_received)
        return Tally(self.name, sent, received, last_tags, self._last_stamp)

    # Messages

    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        if self._flow.thread != get_ident():
            self._refuse_thread("send")
        to, posted_s = self._members[dst], perf_counter() - self._origin_s
        if not self._send_small(self._home, data, sent, to, self._channel, posted_s, self._stamp):
            going = self._sending(data, sent, to, posted_s)
            self._drive(Call("send", NOBODY, to, sent.tag, (), self.name), going, None)
        self._record_send(sent, to, data.nbytes, posted_s)

    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        if self._flow.thread != get_ident():
            self._refuse_thread("recv")
        return self._receive("recv", self._members[src], out, op, tag)

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        if self._flow.thread != get_ident():
            self._refuse_thread("recv_any")
        call = Call("recv_any", ANYONE, NOBODY, None, self._peers, self.name)
        src = self._port.first_arrived(self._flow, call, self._channel, self._peers)
        data, sent = self._receive("recv_any", src, None, None, None)
        return self._members.index(src), data, sent

    def _sendrecv(
        self, data: NDArray[Any], sending: Envelope, dst: int, src: int,
        out: NDArray[Any] | None, op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:  # fmt: skip
        if self._flow.thread != get_ident():
            self._refuse_thread("sendrecv")
        to, from_ = self._members[dst], self._members[src]
        posted_s = perf_counter() - self._origin_s
        if self._send_small(self._home, data, sending, to, self._channel, posted_s, self._stamp):
            self._record_send(sending, to, data.nbytes, posted_s)
            return self._receive("sendrecv", from_, out, op, None)
        going = self._sending(data, sending, to, posted_s)
        taken = self._take("sendrecv", going, from_, out, op, None)
        self._record_send(sending, to, data.nbytes, posted_s)
        return taken

    def _receive(
        self, verb: str, from_: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        small: tuple[NDArray[Any], Envelope] | None = self._receive_small(
            self._port, self._flow, from_, self._channel, out, op, tag, self
        )
        if small is None:
            return self._take(verb, None, from_, out, op, tag)
        self._record_receive(from_, waited=False)
        return small

    def _take(
        self, verb: str, going: Any, from_: int,
        out: NDArray[Any] | None, op: str | None, tag: Tag,
    ) -> tuple[NDArray[Any], Envelope]:  # fmt: skip
        """Receive a message the general way, while another may be going out."""
        coming = self._receiving(from_, self._channel, out, op, tag, self._stamp)
        to = NOBODY if going is None else going.dst
        self._drive(Call(verb, from_, to, tag, (), self.name), going, coming)
        self._record_receive(from_, waited=coming.waited)
        return coming.result, coming.sent

    def _refuse_thread(self, verb: str) -> NoReturn:
        raise RuntimeError(
            f"rank {self._me} called {verb}() of communicator {self.name!r} in another thread "
            "than its own; one communicator belongs to one thread: a function given to start() "
            "is to use the communicator that it is handed"
        )

    def _sending(
        self, data: NDArray[Any], sent: Envelope, to: int, posted_s: float, quietly: bool = False
    ) -> Any:
        port = self._port
        return Sending(
            port.outlets[to], data, sent,
            waits=not quietly and data.nbytes > self._home.eager_bytes,
            beside=not quietly and len(port.flows) > 1, flow=self._flow.number,
            channel=self._quiet_channel if quietly else self._channel,
            number=next(port.numbers), posted_s=posted_s, stamp=0 if quietly else self._stamp,
        )  # fmt: skip

    def _receiving(
        self, from_: int, channel: int, out: NDArray[Any] | None, op: str | None, tag: Tag,
        stamp: int,
    ) -> Any:  # fmt: skip
        return Receiving(
            self._port.inlets[from_], channel, self._me, out, op, tag, self.name, stamp,
            self._refuse_stamp,
        )  # fmt: skip

    def _drive(self, call: Call, going: Any, coming: Any) -> None:
        self._port.drive(self._flow, call, going, coming)
        if self._flow.waits:
            self._note_waits(call)

    # Groups and what runs beside

    def _barrier(self) -> None:
        self._exchange("barrier", np.empty(0, np.int64))

    def _split(self, color: int | None, key: int) -> Communicator | None:
        mine = np.array([color is not None, color or 0, key], np.int64)
        table = self._exchange("split", mine).tolist()
        if color is None:
            return None
        joined = sorted(
            (k, rank) for rank, (joins, c, k) in enumerate(table) if joins and c == color
        )
        name = f"{self.name}/split {self._n_splits} color {color}"
        members = [self._members[rank] for _, rank in joined]
        return type(self)(self._home, self._flow, name, members)

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        if self._flow.thread != get_ident():
            self._refuse_thread("start")
        name = f"{self.name}/start {self._n_started}"

        def body(flow: Flow) -> T:
            return fn(type(self)(self._home, flow, name, self._members), *args)

        started = Started(self._port, name, body, lambda: self._no_compute("wait"))
        self._home.starter.start(started)
        return started

    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        # The first rank hears what all ask for, makes it, and tells the others where it lies.
        if self._flow.thread != get_ident():
            self._refuse_thread("shared_array")
        arena = self._home.arena
        if arena is None:
            raise RuntimeError(
                f"rank {self._me} called shared_array(), which needs ranks that share memory: "
                'use backend="processes", or "torch" without torchrun'
            )
        n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
        mine = np.frombuffer(json.dumps([dtype.str, shape]).encode(), np.uint8)
        first = self._members[0]
        if self.rank != 0:
            self._quietly_send("shared_array", mine, first)
            start = int(self._quietly_receive("shared_array", first, (first,))[0])
        else:
            for index, peer in enumerate(self._peers):
                theirs = self._quietly_receive("shared_array", peer, self._peers[index:])
                if theirs.tobytes() != mine.tobytes():
                    self._refuse_request(mine, theirs, peer)
            start = arena.reserve(n_bytes)
            for peer in self._peers:
                self._quietly_send("shared_array", np.array([start]), peer)
        if n_bytes == 0:
            return np.zeros(shape, dtype)
        memory = arena.view(start, n_bytes, f"{self.name}-{start}")
        return np.frombuffer(memory, dtype, n_bytes // dtype.itemsize).reshape(shape)

    def _refuse_request(self, mine: NDArray[Any], theirs: NDArray[Any], peer: int) -> None:
        asked = []
        for rank, request in ((self._me, mine), (peer, theirs)):
            dtype, shape = json.loads(request.tobytes())
            asked.append(f"rank {rank} asks for dtype {np.dtype(dtype)} and shape {tuple(shape)}")
        raise MessageMismatchError(
            f"the shared arrays do not match: {', '.join(asked)}; all ranks must ask for the same",
            rank=self._me,
        )

    def _exchange(self, verb: str, mine: NDArray[Any]) -> NDArray[Any]:
        """Give every rank what all ranks have, without counting it as messages."""
        if self._flow.thread != get_ident():
            self._refuse_thread(verb)
        if self.rank != 0:
            self._quietly_send(verb, mine, self._members[0])
            return self._quietly_receive(verb, self._members[0], (self._members[0],))
        rows = [mine]
        for index, peer in enumerate(self._peers):
            rows.append(self._quietly_receive(verb, peer, self._peers[index:]))
        table = np.stack(rows)
        for peer in self._peers:
            self._quietly_send(verb, table, peer)
        return table

    def _quietly_send(self, verb: str, data: NDArray[Any], to: int) -> None:
        sent = envelope(verb, data.dtype, data.shape, "numpy")
        going = self._sending(data, sent, to, self._clock(), quietly=True)
        self._drive(Call(verb, NOBODY, to, None, (), self.name), going, None)

    def _quietly_receive(self, verb: str, from_: int, awaited: Sequence[int]) -> NDArray[Any]:
        coming = self._receiving(from_, self._quiet_channel, None, None, None, 0)
        self._drive(Call(verb, from_, NOBODY, None, awaited, self.name), None, coming)
        if coming.sent.tag != verb:
            raise MessageMismatchError(
                f"rank {from_} is in {coming.sent.tag}() where rank {self._me} is in {verb}(); "
                "all ranks must call barrier, split and shared_array in the same order",
                rank=self._me,
            )
        received: NDArray[Any] = coming.result
        return received

    # The trace

    def _record_send(self, sent: Envelope, to: int, n_bytes: int, posted_s: float) -> None:
        if self._sends is None:  # then what nobody receives can only be counted
            self.n_sent[to] += 1
            self.last_tags[to].append(sent.tag)
            return
        tag, dtype, shape, _ = sent
        now_s = perf_counter() - self._origin_s
        self._sends.append((self.name, to, tag, dtype, shape, n_bytes, posted_s, now_s))

    def _record_receive(self, from_: int, *, waited: bool) -> None:
        if self._receives is None:
            self.n_received[from_] += 1
            return
        now_s = perf_counter() - self._origin_s
        # A message that did not wait lay ready in the ring when its sender had copied it.
        self._receives.append((self.name, from_, now_s if waited else None, now_s))

    def _note_waits(self, call: Call) -> None:
        awaited = call.dst if call.src == NOBODY else call.src
        peer = awaited if awaited >= 0 else None
        if self._home.trace:
            origin_s = self._origin_s
            for start_s, end_s in self._flow.waits:
                self._recorder.waits.append(
                    (call.verb, peer, start_s - origin_s, end_s - origin_s, self.name)
                )
        self._flow.waits.clear()

    def _computed(self, label: str, flops: float, started_s: float) -> None:
        if self._home.trace:
            self._recorder.computes.append((label, flops, started_s, self._clock()))

    def _note(self, name: str, value: Any) -> None:
        if self._home.trace:
            self._recorder.notes.append((name, value, self._clock()))

    def _collective(self, name: str, number: int, entered_s: float) -> None:
        left_s = perf_counter() - self._origin_s
        self._recorder.collectives.append((name, number, entered_s, left_s, self.name))

    def _clock(self) -> float:
        return perf_counter() - self._origin_s
