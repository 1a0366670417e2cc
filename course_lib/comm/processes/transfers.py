"""One message on its way out, one on its way in; each goes a step further when asked.

A large message is streamed through its ring in steps, so that the receiver works on one part while
the sender copies the next. With ``op`` the receiver combines every part straight out of the ring
into ``out``, which saves a pass over memory.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.messages import OPS, Envelope, Tag, check_match
from course_lib.comm.processes.header import ALIGNMENT, Header, aligned, pack
from course_lib.comm.processes.mailbox import Slots
from course_lib.comm.processes.rings import Bytes, Inlet, Outlet, flat_bytes, new_array

__all__ = ["Receiving", "Sending"]


class Sending:
    """A message on its way out.

    Parameters
    ----------
    outlet : Outlet
        The ring to put it into.
    data : numpy.ndarray
        What to send; copied first if its elements do not lie in one run.
    sent : Envelope
        What the message says about itself.
    waits : bool
        Whether the sender waits until the receive is posted.
    now_s : float
        The run's clock.

    Attributes
    ----------
    begun, done : bool
        Whether its first byte is in the ring; whether ``data`` may be changed again.
    """

    def __init__(
        self, outlet: Outlet, data: NDArray[Any], sent: Envelope, waits: bool, now_s: float
    ) -> None:
        self.outlet = outlet
        self.begun = False
        self.done = False
        self._bytes = flat_bytes(np.ascontiguousarray(data)).data
        self._next = 0
        self._waits = waits
        self._tag = sent.tag
        self._number = outlet.number + 1
        self._header = pack(sent, self._number, data.nbytes, waits, now_s)

    def advance(self, seen: list[int], slots: Slots) -> bool:
        """Put one step into the ring if there is room; return whether anything moved.

        A message that does not wait is put in whole, so that it can also be taken out whole.
        """
        outlet, n_bytes = self.outlet, len(self._bytes)
        room = outlet.capacity - (outlet.head - seen[slots.tails + outlet.dst])
        moved = False
        if not self.begun:
            if room < len(self._header) + (0 if self._waits else aligned(n_bytes)):
                return False
            outlet.begin(self._header, self._tag)
            room -= len(self._header)
            self.begun = moved = True
        if self._next < n_bytes and room:
            step = min(room, outlet.largest_step) if self._waits else n_bytes
            outlet.put(self._bytes[self._next : self._next + step])
            self._next += step
            moved = True
        if moved:
            outlet.publish()
        accepted = not self._waits or seen[slots.accepted + outlet.dst] >= self._number
        self.done = self._next >= n_bytes and accepted
        return moved or self.done


class Receiving:
    """A message on its way in.

    Parameters
    ----------
    inlet : Inlet
        The ring to take it out of.
    rank : int
        Who receives.
    out : numpy.ndarray or None
        Where to put it; None makes a new array.
    op : str or None
        How to combine it into ``out``.
    tag : int or str or None
        The label it must carry.

    Attributes
    ----------
    header : Header or None
        What the message says about itself, once it is there.
    result : numpy.ndarray
        The array received into.
    done : bool
        Whether all of it has arrived.
    """

    result: NDArray[Any]

    def __init__(
        self, inlet: Inlet, rank: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> None:
        self.inlet = inlet
        self.header: Header | None = None
        self.done = False
        self._rank = rank
        self._out = out
        self._op = op
        self._tag = tag
        self._next = 0

    def advance(self, seen: list[int], slots: Slots) -> bool:
        """Take one step out of the ring if there is one; return whether anything moved."""
        head = seen[slots.heads + self.inlet.src]
        if self.header is None:
            if self.inlet.unexpected:
                self._take_unexpected()
                return True
            header = self.inlet.peek(head)
            if header is None:
                return False
            self._begin(header)
            self.inlet.begin(header)
            self._take(header, head)
            return True
        return self._take(self.header, head)

    def _begin(self, header: Header) -> None:
        """Compare the message with what is wanted, then choose where its bytes go."""
        out, op = self._out, self._op
        check_match(header.sent, self.inlet.src, self._rank, self._tag, out)
        if op is not None:
            _check_op(op, header.sent.dtype)
        self.header = header
        direct = out is not None and out.flags.c_contiguous
        if op is not None and ALIGNMENT % max(np.dtype(header.sent.dtype).itemsize, 1):
            direct = False  # an element could lie across the ring's end
        self._target = out if out is not None and direct else new_array(header.sent)
        self._fused = direct and op is not None
        self._flat = self._target.reshape(-1) if self._fused else flat_bytes(self._target)

    def _take(self, header: Header, head: int) -> bool:
        inlet, before = self.inlet, self._next
        while self._next < header.n_bytes and inlet.tail < head:
            part = inlet.span(min(header.n_bytes - self._next, head - inlet.tail))
            self._store(part)
            self._next += len(part)
            inlet.skip(len(part))
            if header.waits:
                break  # one step, then let the sender know
        if self._next > before or header.n_bytes == 0:
            inlet.publish()
        if self._next == header.n_bytes:
            self._finish()
        return self._next > before

    def _store(self, part: Bytes) -> None:
        if not self._fused:
            self._flat[self._next : self._next + len(part)] = part
            return
        incoming = part.view(self._flat.dtype)
        start = self._next // incoming.itemsize
        into = self._flat[start : start + len(incoming)]
        OPS[str(self._op)](into, incoming, out=into)

    def _take_unexpected(self) -> None:
        header, array = self.inlet.unexpected[0]
        self._begin(header)
        self.inlet.unexpected.popleft()
        self._store(flat_bytes(array))
        self._next = header.n_bytes
        self._finish()

    def _finish(self) -> None:
        self.inlet.received += 1
        self.done = True
        out, op = self._out, self._op
        if out is None or out is self._target:
            self.result = self._target
            return
        self.result = out
        if op is None:
            out[...] = self._target
        else:
            OPS[op](out, self._target, out=out)


@cache
def _check_op(op: str, dtype: str) -> None:
    """Refuse an operation that the dtype lacks, before any of the message has been combined."""
    nothing = np.empty(0, np.dtype(dtype))
    try:
        OPS[op](nothing, nothing, out=nothing)
    except TypeError as error:
        raise TypeError(
            f"op={op!r} cannot combine arrays of dtype {np.dtype(dtype)}: {error}"
        ) from None
