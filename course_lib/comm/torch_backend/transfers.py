"""One message on its way out, one on its way in."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from course_lib.comm.collective_order import differ
from course_lib.comm.messages import Envelope, mismatch_of
from course_lib.comm.processes.memory.transfers import Wanted
from course_lib.comm.processes.memory.unexpected import new_array
from course_lib.comm.torch_backend.arrays import Data, empty, flat_bytes, store
from course_lib.comm.torch_backend.packets import Packet, pack
from course_lib.comm.torch_backend.plain import plainly

if TYPE_CHECKING:
    from course_lib.comm.torch_backend.communicator import TorchCommunicator

__all__ = ["Receiving", "Sending"]


class Sending:
    """A message on its way out.

    Parameters
    ----------
    dst : int
        To whom it goes.
    data : numpy.ndarray or OnDevice
        What to send.
    packet : Packet
        What announces it.

    Attributes
    ----------
    packed : bytearray
        What is written to the receiver first.
    payload : torch.Tensor
        The bytes that follow if it waits.
    work : Work or None
        Their sending, once the receiver has asked for them.
    exchanged : Receiving or None
        What is received from the same rank meanwhile.
    is_held : bool
        Whether the receiver has asked for them, and they wait until that is asked for, too.
    """

    @plainly
    def __init__(self, dst: int, data: Data, packet: Packet) -> None:
        self.dst = dst
        self.number = packet.number
        self.waits = packet.waits
        self.work: Any = None
        self.exchanged: Receiving | None = None
        self.is_held = False
        self.payload = flat_bytes(data)
        self.on_device = packet.on_device and self.waits and self.payload.device.type != "cpu"
        if not self.on_device:
            self.payload = self.payload.cpu()
        whole = b"" if self.waits else self.payload.numpy().tobytes()
        self.packed = pack(packet._replace(on_device=self.on_device, data=whole))

    @property
    def done(self) -> bool:
        """Whether it has left, once its packet has."""
        return not self.waits or self.work is not None


class Receiving:
    """A message on its way in.

    Parameters
    ----------
    src : int
        From whom it comes.
    comm : TorchCommunicator
        Who receives.
    wanted : Wanted
        What it asks for.

    Attributes
    ----------
    packet : Packet or None
        What the sender wrote, once it is here.
    refusal : Exception or None
        Why it is not what was wanted, or could not be combined; then what follows is received all
        the same, so that the sender goes on and the next message is the next.
    work : Work or None
        The receiving of what follows.
    has_asked : bool
        Whether the sender knows that it is wanted; only exchanges note it.
    done : bool
        Whether all of it has arrived.
    result : numpy.ndarray or OnDevice
        The array received into.
    """

    sent: Envelope
    result: Any

    def __init__(self, src: int, comm: "TorchCommunicator", wanted: Wanted) -> None:
        self.src = src
        self.channel = wanted.channel
        self.packet: Packet | None = None
        self.work: Any = None
        self.has_asked = False
        self.done = False
        self._comm = comm
        self._wanted = wanted
        self.refusal: Exception | None = None

    @property
    def waited(self) -> bool:
        """Whether its sender has waited for this receive."""
        return self.packet is not None and self.packet.waits

    @property
    def may_be_asked_for(self) -> bool:
        """Whether its sender waits to be asked for the rest."""
        return self.waited and self.work is None

    @plainly
    def open(self, packet: Packet) -> None:
        """Compare what the sender wrote with what is wanted, and make room."""
        assert packet.sent is not None, "a message says what it is"
        (_, stamp, tag, out, op), comm = self._wanted, self._comm
        self.packet, self.sent = packet, packet.sent
        if differ(packet.stamp, stamp):
            self.refusal = comm._other_stamp(self.src, packet.stamp)
        else:
            self.refusal = mismatch_of(packet.sent, self.src, comm._me, tag, out, comm.name)
        if self.refusal is not None:
            out = None  # it goes nowhere
        if packet.on_device:
            self._message: Any = empty(self.sent.dtype, self.sent.shape, comm.device)
        elif not packet.waits:
            self._message = new_array(self.sent)
            flat_bytes(self._message).numpy()[:] = np.frombuffer(packet.data, np.uint8)
        elif isinstance(out, np.ndarray) and op is None and out.flags.c_contiguous:
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
        out = self._wanted.out
        if out is None or self._message is out:
            return
        self.result = out
        try:
            store(out, self._wanted.op, self._message)
        except Exception as error:  # np.errstate(over="raise"), for one
            self.refusal = error
