"""Top-k: of a long vector, send the few numbers that are largest, and where they stand."""

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.collectives import allgather_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Layer, Model
from course_lib.words.namespace import namespace
from course_lib.words.whole import whole

__all__ = ["TopK"]


@dataclass(frozen=True)
class TopK:
    """Send the k numbers of each rank's vector that are farthest from 0, with their places.

    Every rank chooses other places, so that nothing can be added up on the way: all are told all
    choices, an all-gather in place of an all-reduce. The sum has up to P k numbers that are not 0.

    Attributes
    ----------
    k : int
        How many, from 1 to the length of the vector; with all of them nothing is lost.

    Notes
    -----
    Cost: two all-gathers; on rings 2(P-1) messages and (P-1) k (b + 4) bytes sent by each rank.

    References
    ----------
    A. F. Aji and K. Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017.

    D. Alistarh, T. Hoefler, M. Johansson et al., "The convergence of sparsified gradient methods",
    NeurIPS 2018.
    """

    k: int

    def __post_init__(self) -> None:
        """Check the number."""
        whole("k", self.k, least=1)

    def check(self, model: Model) -> None:
        """Refuse more numbers than the model has."""
        whole("k", self.k, least=1, most=model.n_parameters)

    def start(self, w: Array, layers: Sequence[Layer], seed: int) -> Array:
        """Return nothing."""
        del layers, seed
        return w[:0]

    def add_up(
        self, comm: Communicator, vector: Array, layers: Sequence[Layer], memory: Array
    ) -> tuple[Array, Array]:
        """Return the sum of what all ranks have chosen, and this rank's choice."""
        del layers, memory
        xp = namespace(vector)
        places = xp.argsort(xp.abs(vector))[-self.k :]
        values_of_all = allgather_ring(comm, vector[places])
        places_of_all = allgather_ring(comm, xp.astype(places, xp.int32))
        total, sent = xp.zeros_like(vector), xp.zeros_like(vector)
        for src in range(comm.size):  # in rank order, so that all ranks round alike
            part = slice(src * self.k, (src + 1) * self.k)
            total[places_of_all[part]] += values_of_all[part]
        sent[places] = vector[places]
        return total, sent
