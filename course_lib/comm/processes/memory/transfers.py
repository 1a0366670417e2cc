"""One message on its way out, one on its way in; each goes a step further when asked.

A large message is streamed through its ring in steps, so that the receiver works on one part while
the sender copies the next. With ``op`` the receiver combines every part straight out of the ring
into ``out``, which saves a pass over memory.
"""

from collections.abc import Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.collective_order import differ
from course_lib.comm.messages import OPS, Envelope, Tag, mismatch_of
from course_lib.comm.processes.memory.header import ALIGNMENT, FIXED, Header, aligned
from course_lib.comm.processes.memory.rings import Inlet, Outlet
from course_lib.comm.processes.memory.unexpected import Unexpected, flat_bytes, new_array

if TYPE_CHECKING:
    from course_lib.comm.processes.rank.communicator import ProcessCommunicator

__all__ = ["Receiving", "Sending", "Wanted"]


class Wanted(NamedTuple):
    """What a receive asks for."""

    channel: int
    """The communicator the message has to belong to."""
    stamp: int
    """The collective that the receiver is in."""
    tag: Tag = None
    """The label it must carry."""
    out: Any = None
    """Where to put it; None makes a new array."""
    op: str | None = None
    """How to combine it into ``out``."""


class Sending:
    """A message on its way out.

    Parameters
    ----------
    outlet : Outlet
        The ring to put it into.
    data : numpy.ndarray
        What to send; copied first if its elements do not lie in one run.
    description : bytes
        What the message says about itself, as ``describe`` writes it.
    header : Header
        What stands in front of that.

    Attributes
    ----------
    dst : int
        Who is to receive it.
    begun, done : bool
        Whether its first byte is in the ring; whether ``data`` may be changed again.
    """

    __slots__ = (
        "_asked_at", "_bytes", "_description", "_header", "_needed", "_next", "_waits", "begun",
        "done", "dst", "outlet",
    )  # fmt: skip

    def __init__(
        self, outlet: Outlet, data: NDArray[Any], description: bytes, header: Header
    ) -> None:
        self.outlet = outlet
        self.dst = outlet.dst
        self.begun = False
        self.done = False
        self._bytes = flat_bytes(np.ascontiguousarray(data)).data
        self._next = 0
        self._asked_at = -1  # the outlet's tail when room was asked for
        self._waits = header.waits
        self._description = description
        at_once = 0 if header.waits else aligned(header.n_bytes)
        self._needed = FIXED + aligned(len(description)) + at_once
        self._header = header

    def advance(self, accepted: int) -> bool:
        """Put one step into the ring if there is room; return whether anything moved.

        A message that does not wait is put in whole, so that it can also be taken out whole.
        ``accepted`` is the number of the last message of this flow whose receive has begun.
        """
        outlet, n_bytes = self.outlet, len(self._bytes)
        moved = False
        if not self.begun:
            if outlet.busy or outlet.room() < self._needed:
                return False
            outlet.begin(self._header, self._description)
            outlet.busy = self.begun = moved = True
        if self._next < n_bytes and (room := outlet.room()):
            step = min(room, outlet.largest_step) if self._waits else n_bytes
            outlet.put(self._bytes[self._next : self._next + step])
            self._next += step
            moved = True
        if moved:
            outlet.publish()
            outlet.busy = self._next < n_bytes  # then another flow may use the ring
        if self._next >= n_bytes:
            self.done = not self._waits or accepted == self._header.number
        return moved or self.done

    @property
    def is_stamped(self) -> bool:
        """Whether it is sent in a collective."""
        return self._header.stamp != 0

    @property
    def is_half_way(self) -> bool:
        """Whether the ring has some of its bytes, and no other message may follow them."""
        return self.begun and self._next < len(self._bytes)

    def can_advance(self, accepted: int) -> bool:
        """Tell whether ``advance`` would do something, or more room has to be asked for."""
        outlet = self.outlet
        if not self.begun:
            may_begin = outlet.tail != self._asked_at or outlet.room() >= self._needed
            return may_begin and not outlet.busy
        if self._next < len(self._bytes):
            return outlet.room() > 0
        return accepted == self._header.number

    def ask_for_room(self) -> None:
        """Have the receiver clear the ring, if that is what this message waits for."""
        if not (self.begun or self.outlet.busy):
            self._asked_at = self.outlet.tail
            self.outlet.stall()


class Receiving:
    """A message on its way in.

    Parameters
    ----------
    inlet : Inlet
        The ring to take it out of.
    comm : ProcessCommunicator
        Who receives.
    wanted : Wanted
        What it asks for.

    Attributes
    ----------
    header, sent : Header and Envelope, or None
        What the message says about itself, once it is there.
    refusal : Exception or None
        Why it is not what was wanted, or could not be combined: then it is taken out of the ring
        all the same, so that its sender goes on and the next message is the next.
    result : numpy.ndarray
        The array received into.
    done : bool
        Whether all of it has arrived.
    """

    __slots__ = (
        "_comm", "_flat", "_fused", "_next", "_target", "_wanted", "channel", "done", "header",
        "inlet", "refusal", "result", "sent",
    )  # fmt: skip

    result: NDArray[Any]
    sent: Envelope
    _flat: NDArray[Any] | None

    def __init__(self, inlet: Inlet, comm: "ProcessCommunicator", wanted: Wanted) -> None:
        self.inlet = inlet
        self.channel = wanted.channel
        self.header: Header | None = None
        self.done = False
        self._comm = comm
        self._wanted = wanted
        self._next = 0
        self.refusal: Exception | None = None

    @property
    def src(self) -> int:
        """Who sends it."""
        return self.inlet.src

    @property
    def waited(self) -> bool:
        """Whether its sender has waited for this receive."""
        return self.header is not None and self.header.waits

    def advance(self, wanted: Set[int]) -> bool:
        """Take one step out of the ring if there is one; return whether anything moved.

        Of messages for other channels, those that are ``wanted`` by other flows of this rank are
        left to them; the rest is set aside.
        """
        inlet = self.inlet
        if self.header is not None:
            return self._take(self.header)
        if parcels := inlet.parcels.get(self.channel):
            if not parcels[0].whole:
                return inlet.set_aside()
            self._open(parcels[0])
            parcels.popleft()
            if not parcels:
                del inlet.parcels[self.channel]  # its communicator may never be used again
            return True
        if not inlet.between_messages:
            return not inlet.busy and inlet.set_aside()
        header = inlet.peek()
        if header is None:
            return False
        if header.channel != self.channel:
            return header.channel not in wanted and inlet.set_aside()
        self._begin(header, inlet.peek_sent(header))
        inlet.begin(header)
        inlet.accept(header)
        inlet.busy = True
        self._take(header)
        return True

    def _begin(self, header: Header, sent: Envelope) -> None:
        """Compare the message with what is wanted, then choose where its bytes go."""
        (_, stamp, tag, out, op), comm, src = self._wanted, self._comm, self.inlet.src
        self.header, self.sent = header, sent
        if differ(header.stamp, stamp):
            self.refusal = comm._other_stamp(src, header.stamp)
        else:
            self.refusal = mismatch_of(sent, src, comm._me, tag, out, comm.name)
        self._flat = None
        if self.refusal is not None:
            return  # they go nowhere
        direct = out is not None and out.flags.c_contiguous
        if op is not None and ALIGNMENT % max(np.dtype(sent.dtype).itemsize, 1):
            direct = False  # an element could lie across the ring's end
        self._target = out if out is not None and direct else new_array(sent)
        self._fused = direct and op is not None
        self._flat = self._target.reshape(-1) if self._fused else flat_bytes(self._target)

    def _take(self, header: Header) -> bool:
        inlet, before = self.inlet, self._next
        while self._next < header.n_bytes:
            part = inlet.span(header.n_bytes - self._next)
            if not len(part):
                break
            self._store(part)
            self._next += len(part)
            inlet.skip(len(part))
            if header.waits:
                break  # one step, then let the sender know
        if self._next == header.n_bytes:
            inlet.busy = False
            self._finish()
        if self.done or self._next > before:
            inlet.publish()
        return self.done or self._next > before

    def _store(self, part: NDArray[np.uint8]) -> None:
        if self._flat is None:
            return
        if not self._fused:
            self._flat[self._next : self._next + len(part)] = part
            return
        incoming = part.view(self._flat.dtype)
        start = self._next // incoming.itemsize
        self._combine(self._flat[start : start + len(incoming)], incoming)

    def _combine(self, into: NDArray[Any], incoming: NDArray[Any]) -> None:
        try:
            OPS[str(self._wanted.op)](into, incoming, out=into)
        except Exception as error:  # np.errstate(over="raise"), for one
            self.refusal = self.refusal or error

    def _open(self, parcel: Unexpected) -> None:
        """Take a message that has been set aside."""
        self._begin(parcel.header, parcel.sent)
        self.inlet.accept(parcel.header)
        self._store(flat_bytes(parcel.array))
        self._finish()

    def _finish(self) -> None:
        self.done = True
        if self.refusal is not None:
            return
        out = self._wanted.out
        if out is None or out is self._target:
            self.result = self._target
            return
        self.result = out
        if self._wanted.op is None:
            out[...] = self._target
        else:
            self._combine(out, self._target)
