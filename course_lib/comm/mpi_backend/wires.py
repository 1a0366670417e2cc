"""A rank's ends of all connections, over MPI.

One call of MPI at a time, and none that waits: so MPI needs no threads of its own, a wait can be
broken off, and nobody keeps a core busy for nothing.
"""

import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from mpi4py import MPI

from course_lib.comm.torch_backend.joining import WiresClosed
from course_lib.comm.torch_backend.plain import plainly

__all__ = ["TURN", "MPIWires", "Patience", "Work", "wait_for"]

TURN = threading.Lock()
"""Held by the thread that calls MPI."""

_PACKETS = 0
_MOST_ON_THE_WAY = 64
_LONGEST_REST_S = 1e-3
_ABANDONED: list[Any] = []
"""Transfers that have been given up: MPI may still write to where they go, or read."""


class Patience:
    """Rests between two looks: an eighth of the time that has been waited, a millisecond at most.

    Parameters
    ----------
    stirred : threading.Event or None, default: None
        Ends a rest: something has begun, so that an answer may come soon.
    """

    def __init__(self, stirred: threading.Event | None = None) -> None:
        self._stirred = stirred
        self._since_s = time.perf_counter()

    def rest(self) -> None:
        """Sleep for a while."""
        rest_s = min((time.perf_counter() - self._since_s) / 8, _LONGEST_REST_S)
        if self._stirred is None:
            time.sleep(rest_s)
        elif self._stirred.wait(rest_s):
            self._stirred.clear()
            self._since_s = time.perf_counter()


def wait_for(request: MPI.Request, limit_s: float) -> bool:
    """Wait for what all ranks do together.

    Parameters
    ----------
    request : MPI.Request
        Of a collective.
    limit_s : float
        For how long, at most.

    Returns
    -------
    bool
        Whether it is over.
    """
    until_s, patience = time.monotonic() + limit_s, Patience()
    while True:
        with TURN:
            if request.Test():
                return True
        if time.monotonic() > until_s:
            _ABANDONED.append(request)
            return False
        patience.rest()


class Work:
    """A message that MPI is moving.

    Parameters
    ----------
    wires : MPIWires
        On whose connections.
    request : MPI.Request
        As MPI knows it.
    """

    def __init__(self, wires: "MPIWires", request: MPI.Request) -> None:
        self._wires = wires
        self._request = request

    def is_over(self) -> bool:
        """Look whether it has been moved."""
        with self._wires.turn():
            return bool(self._request.Test())

    def wait(self) -> None:
        """Wait until it has been moved."""
        patience = Patience()
        while not self.is_over():
            patience.rest()
        self._wires.under_way.pop(id(self), None)


class MPIWires:
    """A rank's ends of all connections.

    Parameters
    ----------
    comm : MPI.Comm
        For our messages alone.
    device : str
        Where the rank's tensors live.

    Attributes
    ----------
    between_gpus : bool
        Whether bytes go from one GPU to another; here they go through memory.
    under_way : dict
        What MPI is moving.
    is_clean : bool
        Whether all has been sent and received, so that ``comm`` may be used again.
    """

    between_gpus = False

    def __init__(self, comm: MPI.Comm, device: str) -> None:
        self.device = device
        self.under_way: dict[int, Work] = {}
        self.is_clean = False
        self._comm = comm
        most: Any = comm.Get_attr(MPI.TAG_UB)
        self._n_tags = int(most)
        self._is_closed = False
        self._stirred = threading.Event()
        self._posting = threading.Lock()
        self._on_the_way: deque[Work] = deque()

    def turn(self) -> "_Turn":
        """Have the right to call MPI, if these connections are still open."""
        return _Turn(self)

    def _begin(self, call: Any, buffer: Any, peer: int, tag: int) -> Work:
        with self.turn():
            work = Work(self, call([buffer, MPI.BYTE], peer, tag))
            self.under_way[id(work)] = work
        self._stirred.set()
        return work

    def post(self, packet: bytearray, dst: int) -> None:
        """Send a packet. Its receiver takes it whatever it does, so that this does not block."""
        with self._posting, suppress(WiresClosed):
            self._on_the_way.append(self._begin(self._comm.Isend, packet, dst, _PACKETS))
            if len(self._on_the_way) > _MOST_ON_THE_WAY:
                self._on_the_way.popleft().wait()

    def deliver(self, packet: bytearray, dst: int) -> Work:
        """Send a packet, and return what waits until it has left."""
        return self._begin(self._comm.Isend, packet, dst, _PACKETS)

    def next_packet(self, buffer: Any) -> None:
        """Wait for a packet from anybody."""
        patience = Patience(self._stirred)
        while True:
            with self.turn():
                message = self._comm.Improbe(MPI.ANY_SOURCE, _PACKETS)
                if message is not None:
                    work = Work(self, message.Irecv([buffer.numpy(), MPI.BYTE]))
                    break
            patience.rest()
        work.wait()

    def forget(self, dst: int) -> None:
        """Do nothing: who has returned takes packets until all have."""

    def flush(self, limit_s: float | None = None) -> None:
        """Wait until all packets have been taken, for ``limit_s`` at most: who stops takes none."""
        until_s, patience = time.monotonic() + (limit_s or 0), Patience()
        with self._posting, suppress(WiresClosed):
            while self._on_the_way:
                if self._on_the_way[0].is_over():
                    self._on_the_way.popleft().wait()
                elif limit_s is not None and time.monotonic() > until_s:
                    return
                else:
                    patience.rest()

    def abort(self) -> None:
        """Let everything that waits for a connection fail, whatever thread it is in."""
        with TURN:
            self._is_closed = True
            _ABANDONED.extend(self.under_way.values())
            self.under_way.clear()
        self._stirred.set()

    def leave(self) -> None:
        """Do nothing: no program finds what MPI has made for us."""

    def drop(self) -> None:
        """Do nothing: MPI may still write to where messages go (``ending`` leaves it)."""

    def close(self) -> None:
        """Note that all have taken all: the next run may begin where this one has ended."""
        self.is_clean = True
        self.abort()

    @plainly
    def send(self, payload: Any, dst: int, number: int, *, on_device: bool) -> Work:  # noqa: ARG002
        """Begin to send what has been asked for."""
        return self._begin(self._comm.Isend, payload.numpy(), dst, self._tag(number))

    @plainly
    def receive(self, room: Any, src: int, number: int, *, on_device: bool) -> Work:  # noqa: ARG002
        """Begin to receive what has been asked for."""
        return self._begin(self._comm.Irecv, room.numpy(), src, self._tag(number))

    def _tag(self, number: int) -> int:
        return number % self._n_tags + 1


class _Turn:
    """The right to call MPI; what MPI says of a connection that has broken is told as such."""

    def __init__(self, wires: MPIWires) -> None:
        self._wires = wires

    def __enter__(self) -> None:
        TURN.acquire()
        if self._wires._is_closed:
            TURN.release()
            raise WiresClosed("the connections of this run have been closed")

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        TURN.release()
        if isinstance(error, MPI.Exception):
            raise WiresClosed(str(error)) from error
