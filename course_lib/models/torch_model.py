"""Torch modules behind the face of ``Model``: flat parameters in, flat gradient out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from course_lib.models.examples import dense
from course_lib.models.model import Array, Batch, Layer, LayerFlops, check_not_empty
from course_lib.models.module_checks import check_layers, trained
from course_lib.models.torch_passes import TorchPasses, called, flat, mean_loss, placed

__all__ = ["TorchModel"]


class TorchModel:
    """A chain of named layers, trained with the cross-entropy of its last layer's outputs.

    The modules only say how to compute; their own parameters are never trained (``from_module``
    trains them). Every call takes the parameters as one flat vector, and autograd begins and ends
    inside the call: between two calls a scheme may send what it likes.

    Parameters
    ----------
    modules : sequence of (str, torch.nn.Module)
        The layers by name, in the order of the forward pass. Modules without parameters (an
        activation, a pooling) belong to the layer they follow: put them into one ``Sequential``.
    uses : sequence of int
        For each layer, how often its weights are multiplied with something in the forward pass of
        one example. Each use is 2 flops; going back takes as many for the gradient of the weights,
        and again for that of the layer's inputs, which the first layer is spared.
    dtype : {"float64", "float32"}, default: "float64"
        Of the parameters and the arithmetic.

    Attributes
    ----------
    layers : tuple of Layer
        The layers, and where their parameters lie in the flat vector.

    Raises
    ------
    ValueError
        If a layer has no parameters, or something that only ``from_module`` can train: Dropout,
        running statistics, frozen or shared parameters; or ``dtype`` is another.
    """

    _device: torch.device | None = None  # see ``on_device``

    def __init__(
        self,
        modules: Sequence[tuple[str, torch.nn.Module]],
        uses: Sequence[int],
        dtype: str = "float64",
    ) -> None:
        if dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
        self.dtype: torch.dtype = getattr(torch, dtype)
        backward = [2.0 * n for n in uses[:1]] + [4.0 * n for n in uses[1:]]
        self._layer_flops = [LayerFlops(2.0 * n, b) for n, b in zip(uses, backward, strict=True)]
        check_layers(modules)
        self._take([(name, module.to(self.dtype)) for name, module in modules])

    def _take(self, modules: Sequence[tuple[str, torch.nn.Module]]) -> None:
        """Find the place of each layer's parameters in the flat vector."""
        self._modules = tuple(modules)
        own = [trained(module) for _, module in self._modules]
        self._names = [list(parameters) for parameters in own]
        self._shapes = [[p.shape for p in parameters.values()] for parameters in own]
        layers, start = [], 0
        for (name, _), shapes in zip(self._modules, self._shapes, strict=True):
            stop = start + sum(shape.numel() for shape in shapes)
            if stop == start:
                raise ValueError(f"every layer must have parameters, but {name!r} has none")
            layers.append(Layer(name, slice(start, stop), tuple(map(tuple, shapes))))
            start = stop
        self.layers = tuple(layers)

    @property
    def n_parameters(self) -> int:
        """The length of the flat parameter vector."""
        return int(self.layers[-1].part.stop)

    def initial(self, seed: int = 0) -> Array:
        """Draw the parameters that training starts from.

        Parameters
        ----------
        seed : int, default: 0
            The same seed gives the same parameters, on every rank and in every world.

        Returns
        -------
        numpy.ndarray, after ``on_device`` torch.Tensor, shape (n_parameters,)
            Uniform between -1 and 1 over the square root of a weight's inputs; biases are 0, and
            what scales (one number a channel, as BatchNorm's weight) is 1.
        """
        rng = np.random.default_rng(seed)
        parts = []
        for names, shapes in zip(self._names, self._shapes, strict=True):
            for name, shape in zip(names, shapes, strict=True):
                if len(shape) > 1:
                    limit = 1 / np.sqrt(shape[1:].numel())
                    parts.append(rng.uniform(-limit, limit, size=shape.numel()))
                else:
                    parts.append(np.full(shape.numel(), 1.0 if name.endswith("weight") else 0.0))
        dtype = str(self.dtype).removeprefix("torch.")
        return placed(np.concatenate(parts).astype(dtype), self._device)

    def loss(self, w: Array, batch: Batch) -> float:
        """Return the mean cross-entropy over the examples of a batch.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters.
        batch : tuple of arrays, shapes (m, ...) and (m,)
            Examples, and the number of each one's class.

        Returns
        -------
        float
            In nats.
        """
        return self.mean_loss(self.outputs(w, batch[0]), batch[1]).item()

    def mean_loss(self, outputs: torch.Tensor, y: Array) -> torch.Tensor:
        """Return the mean loss of outputs and targets, as a number to ask a gradient of."""
        return mean_loss(outputs, y)

    def loss_and_slope(self, outputs: Array, y: Array, weight: float = 1.0) -> tuple[float, Array]:
        """Return the mean loss of outputs and its derivative by each of them; times ``weight``."""
        with torch.enable_grad():
            leaf = torch.as_tensor(outputs).detach().requires_grad_()
            loss = weight * self.mean_loss(leaf, y)
            (slope,) = torch.autograd.grad(loss, leaf)
        return loss.item(), slope if isinstance(outputs, torch.Tensor) else slope.numpy()

    def outputs(self, w: Array, X: Array) -> torch.Tensor:
        """Compute what the last layer gives for each example.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters.
        X : numpy.ndarray or torch.Tensor, shape (m, ...)
            The examples.

        Returns
        -------
        torch.Tensor, shape (m, classes)
            One number a class, before any softmax.
        """
        with torch.no_grad():
            leaves = [self._leaves(w, number) for number in range(len(self._modules))]
            return self._outputs(leaves, self._tensor(X, w))

    def predict(self, w: Array, X: Array) -> np.ndarray[Any, Any]:
        """Return the class that gets the highest output for each example.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters.
        X : numpy.ndarray or torch.Tensor, shape (m, ...)
            The examples.

        Returns
        -------
        numpy.ndarray of int, shape (m,)
            The classes' numbers.
        """
        return self.outputs(w, X).argmax(dim=1).cpu().numpy()

    def gradient(self, w: Array, batch: Batch, weight: float = 1.0) -> tuple[float, Array]:
        """Return the mean loss over a batch and its gradient.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters; they are not modified.
        batch : tuple of arrays, shapes (m, ...) and (m,)
            Examples and the numbers of their classes, at least one.
        weight : float, default: 1.0
            What part of a larger batch this one is: loss and gradient are multiplied by it.

        Returns
        -------
        loss : float
            The mean cross-entropy, in nats, weighted.
        gradient : array of the kind and dtype of ``w``, shape (n_parameters,)
            The weighted mean over the examples.

        Raises
        ------
        ValueError
            If the batch is empty.
        """
        check_not_empty(batch)
        with torch.enable_grad():
            leaves = [self._leaves(w, number) for number in range(len(self._modules))]
            outputs = self._outputs(leaves, self._tensor(batch[0], w))
            loss = weight * self.mean_loss(outputs, batch[1])
            flat_leaves = [leaf for own in leaves for leaf in own]
            grads = torch.autograd.grad(loss, flat_leaves, materialize_grads=True)
        return loss.item(), flat(w, grads)

    def backward_layers(self, w: Array, batch: Batch) -> Iterator[tuple[Layer, Array]]:
        """Yield what ``gradient`` returns layer by layer, to the bit, the last layer first.

        Each layer is its own small graph. What is yielded can be sent while the layers before it
        still wait for their turn; no graph is being walked at that moment.
        """
        passes = self.passes(w, batch)
        for layer in self.layers:
            passes.forward(layer)
        for layer in self.layers[::-1]:
            yield layer, passes.backward(layer)

    def passes(self, w: Array, batch: Batch, weight: float = 1.0) -> TorchPasses:
        """Begin a gradient that is computed layer by layer, forward and back.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters; they are not modified.
        batch : tuple of arrays, shapes (m, ...) and (m,)
            Examples and the numbers of their classes; a ``ValueError`` if there are none.
        weight : float, default: 1.0
            What part of a larger batch this one is: loss and gradient are multiplied by it.

        Returns
        -------
        TorchPasses
            They give what ``gradient`` returns, to the bit.
        """
        check_not_empty(batch)
        return TorchPasses(self, w, batch, weight)

    def flops(self, batch: Batch) -> float:
        """Count the floating-point operations of one gradient.

        Parameters
        ----------
        batch : tuple of arrays, shapes (m, ...) and (m,)
            Examples and the numbers of their classes.

        Returns
        -------
        float
            Those of all layers, forward and back.
        """
        return sum(sum(of_layer) for of_layer in self.layer_flops(batch))

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count them layer by layer.

        Parameters
        ----------
        batch : tuple of arrays, shapes (m, ...) and (m,)
            Examples and the numbers of their classes.

        Returns
        -------
        tuple of LayerFlops
            In the order of the forward pass.
        """
        n = len(batch[1])
        return tuple(LayerFlops(n * forward, n * back) for forward, back in self._layer_flops)

    def _outputs(self, leaves: list[list[torch.Tensor]], x: torch.Tensor) -> torch.Tensor:
        for number, own in enumerate(leaves):
            x = self._call(number, own, x)
        return x

    def _call(self, number: int, own: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        """Run one layer with other parameters than the module's."""
        return called(*self._modules[number], dict(zip(self._names[number], own, strict=True)), x)

    def _leaves(self, w: Array, number: int) -> list[torch.Tensor]:
        """View one layer's part of ``w`` as tensors that a gradient can be asked for."""
        part = self._vector(w)[self.layers[number].part]
        shapes = self._shapes[number]
        pieces = torch.split(part.detach(), [shape.numel() for shape in shapes])
        return [
            piece.view(shape).requires_grad_() for piece, shape in zip(pieces, shapes, strict=True)
        ]

    def _vector(self, w: Array) -> torch.Tensor:
        vector = w if isinstance(w, torch.Tensor) else torch.from_numpy(np.asarray(w))
        if vector.shape != (self.n_parameters,) or vector.dtype != self.dtype:
            raise ValueError(
                f"w must have shape ({self.n_parameters},) and dtype {self.dtype}, got shape "
                f"{tuple(vector.shape)} and dtype {vector.dtype}"
            )
        return vector

    def _tensor(self, X: Array, w: Array) -> torch.Tensor:
        return torch.as_tensor(dense(X), dtype=self.dtype, device=self._vector(w).device)
