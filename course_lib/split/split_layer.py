"""What a layer is that several ranks compute together, and one that each computes for itself."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.models.chain import ChainLayer, ThreeFlops

__all__ = ["Divisible", "SplitLayer", "Whole"]

Array = NDArray[Any]


class SplitLayer(ChainLayer, Protocol):
    """One rank's part of a layer: all ranks call its methods in the same order.

    It is a ``ChainLayer`` that sends and receives where it has to, and puts what it computes on the
    timeline. So a chain of such layers is trained as any other, by the same text. Its parameters
    are this rank's part: no message ever carries a weight.
    """

    def share(self, w: Array) -> Array:
        """Copy this rank's part out of the parameters of the whole layer."""
        ...

    def join(self, parts: Sequence[Array]) -> Array:
        """Put the parameters of the whole layer together from those of all ranks."""
        ...

    def once(self, w: Array) -> Array:
        """Return those numbers that this rank counts: over the ranks, each of the layer's once."""
        ...


class Divisible(ChainLayer, Protocol):
    """A layer whose outputs can be computed one by one: units, or channels.

    Its parameters are the weights of the first output, those of the next, and so on; then as many
    biases.

    Attributes
    ----------
    n_out : int
        How many outputs it has.
    """

    n_out: int

    def of_outputs(self, n_out: int) -> ChainLayer:
        """Return the mathematics of so many of its outputs."""
        ...

    def initial_part(
        self, rng: np.random.Generator, outputs: slice, inputs: slice = slice(None)
    ) -> Array:
        """Draw what ``initial`` draws, and keep these outputs' weights for these inputs."""
        ...


class Whole:
    """A layer that is not split: every rank has all of it and computes the same.

    Parameters
    ----------
    comm : Communicator
        For the timeline.
    layer : ChainLayer
        The layer.

    Notes
    -----
    Cost: no messages.
    """

    def __init__(self, comm: Communicator, layer: ChainLayer) -> None:
        self._comm, self.layer = comm, layer
        self.name, self.n_parameters = layer.name, layer.n_parameters

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what it makes of one example."""
        return self.layer.output_shape(input_shape)

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw the parameters that training starts from."""
        return self.layer.initial(rng)

    def share(self, w: Array) -> Array:
        """Copy the parameters."""
        return w.copy()

    def join(self, parts: Sequence[Array]) -> Array:
        """Take those of the first rank: all have the same."""
        return parts[0]

    def once(self, w: Array) -> Array:
        """Leave it to the first rank to count them."""
        return w if self._comm.rank == 0 else w[:0]

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Return the outputs, and what going back will need."""
        with self._comm.compute(f"forward {self.name}", flops=self.flops(len(x)).forward):
            y, saved = self.layer.forward(w, x)
        return y, saved

    def input_gradient(self, w: Array, saved: Any, dy: Array) -> Array:
        """Return the slope in the inputs."""
        flops = self.flops(len(dy)).input_gradient
        with self._comm.compute(f"input gradient {self.name}", flops=flops):
            return np.asarray(self.layer.input_gradient(w, saved, dy))

    def weight_gradient(self, saved: Any, dy: Array) -> Array:
        """Return the slope in the parameters."""
        flops = self.flops(len(dy)).weight_gradient
        with self._comm.compute(f"weight gradient {self.name}", flops=flops):
            return np.asarray(self.layer.weight_gradient(saved, dy))

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count the operations for so many examples."""
        return self.layer.flops(n_examples)
