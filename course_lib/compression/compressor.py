"""What every compressor can do."""

from collections.abc import Sequence
from typing import Protocol

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Layer, Model

__all__ = ["Compressor"]


class Compressor(Protocol):
    """A way to add up the vectors of all ranks in fewer bytes than they have."""

    def check(self, model: Model) -> None:
        """Refuse a model whose gradients it cannot compress, with a ``ValueError``."""
        ...

    def start(self, w: Array, layers: Sequence[Layer], seed: int) -> Array:
        """Return what it goes on from in the first step, a vector; of no length if nothing."""
        ...

    def add_up(
        self, comm: Communicator, vector: Array, layers: Sequence[Layer], memory: Array
    ) -> tuple[Array, Array]:
        """Return the sum over the ranks of what they send of their vectors, and this rank's part.

        ``memory`` is what ``start`` returned; it is changed in place. The first sum is the same on
        all ranks, bit for bit, and the sum of their parts.
        """
        ...
