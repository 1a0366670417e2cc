"""A torch model's gradient in steps, so that a scheme can send between them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from course_lib.models.model import Array, Batch, Layer

if TYPE_CHECKING:
    from course_lib.models.torch_model import TorchModel

__all__ = ["TorchPasses", "flat"]


class TorchPasses:
    """A gradient in steps: every layer is its own small graph, and none is walked between two.

    Parameters
    ----------
    model : TorchModel
        Whose.
    w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
        The parameters; each layer's are read when ``forward`` comes to it.
    batch : tuple of arrays, shapes (m, ...) and (m,)
        Examples and the numbers of their classes.
    """

    def __init__(self, model: "TorchModel", w: Array, batch: Batch) -> None:
        self._model, self._w, self._y = model, w, batch[1]
        self._x = model._tensor(batch[0], w)
        self._steps: list[tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]] = []
        self._loss = 0.0
        self._upstream: torch.Tensor | None = None

    def forward(self, layer: Layer) -> None:
        """Go forward through one layer: the first of the model, then each next one."""
        number = len(self._steps)
        self._expect(layer, number)
        with torch.enable_grad():
            entered = self._x.detach().requires_grad_(number > 0)
            own = self._model._leaves(self._w, number)
            self._x = self._model._call(number, own, entered)
        self._steps.append((entered, own, self._x))

    def loss(self) -> float:
        """Return the mean loss over the batch, after the last layer's ``forward``."""
        if self._upstream is None:
            with torch.enable_grad():
                outputs = self._x.detach().requires_grad_()
                loss = self._model._mean_loss(outputs, self._y)
                (self._upstream,) = torch.autograd.grad(loss, outputs)
            self._loss = loss.item()
        return self._loss

    def backward(self, layer: Layer) -> Array:
        """Go back through one layer, the last one first; return its part of the gradient."""
        self._expect(layer, len(self._steps) - 1)
        self.loss()
        entered, own, left = self._steps.pop()
        inputs = [*own, entered] if self._steps else own
        grads = torch.autograd.grad(left, inputs, self._upstream)
        self._upstream = grads[-1]
        return flat(self._w, grads[: len(own)])

    def _expect(self, layer: Layer, number: int) -> None:
        expected = self._model.layers[number : number + 1]
        if expected != (layer,):
            told = expected[0].name if expected else "none"
            raise ValueError(f"the layer whose turn it is must be {told}, got {layer.name}")


def flat(w: Array, grads: Sequence[torch.Tensor]) -> Array:
    """Put gradients one after another, as the kind of array that ``w`` is.

    Parameters
    ----------
    w : numpy.ndarray or torch.Tensor
        The parameters.
    grads : sequence of torch.Tensor
        Their gradients, of any shapes.

    Returns
    -------
    array of the kind of ``w``, one-dimensional
        A new one.
    """
    vector = torch.cat([grad.reshape(-1) for grad in grads])
    return vector if isinstance(w, torch.Tensor) else vector.numpy()
