"""What every scheme sees of a model: a flat parameter vector, a loss and its gradient."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

__all__ = ["Array", "Batch", "Layer", "Model", "check_not_empty"]

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
    """

    name: str
    part: slice

    @property
    def n_parameters(self) -> int:
        """How many parameters the layer has."""
        return int(self.part.stop - self.part.start)


class Model(Protocol):
    """Mathematics without communication: who has a ``Model`` can be trained by every scheme.

    Parameters are one flat vector ``w``, so that a scheme can send them, or their gradient, as one
    message. A gradient is the mean over the examples of a batch.
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

    def gradient(self, w: Array, batch: Batch) -> tuple[float, Array]:
        """Return the mean loss over a batch and its gradient, as long as ``w``."""
        ...

    def backward_layers(self, w: Array, batch: Batch) -> Iterator[tuple[Layer, Array]]:
        """Yield the gradient layer by layer, as back-propagation finds it: the last layer first."""
        ...

    def predict(self, w: Array, X: Any) -> Any:
        """Return the model's answer for each example."""
        ...

    def flops(self, batch: Batch) -> float:
        """Count the floating-point operations of one gradient."""
        ...


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
