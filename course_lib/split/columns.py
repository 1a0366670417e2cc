"""A layer split by its outputs: every rank has some of the units, or channels, and their weights.

With inputs on the right of W^T the weights of an output are a column, hence the name.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import ThreeFlops
from course_lib.split.cut import Cut, checked_cut
from course_lib.split.exchange import gather_parts
from course_lib.split.split_layer import Divisible, Whole

__all__ = ["Columns"]

Array = NDArray[Any]


class Columns:
    """Every rank has all inputs and computes some outputs of a layer.

    Forward, nobody needs to be asked. Backward, every rank knows what its own outputs say of the
    inputs; the slope in the inputs is the sum over the ranks.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    layer : FullyConnected or Convolution
        The whole layer, of which nothing but sizes is kept.
    cut : sequence of slice or None, default: None
        The outputs of each rank; None cuts evenly.
    gathers : bool, default: False
        Whether all ranks end with all outputs: for the last layer, and where the next is not split.
    allreduce : callable, default: allreduce_ring
        Any all-reduce of ``course_lib.collectives``.

    Raises
    ------
    ValueError
        If a rank would have no output.

    Notes
    -----
    Cost: forward none, with ``gathers`` P - 1 messages of m x own outputs numbers; backward an
    all-reduce of m x n_in numbers, which the first layer of a chain is spared. Weights: 0 bytes.

    Invariant: the inputs, and their slope, are the same on every rank, bit for bit.

    References
    ----------
    M. Shoeybi, M. Patwary, R. Puri et al., "Megatron-LM: Training multi-billion parameter language
    models using model parallelism", arXiv:1909.08053, 2019, section 3.
    """

    def __init__(
        self, comm: Communicator, layer: Divisible, cut: Cut | None = None, gathers: bool = False,
        allreduce: Callable[..., Array] = allreduce_ring,
    ) -> None:  # fmt: skip
        self.cut = checked_cut(cut, layer.n_out, comm.size, f"outputs of {layer.name}")
        self.own = self.cut[comm.rank]
        self._comm, self._layer, self._gathers = comm, layer, gathers
        self._allreduce = allreduce
        self._mine = Whole(comm, layer.of_outputs(self.own.stop - self.own.start))
        self.name, self.n_parameters = layer.name, self._mine.n_parameters

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Compute the own outputs, (m, own); with ``gathers`` all, (m, n_out)."""
        y, saved = self._mine.forward(w, x)
        return gather_parts(self._comm, y, self.cut, dim=1) if self._gathers else y, saved

    def input_gradient(self, w: Array, saved: Any, dy: Array) -> Array:
        """Add up over the ranks what the own outputs say of the inputs."""
        dx_partial = self._mine.input_gradient(w, saved, self._own(dy))
        return np.asarray(self._allreduce(self._comm, dx_partial, out=dx_partial))

    def weight_gradient(self, saved: Any, dy: Array) -> Array:
        """Return the slope in the own weights, which nobody else knows or needs."""
        return self._mine.weight_gradient(saved, self._own(dy))

    def _own(self, dy: Array) -> Array:
        return dy[:, self.own] if self._gathers else dy

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what this rank has of one example after it."""
        layer = self._layer if self._gathers else self._mine
        return layer.output_shape(input_shape)

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw a layer's weights output by output, and keep those of the own ones."""
        return self._layer.initial_part(rng, self.own)

    def share(self, w: Array) -> Array:
        """Copy the weights and biases of the own outputs."""
        weights, biases = self._unpack(w, self._layer.n_out)
        return np.concatenate([weights[self.own].ravel(), biases[self.own]])

    def join(self, parts: Sequence[Array]) -> Array:
        """Put all weights one after another, and then all biases."""
        pairs = [
            self._unpack(w, part.stop - part.start) for w, part in zip(parts, self.cut, strict=True)
        ]
        weights, biases = zip(*pairs, strict=True)
        return np.concatenate([*(w.ravel() for w in weights), *biases])

    def once(self, w: Array) -> Array:
        """Count all: nobody else has them."""
        return w

    @staticmethod
    def _unpack(w: Array, n_out: int) -> tuple[Array, Array]:
        return w[:-n_out].reshape(n_out, -1), w[-n_out:]

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count this rank's operations for so many examples."""
        return self._mine.flops(n_examples)
