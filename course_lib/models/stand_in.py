"""A model that learns nothing: it has the sizes of another one, for dry runs in virtual time."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.models.chain import ThreeFlops
from course_lib.models.model import Batch, Layer, LayerFlops
from course_lib.models.published import LayerSize

__all__ = ["StandIn", "StandInLayer"]

Vector = NDArray[np.float64]


class StandIn:
    """Take a network's place in a scheme: its gradients are zeros, but as long, and as late.

    Parameters
    ----------
    sizes : sequence of LayerSize
        The layers, in the order of the forward pass.
    lengths : sequence of int or None, default: None
        How many numbers stand for each layer's parameters; None takes one for each. Shorter ones
        let a large network fit into the memory of a thousand virtual workers, whose bandwidth has
        to shrink with them.

    Attributes
    ----------
    layers : tuple of Layer
        The same layers, and where they lie in the vector of zeros.

    Examples
    --------
    >>> model = StandIn([LayerSize("fc1", 600, 3600.0), LayerSize("fc2", 60, 360.0)])
    >>> model.n_parameters, model.flops((range(10), range(10)))
    (660, 39600.0)
    """

    def __init__(self, sizes: Sequence[LayerSize], lengths: Sequence[int] | None = None) -> None:
        self.sizes = tuple(sizes)
        if lengths is None:
            lengths = [size.n_parameters for size in sizes]
        parts = [slice(start, stop) for start, stop in pairwise([0, *accumulate(lengths)])]
        self.layers = tuple(Layer(size.name, part) for size, part in zip(sizes, parts, strict=True))

    @classmethod
    def of(cls, lengths: Mapping[str, int], flops_per_example: float) -> "StandIn":
        """Make one whose layers cost as much as they weigh.

        Parameters
        ----------
        lengths : mapping of str to int
            The number of parameters of each layer by name, in the order of the forward pass.
        flops_per_example : float
            Of the forward and the backward pass through all of them.

        Returns
        -------
        StandIn
            Each layer has its part of the operations, in proportion to its parameters.

        Examples
        --------
        >>> model = StandIn.of({"fc1": 60, "fc2": 40}, flops_per_example=600)
        >>> [size.flops for size in model.sizes]
        [360.0, 240.0]
        """
        per_parameter = flops_per_example / sum(lengths.values())
        return cls([LayerSize(name, n, per_parameter * n) for name, n in lengths.items()])

    @property
    def n_parameters(self) -> int:
        """The length of the flat parameter vector."""
        return int(self.layers[-1].part.stop)

    @property
    def flops_per_example(self) -> float:
        """The operations of a forward and a backward pass through all layers, for one example."""
        return sum(size.flops for size in self.sizes)

    def initial(self, seed: int = 0) -> Vector:
        """Return zeros, whatever the seed."""
        del seed
        return np.zeros(self.n_parameters)

    def loss(self, w: Vector, batch: Batch) -> float:
        """Return 0."""
        del w, batch
        return 0.0

    def gradient(self, w: Vector, batch: Batch, weight: float = 1.0) -> tuple[float, Vector]:
        """Return 0 and zeros."""
        del w, batch, weight
        return 0.0, np.zeros(self.n_parameters)

    def backward_layers(self, w: Vector, batch: Batch) -> Iterator[tuple[Layer, Vector]]:
        """Yield zeros layer by layer, the last layer first."""
        del w, batch
        for layer in reversed(self.layers):
            yield layer, np.zeros(layer.n_parameters)

    def passes(self, w: Vector, batch: Batch, weight: float = 1.0) -> "_NoPasses":
        """Begin a gradient in steps."""
        del w, batch, weight
        return _NoPasses()

    def predict(self, w: Vector, X: Any) -> Vector:
        """Return 0 for each example."""
        del w
        return np.zeros(len(X))

    def flops(self, batch: Batch) -> float:
        """Count the floating-point operations of one gradient."""
        return len(batch[1]) * self.flops_per_example

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count them layer by layer: one third forward, two thirds back."""
        examples = len(batch[1])
        return tuple(
            LayerFlops(examples * size.flops / 3, examples * size.flops * 2 / 3)
            for size in self.sizes
        )


class _NoPasses:
    """The steps of a gradient that is nothing but zeros."""

    def forward(self, layer: Layer) -> None:
        """Do nothing."""

    def loss(self) -> float:
        """Return 0."""
        return 0.0

    def backward(self, layer: Layer) -> Vector:
        """Return zeros."""
        return np.zeros(layer.n_parameters)


class StandInLayer:
    """Take a layer's place in a chain: its outputs and gradients are zeros of the right sizes.

    Parameters
    ----------
    size : LayerSize
        What it weighs and costs.
    shape : tuple of int
        Of what it makes of one example.

    Examples
    --------
    >>> layer = StandInLayer(LayerSize("conv5", 60, 600.0), (4, 2, 2))
    >>> layer.forward(np.zeros(60), np.zeros((3, 10)))[0].shape, layer.flops(3).forward
    ((3, 4, 2, 2), 600.0)
    """

    def __init__(self, size: LayerSize, shape: tuple[int, ...]) -> None:
        self.name, self.n_parameters = size.name, size.n_parameters
        self._flops, self._shape = size.flops, shape

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what it makes of one example, whatever that is."""
        del input_shape
        return self._shape

    def initial(self, rng: np.random.Generator) -> Vector:
        """Return zeros."""
        del rng
        return np.zeros(self.n_parameters)

    def forward(self, w: Vector, x: Vector) -> tuple[Vector, Any]:
        """Return zeros, and the shape of what came in."""
        del w
        return np.zeros((len(x), *self._shape), x.dtype), x.shape

    def input_gradient(self, w: Vector, saved: Any, dy: Vector) -> Vector:
        """Return zeros of the shape of what came in."""
        del w
        return np.zeros(saved, dy.dtype)

    def weight_gradient(self, saved: Any, dy: Vector) -> Vector:
        """Return zeros."""
        del saved
        return np.zeros(self.n_parameters, dy.dtype)

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count the operations for so many examples: a third for each."""
        third = n_examples * self._flops / 3
        return ThreeFlops(third, third, third)
