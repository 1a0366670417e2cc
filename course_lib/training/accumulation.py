"""Gradient accumulation: a batch in parts, one after the other, and one step for all of them."""

from collections.abc import Iterator
from typing import Any

from course_lib.models.model import Array, Batch, Layer, LayerFlops, Model, Passes
from course_lib.training.shards import split_evenly

__all__ = ["Accumulating", "in_parts"]


def in_parts(examples: Array, n_parts: int) -> Iterator[tuple[Array, float]]:
    """Cut the examples of a batch into parts that are computed one after the other.

    Parameters
    ----------
    examples : array of int, shape (m,)
        Their numbers.
    n_parts : int
        Into how many parts; never more than there are examples.

    Yields
    ------
    part : array of int
        Some of them, at least one.
    weight : float
        How much of the batch they are.
    """
    for part, weight in _cuts(len(examples), n_parts):
        yield examples[part], weight


class Accumulating:
    """A model that computes a gradient part by part, so that fewer activations are held at a time.

    Every part weighs as many examples as it has: the sum is the gradient of the whole, and one
    exchange carries it. In all else it is the model.

    Parameters
    ----------
    model : Model
        What is trained.
    n_parts : int
        Into how many parts each batch is cut; never more than it has examples.
    """

    def __init__(self, model: Model, n_parts: int) -> None:
        self._model, self._n_parts = model, n_parts

    def __getattr__(self, name: str) -> Any:
        """Be the model in all else."""
        if name == "_model":  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self._model, name)

    def parts(self, batch: Batch) -> list[tuple[Batch, float]]:
        """Cut a batch; return the parts that have examples, and how much of it each is."""
        cuts = _cuts(len(batch[1]), self._n_parts)
        return [((batch[0][part], batch[1][part]), weight) for part, weight in cuts]

    def gradient(self, w: Array, batch: Batch, weight: float = 1.0) -> tuple[float, Array]:
        """Return the mean loss over a batch and its gradient; times ``weight``."""
        parts = self.parts(batch) or [(batch, 1.0)]  # the model refuses an empty one
        (first, share), *others = parts
        loss, grad = self._model.gradient(w, first, weight * share)
        for part, share in others:
            more = self._model.gradient(w, part, weight * share)
            loss += more[0]
            grad += more[1]
        return loss, grad

    def passes(self, w: Array, batch: Batch, weight: float = 1.0) -> "_Passes":
        """Begin a gradient in steps, which are those of the last part."""
        return _Passes(self, w, batch, weight)

    def backward_layers(self, w: Array, batch: Batch) -> Iterator[tuple[Layer, Array]]:
        """Yield the gradient layer by layer, the last layer first."""
        passes = self.passes(w, batch)
        for layer in self._model.layers:
            passes.forward(layer)
        for layer in self._model.layers[::-1]:
            yield layer, passes.backward(layer)

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count layer by layer: all parts but the last belong to the first layer's forward pass."""
        parts = [part for part, _ in self.parts(batch)] or [batch]
        before = sum(self._model.flops(part) for part in parts[:-1])
        first, *others = self._model.layer_flops(parts[-1])
        return LayerFlops(first.forward + before, first.backward), *others


class _Passes:
    """A gradient in steps: all parts but the last at the first one, and then those of the last."""

    def __init__(self, model: Accumulating, w: Array, batch: Batch, weight: float) -> None:
        self._model, self._w, self._weight = model._model, w, weight
        self._before = model.parts(batch) or [(batch, 1.0)]
        self._last: Passes | None = None
        self._loss = 0.0
        self._grad: Array = None

    def forward(self, layer: Layer) -> None:
        """Go forward through one layer: the first of the model, then each next one."""
        if self._last is None:
            *others, (last, share) = self._before
            for part, of_part in others:
                loss, grad = self._model.gradient(self._w, part, self._weight * of_part)
                self._loss += loss
                self._grad = grad if self._grad is None else self._grad + grad
            self._last = self._model.passes(self._w, last, self._weight * share)
        self._last.forward(layer)

    def loss(self) -> float:
        """Return the weighted mean loss over the batch, after the last layer's ``forward``."""
        assert self._last is not None
        return self._loss + self._last.loss()

    def backward(self, layer: Layer) -> Array:
        """Go back through one layer, the last one first; return its part of the gradient."""
        assert self._last is not None
        grad = self._last.backward(layer)
        return grad if self._grad is None else grad + self._grad[layer.part]


def _cuts(n_examples: int, n_parts: int) -> Iterator[tuple[slice, float]]:
    """Yield the parts that have examples, and how much of all each is."""
    for part in split_evenly(n_examples, max(1, min(n_parts, n_examples))):
        if part.stop > part.start:
            yield part, (part.stop - part.start) / n_examples
