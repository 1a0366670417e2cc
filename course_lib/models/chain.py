"""A model that is a chain of layers, each of which can be computed by itself, wherever it lives.

What splits a model needs more of it than a gradient: one layer at a time, forward and back, and the
two halves of going back apart. The first half, the gradient of a layer's inputs, is what the layer
before waits for. The other, the gradient of its weights, nobody waits for but the step.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from course_lib.models.examples import class_numbers, dense
from course_lib.models.model import Array, Batch, Layer, LayerFlops, check_not_empty

__all__ = ["Chain", "ChainLayer", "ThreeFlops", "partial_loss"]


class ThreeFlops(NamedTuple):
    """How many floating-point operations a layer takes for some examples.

    Attributes
    ----------
    forward : float
        From its inputs to its outputs.
    input_gradient : float
        Back, for the gradient of its inputs.
    weight_gradient : float
        Back, for the gradient of its weights.
    """

    forward: float
    input_gradient: float
    weight_gradient: float


class ChainLayer(Protocol):
    """One layer as mathematics: it keeps no parameters, and nothing between two calls.

    Attributes
    ----------
    name : str
        What to call it in tables and on timelines.
    n_parameters : int
        The length of its part of the flat vector, 1 or more.
    """

    name: str
    n_parameters: int

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what it makes of one example; refuse inputs of another shape."""
        ...

    def initial(self, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the parameters that training starts from, one flat vector."""
        ...

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Return the outputs for m examples, and what going back will need: its activations."""
        ...

    def input_gradient(self, w: Array, saved: Any, dy: Array) -> Array:
        """Return the slope of the loss in the inputs, from that in the outputs."""
        ...

    def weight_gradient(self, saved: Any, dy: Array) -> Array:
        """Return the slope of the loss in the parameters, a flat vector."""
        ...

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count the operations for so many examples."""
        ...


class Chain:
    """Layers one after another, trained with the cross-entropy of what the last one makes.

    It is a ``Model``, so every scheme can train it whole, and ``parts`` are its layers for those
    schemes that split it. The parameters of layer k are drawn from (seed, k) alone: whoever keeps
    only that layer draws only that.

    Parameters
    ----------
    parts : sequence of ChainLayer
        In the order of the forward pass.
    input_shape : tuple of int
        Of one example.
    dtype : {"float64", "float32"}, default: "float64"
        Of the parameters and the arithmetic.

    Attributes
    ----------
    parts : tuple of ChainLayer
        What it was given.
    layers : tuple of Layer
        Where the parameters of each lie in the flat vector.
    shapes : tuple of tuple of int
        Of one example before the first layer, and after each.

    Raises
    ------
    ValueError
        If there is no layer, one does not fit to the one before, or ``dtype`` is another.
    """

    def __init__(
        self, parts: Sequence[ChainLayer], input_shape: tuple[int, ...], dtype: str = "float64"
    ) -> None:
        if dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
        if not parts:
            raise ValueError("parts must hold at least one layer, got none")
        self.parts = tuple(parts)
        self.dtype = np.dtype(dtype)
        shapes = [tuple(input_shape)]
        for part in self.parts:
            shapes.append(part.output_shape(shapes[-1]))
        self.shapes = tuple(shapes)
        ends = accumulate((part.n_parameters for part in self.parts), initial=0)
        self.layers = tuple(
            Layer(part.name, slice(*ends), tuple(map(tuple, getattr(part, "parameter_shapes", ()))))
            for part, ends in zip(self.parts, pairwise(ends), strict=True)
        )

    @property
    def n_parameters(self) -> int:
        """The length of the flat parameter vector."""
        return int(self.layers[-1].part.stop)

    def initial_of(self, number: int, seed: int = 0) -> NDArray[Any]:
        """Draw the parameters that one layer starts from, without those of the others.

        Parameters
        ----------
        number : int
            Which layer, from 0.
        seed : int, default: 0
            The same seed gives the same parameters, on every rank and in every world.

        Returns
        -------
        numpy.ndarray, shape (n_parameters of that layer,)
            Its part of ``initial(seed)``.
        """
        rng = np.random.default_rng([seed, number])
        return self.parts[number].initial(rng).astype(self.dtype)

    def initial(self, seed: int = 0) -> NDArray[Any]:
        """Draw the parameters that training starts from, one flat vector."""
        return np.concatenate([self.initial_of(k, seed) for k in range(len(self.parts))])

    def examples(self, X: Array) -> NDArray[Any]:
        """Return examples as the first layer wants them: in the chain's dtype and input shape."""
        found = np.asarray(dense(X), self.dtype)
        if found.size != len(found) * int(np.prod(self.shapes[0])):
            raise ValueError(
                f"X must have examples of shape {self.shapes[0]}, the model's input, got shape "
                f"{found.shape}"
            )
        return found.reshape(len(found), *self.shapes[0])

    def outputs(self, w: Array, X: Array) -> Array:
        """Compute what the last layer makes of each example, one number a class."""
        x = self.examples(X)
        for part, layer in zip(self.parts, self.layers, strict=True):
            x, _ = part.forward(w[layer.part], x)
        return x

    def predict(self, w: Array, X: Array) -> NDArray[np.int64]:
        """Return the class that gets the highest output for each example."""
        classes: NDArray[np.int64] = np.argmax(self.outputs(w, X), axis=1)
        return classes

    def loss(self, w: Array, batch: Batch) -> float:
        """Return the mean cross-entropy over the examples of a batch, in nats."""
        return partial_loss(self.outputs(w, batch[0]), batch[1])[0]

    def gradient(self, w: Array, batch: Batch, weight: float = 1.0) -> tuple[float, NDArray[Any]]:
        """Return the mean loss over a batch and its gradient, both times ``weight``."""
        passes = self.passes(w, batch, weight)
        for layer in self.layers:
            passes.forward(layer)
        grads = [passes.backward(layer) for layer in self.layers[::-1]]
        return passes.loss(), np.concatenate(grads[::-1])

    def backward_layers(self, w: Array, batch: Batch) -> Iterator[tuple[Layer, NDArray[Any]]]:
        """Yield the gradient layer by layer, the last layer first."""
        passes = self.passes(w, batch)
        for layer in self.layers:
            passes.forward(layer)
        for layer in self.layers[::-1]:
            yield layer, passes.backward(layer)

    def passes(self, w: Array, batch: Batch, weight: float = 1.0) -> "ChainPasses":
        """Begin a gradient that is computed layer by layer, forward and back; times ``weight``."""
        check_not_empty(batch)
        return ChainPasses(self, w, batch, weight)

    def flops(self, batch: Batch) -> float:
        """Count the floating-point operations of one gradient."""
        return float(sum(map(sum, self.layer_flops(batch))))

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count them layer by layer: the first is spared the gradient of its inputs."""
        counts = [part.flops(len(batch[1])) for part in self.parts]
        return tuple(
            LayerFlops(c.forward, c.weight_gradient + (c.input_gradient if k else 0.0))
            for k, c in enumerate(counts)
        )


class ChainPasses:
    """A gradient of a chain in steps: once forward through all layers, then once back.

    Parameters
    ----------
    model : Chain
        Whose.
    w : array, shape (n_parameters,)
        The parameters; each layer's are read when ``forward`` comes to it, and once more on the way
        back.
    batch : tuple of arrays, shapes (m, ...) and (m,)
        Examples and the numbers of their classes.
    weight : float
        What loss and gradient are multiplied by.
    """

    def __init__(self, model: Chain, w: Array, batch: Batch, weight: float) -> None:
        self._model, self._w, self._y, self._weight = model, w, batch[1], weight
        self._x: Array = model.examples(batch[0])
        self._saved: list[Any] = []
        self._loss = 0.0
        self._slope: Array = None

    def forward(self, layer: Layer) -> None:
        """Go forward through one layer: the first of the model, then each next one."""
        part = self._model.parts[len(self._saved)]
        self._x, saved = part.forward(self._w[layer.part], self._x)
        self._saved.append(saved)

    def loss(self) -> float:
        """Return the weighted mean loss over the batch, after the last layer's ``forward``."""
        if self._slope is None:
            self._loss, self._slope = partial_loss(self._x, self._y, self._weight)
        return self._loss

    def backward(self, layer: Layer) -> NDArray[Any]:
        """Go back through one layer, the last one first; return its part of the gradient."""
        self.loss()
        saved = self._saved.pop()
        part = self._model.parts[len(self._saved)]
        grad: NDArray[Any] = part.weight_gradient(saved, self._slope)
        if self._saved:  # nobody stands before the first layer
            self._slope = part.input_gradient(self._w[layer.part], saved, self._slope)
        return grad


def partial_loss(outputs: Array, y: Array, weight: float = 1.0) -> tuple[float, NDArray[Any]]:
    """Return what some examples contribute to the loss of a batch, and its slope in the outputs.

    Parameters
    ----------
    outputs : numpy.ndarray, shape (m, classes)
        What the last layer has made of them, perhaps of none.
    y : array, shape (m,)
        The numbers of their classes.
    weight : float, default: 1.0
        What part of the batch they are.

    Returns
    -------
    loss_partial : float
        Their mean cross-entropy times the weight; 0 for none.
    slope : numpy.ndarray, shape (m, classes)
        Where going back begins.

    Raises
    ------
    TypeError, ValueError
        If ``y`` has another shape, or one of them is no class of the model.
    """
    if len(y) == 0:
        return 0.0, outputs
    own = np.arange(len(y)), np.asarray(class_numbers(y, *outputs.shape))
    shifted = outputs - outputs.max(axis=1, keepdims=True)  # so that no exp is too large
    slope = np.exp(shifted)
    sums = slope.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(sums[:, 0]) - shifted[own]))
    slope /= sums  # the probability of each class
    slope[own] -= 1.0
    slope *= weight / len(y)
    return weight * loss, slope
