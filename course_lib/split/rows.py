"""A fully connected layer split by its inputs: every rank has some inputs and their weights."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import ThreeFlops
from course_lib.models.fully_connected import FullyConnected
from course_lib.split.cut import Cut, checked_cut

__all__ = ["Rows"]

Array = NDArray[Any]


class Rows:
    """Every rank has some inputs and adds what they give to all outputs.

    Forward, the outputs are the sum over the ranks; the bias is added once, after it. Backward,
    all have the whole slope in the outputs, and nobody needs to be asked. That is ``Columns``
    backwards, and after ``Columns`` it finds its inputs where they are: a pair of layers costs one
    all-reduce forward and one back.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    layer : FullyConnected
        The whole layer, of which nothing but sizes is kept.
    cut : sequence of slice or None, default: None
        The inputs of each rank, as the layer before has cut its outputs; None cuts evenly.
    allreduce : callable, default: allreduce_ring
        Any all-reduce of ``course_lib.collectives``.

    Raises
    ------
    ValueError
        If a rank would have no input.

    Notes
    -----
    Cost: forward an all-reduce of m x n_out numbers; backward none. Weights: 0 bytes.

    Invariant: the outputs, their slope, and the biases are the same on every rank, bit for bit.

    References
    ----------
    M. Shoeybi, M. Patwary, R. Puri et al., "Megatron-LM: Training multi-billion parameter language
    models using model parallelism", arXiv:1909.08053, 2019, section 3.
    """

    def __init__(
        self, comm: Communicator, layer: FullyConnected, cut: Cut | None = None,
        allreduce: Callable[..., Array] = allreduce_ring,
    ) -> None:  # fmt: skip
        self.cut = checked_cut(cut, layer.n_in, comm.size, f"inputs of {layer.name}")
        self.own = self.cut[comm.rank]
        self._comm, self._layer, self._allreduce = comm, layer, allreduce
        n_own = self.own.stop - self.own.start
        self._mine = FullyConnected(layer.name, n_own, layer.n_out, layer.bends)
        self.name, self.n_parameters = layer.name, self._mine.n_parameters

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Add up over the ranks what the own inputs give; then add the bias and bend."""
        W, b = self._mine.unpack(w)
        flat = x.reshape(len(x), self._mine.n_in)  # (m, own inputs)
        with self._comm.compute(f"forward {self.name}", flops=self.flops(len(x)).forward):
            y = flat @ W.T  # (m, n_out), partial
        self._allreduce(self._comm, y, out=y)
        y += b  # once, and not by every rank before the sum
        if self._mine.bends:
            np.maximum(y, 0, out=y)
        return y, (x.shape, flat, y)

    def input_gradient(self, w: Array, saved: Any, dy: Array) -> Array:
        """Return the slope in the own inputs: their outputs are all here."""
        flops = self.flops(len(dy)).input_gradient
        with self._comm.compute(f"input gradient {self.name}", flops=flops):
            return self._mine.input_gradient(w, saved, dy)

    def weight_gradient(self, saved: Any, dy: Array) -> Array:
        """Return the slope in the own weights, and in the biases, which is the same everywhere."""
        flops = self.flops(len(dy)).weight_gradient
        with self._comm.compute(f"weight gradient {self.name}", flops=flops):
            return self._mine.weight_gradient(saved, dy)

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the outputs of one example; refuse other inputs than the own."""
        return self._mine.output_shape(input_shape)

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw a layer's weights output by output, and keep those of the own inputs."""
        return self._layer.initial_part(rng, slice(0, self._layer.n_out), self.own)

    def share(self, w: Array) -> Array:
        """Copy the weights of the own inputs, and all biases."""
        W, b = self._layer.unpack(w)
        return np.concatenate([W[:, self.own].ravel(), b])

    def join(self, parts: Sequence[Array]) -> Array:
        """Put the weights side by side; the biases are the same on every rank."""
        n_out = self._layer.n_out
        weights = [w[:-n_out].reshape(n_out, -1) for w in parts]
        return np.concatenate([np.hstack(weights).ravel(), parts[0][-n_out:]])

    def once(self, w: Array) -> Array:
        """Count the own weights; the biases, which all have, are the first rank's to count."""
        return w if self._comm.rank == 0 else w[: -self._layer.n_out]

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count this rank's operations for so many examples."""
        return self._mine.flops(n_examples)
