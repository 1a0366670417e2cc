"""Back-propagation through fully connected layers, written out."""

from functools import cached_property

import torch

from course_lib.models.model import Array, Batch, check_not_empty
from course_lib.models.torch_model import TorchModel
from course_lib.models.torch_passes import loss_and_slope

__all__ = ["Perceptron"]


class Perceptron(TorchModel):
    """Fully connected layers with ReLU between them, whose whole gradient needs no autograd.

    Autograd gives every parameter a gradient of its own, and all of them have to be copied together
    into the flat vector that schemes send. Here each product of matrices ends in its place. The
    numbers are those of ``backward_layers``, which goes through autograd, to the bit; both begin
    with the slope of the cross-entropy as it stands in textbooks.
    """

    def gradient(self, w: Array, batch: Batch, weight: float = 1.0) -> tuple[float, Array]:
        """Return the mean loss over a batch and its gradient.

        Forward, a layer makes ``x W^T + b`` of what enters it. Back, ``upstream`` is the slope of
        the loss in what a layer has made: the gradient of its W is ``upstream^T x``, that of its b
        the sum of upstream's rows, and ``upstream W`` goes on to the layer before, but for the
        places where the ReLU has let nothing through.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters; they are not modified.
        batch : tuple of arrays, shapes (m, n_inputs) and (m,)
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
        grad = torch.empty_like(self._vector(w))
        with torch.no_grad():
            parameters, of_parameters = self._views(w), self._views(grad)
            entered, outputs = self._forward(parameters, batch[0], w)
            loss, upstream = self.loss_and_slope(outputs, batch[1], weight)
            for number in reversed(range(len(parameters))):
                x, (of_weight, of_bias) = entered[number], of_parameters[number]
                torch.mm(upstream.T, x, out=of_weight)
                torch.sum(upstream, 0, out=of_bias)
                if number > 0:
                    upstream = (upstream @ parameters[number][0]).mul_(x > 0)
        return loss, grad if isinstance(w, torch.Tensor) else grad.numpy()

    def outputs(self, w: Array, X: Array) -> torch.Tensor:
        """Compute what the last layer gives for each example.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters.
        X : numpy.ndarray or torch.Tensor, shape (m, n_inputs)
            The examples.

        Returns
        -------
        torch.Tensor, shape (m, classes)
            One number a class, before any softmax.
        """
        with torch.no_grad():
            return self._forward(self._views(w), X, w)[1]

    def loss_and_slope(self, outputs: Array, y: Array, weight: float = 1.0) -> tuple[float, Array]:
        """Return the mean loss of outputs and its derivative by each of them; times ``weight``."""
        return loss_and_slope(outputs, y, weight)

    def _forward(
        self, parameters: list[tuple[torch.Tensor, torch.Tensor]], X: Array, w: Array
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Return what enters each layer, and what the last one gives."""
        n_inputs = parameters[0][0].shape[1]
        x = self._tensor(X, w)
        if x.ndim != 2 or x.shape[1] != n_inputs:
            raise ValueError(
                f"X must have shape (examples, {n_inputs}), a column for each input of the "
                f"model, got {tuple(x.shape)}"
            )
        entered: list[torch.Tensor] = []
        for layer_weight, bias in parameters:
            entered.append(x.relu_() if entered else x)
            x = torch.addmm(bias, entered[-1], layer_weight.T)
        return entered, x

    def _views(self, w: Array) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """View a flat vector as the weight and the bias of each layer."""
        shapes, sizes = self._shapes_and_sizes
        pieces = self._vector(w).split_with_sizes(sizes)
        views = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
        return list(zip(views[::2], views[1::2], strict=True))

    @cached_property
    def _shapes_and_sizes(self) -> tuple[list[torch.Size], list[int]]:
        shapes = [shape for of_layer in self._shapes for shape in of_layer]
        return shapes, [shape.numel() for shape in shapes]
