"""What every scheme sees of a model: a flat parameter vector, a loss and its gradient."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

__all__ = [
    "Array",
    "Batch",
    "Layer",
    "LayerFlops",
    "Model",
    "OneLayerPasses",
    "Passes",
    "check_not_empty",
]

Array = Any
"""A NumPy array or a torch tensor."""

Batch = tuple[Any, Any]
"""``(X, y)``: m examples and their m targets."""


class Layer(NamedTuple):
    """Where the parameters of one layer lie in the flat vector.

    Attributes
    ----------
    name : str
        What to call it in tables and on timelines.
    part : slice
        Its place: ``w[layer.part]`` is a view of the layer's parameters.
    shapes : tuple of tuple of int, default: ()
        Of its weights and biases, one after another in that view; () where nobody has said.
    """

    name: str
    part: slice
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def n_parameters(self) -> int:
        """How many parameters the layer has."""
        return int(self.part.stop - self.part.start)


class LayerFlops(NamedTuple):
    """How many floating-point operations one layer takes for a batch.

    Attributes
    ----------
    forward : float
        On the way forward.
    backward : float
        On the way back: for the gradient of its parameters, and for that of its inputs where the
        layer before needs it.
    """

    forward: float
    backward: float


class Passes(Protocol):
    """A gradient in steps: once forward through all layers, then once back.

    Between two steps the caller may send, receive and wait. A layer's parameters are read when
    ``forward`` comes to it, not before.
    """

    def forward(self, layer: Layer) -> None:
        """Go forward through one layer: the first of the model, then each next one."""
        ...

    def loss(self) -> float:
        """Return the weighted mean loss over the batch, after the last layer's ``forward``."""
        ...

    def backward(self, layer: Layer) -> Array:
        """Go back through one layer, the last one first; return its part of the gradient."""
        ...


@runtime_checkable
class Model(Protocol):
    """Mathematics without communication: who has a ``Model`` can be trained by every scheme.

    Parameters are one flat vector ``w``, so that a scheme can send them, or their gradient, as one
    message. A gradient is the mean over the examples of a batch, times a weight.
    """

    @property
    def n_parameters(self) -> int:
        """The length of the flat parameter vector."""
        ...

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers in the order of the forward pass; together they cover the vector."""
        ...

    def initial(self, seed: int = 0) -> Array:
        """Return the parameters that training starts from, the same for the same seed."""
        ...

    def loss(self, w: Array, batch: Batch) -> float:
        """Return the mean loss over the examples of a batch."""
        ...

    def gradient(self, w: Array, batch: Batch, weight: float = 1.0) -> tuple[float, Array]:
        """Return the mean loss over a batch and its gradient, as long as ``w``; times ``weight``.

        A worker's part of a batch has the weight of its part, so that the gradients of all parts
        add up to that of the batch. A network weighs the slope of the loss, which is a few numbers
        an example, and so spares a walk through its gradient.
        """
        ...

    def backward_layers(self, w: Array, batch: Batch) -> Iterator[tuple[Layer, Array]]:
        """Yield the gradient layer by layer, as back-propagation finds it: the last layer first."""
        ...

    def passes(self, w: Array, batch: Batch, weight: float = 1.0) -> Passes:
        """Begin a gradient that is computed layer by layer, forward and back; times ``weight``."""
        ...

    def predict(self, w: Array, X: Any) -> Any:
        """Return the model's answer for each example."""
        ...

    def flops(self, batch: Batch) -> float:
        """Count the floating-point operations of one gradient."""
        ...

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count them layer by layer; together they are ``flops``."""
        ...


class OneLayerPasses:
    """The passes of a model with one layer: nothing could be sent between forward and back.

    So ``forward`` computes the loss and the gradient together, and ``backward`` hands it out.

    Parameters
    ----------
    model : Model
        One with a single layer.
    w : array, shape (n_parameters,)
        The parameters; they are not modified.
    batch : tuple of arrays
        Examples and targets, at least one.
    weight : float, default: 1.0
        What loss and gradient are multiplied by.
    """

    def __init__(self, model: Model, w: Array, batch: Batch, weight: float = 1.0) -> None:
        self._model, self._w, self._batch, self._weight = model, w, batch, weight
        self._loss = 0.0
        self._grad: Array = None

    def forward(self, layer: Layer) -> None:
        """Compute the loss and its gradient."""
        del layer
        self._loss, self._grad = self._model.gradient(self._w, self._batch, self._weight)

    def loss(self) -> float:
        """Return the mean loss over the batch, times the weight."""
        return self._loss

    def backward(self, layer: Layer) -> Array:
        """Return the gradient."""
        del layer
        return self._grad


def check_not_empty(batch: Batch) -> None:
    """Refuse a batch without examples, of which there is no mean.

    Parameters
    ----------
    batch : tuple of arrays
        Examples and targets.

    Raises
    ------
    ValueError
        If there are none.
    """
    if len(batch[1]) == 0:
        raise ValueError("batch must hold at least one example to take a mean of, got 0")
