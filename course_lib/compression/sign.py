"""Signs: one bit a number, which way, and one number for all of them, how far."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.collectives import allgather_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Layer, Model

__all__ = ["Sign"]


@dataclass(frozen=True)
class Sign:
    """Send the sign of every number, eight in a byte, and the mean of their sizes.

    What a rank sends is that mean, with the signs: as far as its vector is on average, in one of
    the corners of a cube. The ranks' are added up, so that who has longer vectors counts more; in a
    majority vote all would count alike, and what was lost could not be told from what was outvoted.
    Vectors are NumPy's.

    Notes
    -----
    Cost: two all-gathers; on rings 2(P-1) messages and (P-1)(ceil(n/8) + b) bytes sent by each
    rank.

    References
    ----------
    S. P. Karimireddy, Q. Rebjock, S. U. Stich and M. Jaggi, "Error feedback fixes SignSGD and other
    gradient compression schemes", ICML 2019, algorithm 1: its ``||p||_1 / d sign(p)``.
    """

    def check(self, model: Model) -> None:
        """Accept any model."""

    def start(self, w: Array, layers: Sequence[Layer], seed: int) -> Array:
        """Return nothing, and refuse what is not NumPy's."""
        del layers, seed
        if not isinstance(w, np.ndarray):
            raise TypeError(
                f"Sign packs bits of NumPy's arrays, got {type(w).__name__}: leave on_device out"
            )
        return w[:0]

    def add_up(
        self, comm: Communicator, vector: Array, layers: Sequence[Layer], memory: Array
    ) -> tuple[Array, Array]:
        """Return the sum of all ranks' scaled signs, and this rank's."""
        del layers, memory
        scales = allgather_ring(comm, np.abs(vector).mean(keepdims=True))
        bits = allgather_ring(comm, np.packbits(vector >= 0))
        parts = [
            scale * (2 * np.unpackbits(packed, count=len(vector)).astype(vector.dtype) - 1)
            for scale, packed in zip(scales, np.split(bits, comm.size), strict=True)
        ]
        total = np.zeros_like(vector)
        for part in parts:  # in rank order, so that all ranks round alike
            total += part
        return total, parts[comm.rank]
