"""A message in memory of our own: taken out of its ring before anybody has asked for it."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.messages import Envelope
from course_lib.comm.processes.memory.header import Header

if TYPE_CHECKING:
    from course_lib.comm.processes.memory.rings import Inlet

__all__ = ["Bytes", "Unexpected", "flat_bytes", "new_array"]

Bytes = NDArray[np.uint8]


class Unexpected:
    """A message that is taken out of its ring before anybody has asked for it.

    Attributes
    ----------
    header, sent
        What it says about itself.
    array : numpy.ndarray
        Where it goes, in memory of our own.
    whole : bool
        Whether all of it is there.
    """

    __slots__ = ("_flat", "_next", "array", "header", "sent")

    def __init__(self, header: Header, sent: Envelope) -> None:
        self.header = header
        self.sent = sent
        self.array = new_array(sent)
        self._flat = flat_bytes(self.array)
        self._next = 0

    @property
    def whole(self) -> bool:
        """Whether all of it is there."""
        return self._next == self.header.n_bytes

    def take_from(self, inlet: "Inlet") -> bool:
        """Take what the ring holds of it; return whether that was anything."""
        before = self._next
        while not self.whole and len(part := inlet.span(self.header.n_bytes - self._next)):
            self._flat[self._next : self._next + len(part)] = part
            self._next += len(part)
            inlet.skip(len(part))
        return self._next > before


def new_array(sent: Envelope) -> NDArray[Any]:
    """Make an array for a message."""
    return np.empty(sent.shape, np.dtype(sent.dtype))


def flat_bytes(array: NDArray[Any]) -> Bytes:
    """View a C-contiguous array as bytes."""
    if array.nbytes == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1).view(np.uint8)
