"""One message on its way out, one on its way in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from course_lib.comm.collective_order import differ
from course_lib.comm.errors import CollectiveMismatchError
from course_lib.comm.messages import Envelope, Tag, mismatch_of
from course_lib.comm.processes.memory.unexpected import new_array
from course_lib.comm.torch_backend.arrays import Data, empty, flat_bytes, store
from course_lib.comm.torch_backend.packets import Packet, pack

__all__ = ["Receiving", "Sending"]


class Sending:
    """A message on its way out.

    Parameters
    ----------
    src, dst : int
        From whom to whom.
    data : numpy.ndarray or OnDevice
        What to send.
    sent : Envelope
        What it says about itself.
    waits : bool
        Whether the sender waits until the receive is posted.
    number, channel, stamp : int
        Which of the rank's messages it is, of which communicator, and of which collective.
    on_device : bool
        Whether it goes from one GPU to another.

    Attributes
    ----------
    letter : bytearray
        What is written to the receiver first.
    payload : torch.Tensor
        The bytes that follow if it waits.
    work : Work or None
        Their sending, once the receiver has asked for them.
    """

    def __init__(
        self, src: int, dst: int, data: Data, sent: Envelope, *, waits: bool, number: int,
        channel: int, stamp: int, on_device: bool,
    ) -> None:  # fmt: skip
        self.dst = dst
        self.number = number
        self.waits = waits
        self.work: Any = None
        self.payload = flat_bytes(data)
        self.on_device = on_device and waits and self.payload.device.type != "cpu"
        if not self.on_device:
            self.payload = self.payload.cpu()
        whole = None if waits else self.payload.numpy().tobytes()
        self.letter = pack(
            src, number, channel, stamp, sent, data.nbytes, whole, on_device=self.on_device
        )  # fmt: skip

    @property
    def done(self) -> bool:
        """Whether it has left, once its letter has."""
        return not self.waits or self.work is not None


class Receiving:
    """A message on its way in.

    Parameters
    ----------
    src, rank : int
        From whom to whom.
    channel : int
        The communicator it belongs to.
    out : numpy.ndarray or OnDevice or None
        Where to put it; None makes a new array.
    op : str or None
        How to combine it into ``out``.
    tag : int or str or None
        The label it must carry.
    comm : str
        The communicator's name.
    device : str
        Where the rank's arrays live.
    stamp : int
        The collective that the receiver is in.
    other_stamp : callable
        Makes the error for a message of another one.

    Attributes
    ----------
    letter : Packet or None
        What the sender wrote, once it is here.
    refusal : Exception or None
        Why it is not what was wanted, or could not be combined; then what follows is received all
        the same, so that the sender goes on and the next message is the next.
    work : Work or None
        The receiving of what follows.
    done : bool
        Whether all of it has arrived.
    result : numpy.ndarray or OnDevice
        The array received into.
    """

    sent: Envelope
    result: Any

    def __init__(
        self, src: int, rank: int, channel: int, out: Data | None, op: str | None, tag: Tag,
        comm: str, device: str, stamp: int,
        other_stamp: Callable[[int, int], CollectiveMismatchError],
    ) -> None:  # fmt: skip
        self.src = src
        self.channel = channel
        self.letter: Packet | None = None
        self.work: Any = None
        self.done = False
        self._rank = rank
        self._out = out
        self._op = op
        self._tag = tag
        self._comm = comm
        self._device = device
        self._stamp = stamp
        self._other_stamp = other_stamp
        self.refusal: Exception | None = None

    @property
    def waited(self) -> bool:
        """Whether its sender has waited for this receive."""
        return self.letter is not None and self.letter.waits

    @property
    def may_be_asked_for(self) -> bool:
        """Whether its sender waits to be asked for the rest."""
        return self.waited and self.work is None

    def open(self, letter: Packet) -> None:
        """Compare what the sender wrote with what is wanted, and make room."""
        assert letter.sent is not None, "a message says what it is"
        out: Any = self._out
        self.letter, self.sent = letter, letter.sent
        if differ(letter.stamp, self._stamp):
            self.refusal = self._other_stamp(self.src, letter.stamp)
        else:
            self.refusal = mismatch_of(
                letter.sent, self.src, self._rank, self._tag, out, self._comm
            )
        if self.refusal is not None:
            out = None  # it goes nowhere
        if letter.on_device:
            self._message: Any = empty(self.sent.dtype, self.sent.shape, self._device)
        elif not letter.waits:
            self._message = new_array(self.sent)
            flat_bytes(self._message).numpy()[:] = np.frombuffer(letter.data, np.uint8)
        elif isinstance(out, np.ndarray) and self._op is None and out.flags.c_contiguous:
            self._message = out
        else:
            self._message = new_array(self.sent)

    @property
    def room(self) -> torch.Tensor:
        """Where the bytes that follow go."""
        return flat_bytes(self._message)

    def finish(self) -> None:
        """Put the message, all bytes of which have come, where it is wanted."""
        self.done = True
        if self.refusal is not None:
            return
        self.result = self._message
        if self._out is None or self._message is self._out:
            return
        self.result = self._out
        try:
            store(self._out, self._op, self._message)
        except Exception as error:  # np.errstate(over="raise"), for one
            self.refusal = error
