"""A torch model's gradient in steps, so that a scheme can send between them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.func import functional_call

from course_lib.models.examples import class_numbers
from course_lib.models.model import Array, Batch, Layer

if TYPE_CHECKING:
    from course_lib.models.torch_model import TorchModel

__all__ = ["TorchPasses", "called", "flat", "loss_and_slope", "mean_loss", "placed"]


class TorchPasses:
    """A gradient in steps: every layer is its own small graph, and none is walked between two.

    Parameters
    ----------
    model : TorchModel
        Whose.
    w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
        The parameters; each layer's are read when ``forward`` comes to it.
    batch : tuple of arrays, shapes (m, ...) and (m,)
        Examples and the numbers of their classes; with ``turn`` nobody asks for the latter.
    weight : float, default: 1.0
        What loss and gradient are multiplied by.
    """

    def __init__(self, model: "TorchModel", w: Array, batch: Batch, weight: float = 1.0) -> None:
        self._model, self._w, self._y, self._weight = model, w, batch[1], weight
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

    def outputs(self) -> Array:
        """Return what the last layer gave for each example, as the kind of array that ``w`` is."""
        found = self._x.detach()
        return found if isinstance(self._w, torch.Tensor) else found.numpy()

    def begin_backward(self, slope: Array) -> None:
        """Go back from here with the slope of a loss that somebody else has computed.

        Parameters
        ----------
        slope : array, shape of ``outputs``
            The derivative of the loss by each output.
        """
        self._upstream = torch.as_tensor(slope)

    def loss(self) -> float:
        """Return the weighted mean loss over the batch, after the last layer's ``forward``."""
        if self._upstream is None:
            outputs = self._x.detach()
            found = self._model.loss_and_slope(outputs, self._y, self._weight)
            self._loss, self._upstream = found
        return self._loss

    def backward(self, layer: Layer) -> Array:
        """Go back through one layer, the last one first; return its part of the gradient."""
        self._expect(layer, len(self._steps) - 1)
        self.loss()
        entered, own, left = self._steps.pop()
        inputs = [*own, entered] if self._steps else own
        grads = torch.autograd.grad(left, inputs, self._upstream, materialize_grads=True)
        self._upstream = grads[-1]
        return flat(self._w, grads[: len(own)])

    def _expect(self, layer: Layer, number: int) -> None:
        expected = self._model.layers[number : number + 1]
        if expected != (layer,):
            told = expected[0].name if expected else "none"
            raise ValueError(f"the layer whose turn it is must be {told}, got {layer.name}")


def called(
    name: str, module: torch.nn.Module, parameters: dict[str, torch.Tensor], x: torch.Tensor
) -> torch.Tensor:
    """Run a layer with other parameters than its module's.

    Parameters
    ----------
    name : str
        What the layer is called, for an error.
    module : torch.nn.Module
        It says how to compute.
    parameters : dict of torch.Tensor
        By the names that they have in the module.
    x : torch.Tensor
        What enters the layer.

    Returns
    -------
    torch.Tensor
        What leaves it.

    Raises
    ------
    ValueError
        If it cannot compute with such a shape.
    """
    try:
        left: torch.Tensor = functional_call(module, parameters, (x,))
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # no room, for one
            raise
        raise ValueError(
            f"X must be what the model takes: its layer {name!r} cannot compute with shape "
            f"{tuple(x.shape)} ({error})"
        ) from error
    return left


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


def placed(numbers: np.ndarray[Any, Any], device: torch.device | None) -> Array:
    """Return parameters as a tensor on a device; as they are where there is none."""
    return numbers if device is None else torch.as_tensor(numbers, device=device)


def mean_loss(outputs: torch.Tensor, y: Array) -> torch.Tensor:
    """Return the mean cross-entropy, as a number that a gradient can be asked of.

    Parameters
    ----------
    outputs : torch.Tensor, shape (m, classes)
        What the last layer gave.
    y : array, shape (m,)
        The numbers of the classes.

    Returns
    -------
    torch.Tensor, shape ()
        In nats.

    Raises
    ------
    TypeError, ValueError
        If ``y`` has another shape, or one of them is no class of the model.
    """
    return torch.nn.functional.cross_entropy(outputs, _right_classes(outputs, y))


def loss_and_slope(outputs: Array, y: Array, weight: float = 1.0) -> tuple[float, Array]:
    """Return the mean cross-entropy of outputs, and its derivative by each of them.

    What a class is given, its probability after the softmax, less 1 at the right one: that is the
    derivative by an output, times the weight of one example.

    Parameters
    ----------
    outputs : numpy.ndarray or torch.Tensor, shape (m, classes)
        What the last layer gave; they are not modified.
    y : array, shape (m,)
        The numbers of the classes, at least one.
    weight : float, default: 1.0
        What both are multiplied by.

    Returns
    -------
    loss : float
        In nats.
    slope : array of the kind of ``outputs``, shape (m, classes)
        Where going back begins.

    Raises
    ------
    TypeError, ValueError
        If ``y`` has another shape, or one of them is no class of the model.
    """
    found = torch.as_tensor(outputs).detach()
    right = _right_classes(found, y)
    with torch.no_grad():
        log_probability = found.log_softmax(1)
        loss = weight * torch.nn.functional.nll_loss(log_probability, right)
        each = weight / len(found)
        slope = log_probability.exp_().mul_(each)
        at = right[:, None]
        slope.scatter_(1, at, slope.gather(1, at).sub_(each))
    return loss.item(), slope if isinstance(outputs, torch.Tensor) else slope.numpy()


def _right_classes(outputs: torch.Tensor, y: Array) -> torch.Tensor:
    # Class -100 would be left out of the mean (ignore_index), and weigh otherwise in each worker.
    return torch.as_tensor(class_numbers(y, *outputs.shape), device=outputs.device)
