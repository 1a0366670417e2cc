"""Split as DistBelief drew it: every layer's units are divided, and activations cross the cuts."""

from typing import Any

from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.split.columns import Columns
from course_lib.split.cut import Cut, checked_cut
from course_lib.split.exchange import gather_parts, sum_parts
from course_lib.split.split_layer import Divisible

__all__ = ["Units"]

Array = NDArray[Any]


class Units(Columns):
    """Every rank has some units of the layer before and computes some of this layer.

    It needs the activations of all units before: those of the others cross the cut between two
    machines, forward. Back comes, for each of them, what the units on the other side say of it.
    Weights belong to the machine of the unit that they lead to, and never cross.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    layer : FullyConnected or Convolution
        The whole layer, of which nothing but sizes is kept.
    n_before : int
        How many units, or channels, the layer before has: those that ``cut_before`` cuts.
    cut_before : sequence of slice or None, default: None
        The units of the layer before that each rank has; None cuts evenly.
    cut : sequence of slice or None, default: None
        Those of this layer; None cuts evenly.
    gathers : bool, default: False
        Whether all ranks end with all outputs: for the last layer.

    Raises
    ------
    ValueError
        If a rank would have no unit.

    Notes
    -----
    Cost: P - 1 messages each way; across the cut from rank r to any other go m x units x itemsize
    bytes forward, and as many back, for m examples and r's units of the layer before. With
    ``gathers`` so many more forward for its outputs. Weights: 0 bytes.

    Invariant: an activation is computed by one rank alone, and so is the sum of its slope.

    References
    ----------
    J. Dean, G. S. Corrado, R. Monga et al., "Large scale distributed deep networks", NIPS 2012,
    section 3 and figure 1.
    """

    def __init__(
        self, comm: Communicator, layer: Divisible, n_before: int, cut_before: Cut | None = None,
        cut: Cut | None = None, gathers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(comm, layer, cut, gathers)
        self.cut_before = checked_cut(
            cut_before, n_before, comm.size, f"units of the layer before {layer.name}"
        )
        self._n_before = n_before

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what this rank has of one example after it."""
        return super().output_shape((self._n_before, *input_shape[1:]))

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Gather all activations of the layer before, (m, n_before, ...); compute the own ones."""
        return super().forward(w, gather_parts(self._comm, x, self.cut_before, dim=1))

    def input_gradient(self, w: Array, saved: Any, dy: Array) -> Array:
        """Add up what all ranks say of the own units of the layer before."""
        dx_partial = self._mine.input_gradient(w, saved, self._own(dy))
        return sum_parts(self._comm, dx_partial, self.cut_before, dim=1)
