"""A model on paper: so many parameters, so many operations, and no arithmetic."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Array, Batch, Layer, LayerFlops, Passes

__all__ = ["PaperModel"]


class PaperModel:
    """What a scheme's price depends on, and nothing else: sizes of layers, and flops.

    It takes every scheme through its messages in virtual time as a network of that size would,
    without computing one. Its gradient is zero, so it never learns.

    Parameters
    ----------
    layer_sizes : mapping of str to int
        The number of parameters of each layer by name, in the order of the forward pass.
    flops_per_example : float
        Floating-point operations of a forward and a backward pass, for one example.

    Attributes
    ----------
    layers : tuple of Layer
        Where the layers lie in the flat vector.

    Examples
    --------
    >>> model = PaperModel({"fc1": 60, "fc2": 40}, flops_per_example=600)
    >>> model.n_parameters, model.flops(([0, 0], [1, 1]))
    (100, 1200)
    """

    def __init__(self, layer_sizes: Mapping[str, int], flops_per_example: float) -> None:
        self.flops_per_example = flops_per_example
        stops = accumulate(layer_sizes.values())
        self.layers = tuple(
            Layer(name, slice(stop - size, stop))
            for (name, size), stop in zip(layer_sizes.items(), stops, strict=True)
        )

    @property
    def n_parameters(self) -> int:
        """The length of the flat parameter vector."""
        return sum(layer.n_parameters for layer in self.layers)

    def initial(self, seed: int = 0) -> NDArray[np.float64]:  # noqa: ARG002
        """Return zeros.

        Parameters
        ----------
        seed : int, default: 0
            Without meaning here.

        Returns
        -------
        numpy.ndarray, shape (n_parameters,)
            Zeros.
        """
        return np.zeros(self.n_parameters)

    def loss(self, w: Array, batch: Batch) -> float:  # noqa: ARG002
        """Return 0.

        Parameters
        ----------
        w : array, shape (n_parameters,)
            The parameters.
        batch : tuple of arrays
            Examples and targets.

        Returns
        -------
        float
            0.
        """
        return 0.0

    def gradient(self, w: Array, batch: Batch) -> tuple[float, Array]:  # noqa: ARG002
        """Return 0 and a gradient of zeros, as long as the parameters.

        Parameters
        ----------
        w : array, shape (n_parameters,)
            The parameters.
        batch : tuple of arrays
            Examples and targets.

        Returns
        -------
        loss : float
            0.
        grad : array, shape (n_parameters,)
            Zeros.
        """
        return 0.0, w * 0

    def backward_layers(
        self,
        w: Array,
        batch: Batch,  # noqa: ARG002
    ) -> Iterator[tuple[Layer, Array]]:
        """Yield zeros for each layer, the last one first.

        Parameters
        ----------
        w : array, shape (n_parameters,)
            The parameters.
        batch : tuple of arrays
            Examples and targets.

        Yields
        ------
        tuple of (Layer, array)
            A layer and its gradient.
        """
        for layer in reversed(self.layers):
            yield layer, w[layer.part] * 0

    def passes(self, w: Array, batch: Batch) -> Passes:  # noqa: ARG002
        """Begin a gradient in steps; each of them is zeros.

        Parameters
        ----------
        w : array, shape (n_parameters,)
            The parameters.
        batch : tuple of arrays
            Examples and targets.

        Returns
        -------
        Passes
            Its ``backward`` returns zeros as long as the layer.
        """
        return _PaperPasses(w)

    def predict(self, w: Array, X: Any) -> Any:  # noqa: ARG002
        """Return class 0 for each example.

        Parameters
        ----------
        w : array, shape (n_parameters,)
            The parameters.
        X : array, shape (m, ...)
            The examples.

        Returns
        -------
        numpy.ndarray, shape (m,)
            Zeros.
        """
        return np.zeros(len(X), dtype=np.int64)

    def flops(self, batch: Batch) -> float:
        """Count the floating-point operations of one gradient.

        Parameters
        ----------
        batch : tuple of arrays
            Examples and targets.

        Returns
        -------
        float
            As many for each example.
        """
        return self.flops_per_example * len(batch[1])

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count them layer by layer: in proportion to its parameters, a third of them forward.

        Parameters
        ----------
        batch : tuple of arrays
            Examples and targets.

        Returns
        -------
        tuple of LayerFlops
            Of each layer; together they are ``flops``.
        """
        per_parameter = self.flops(batch) / self.n_parameters
        shares = [per_parameter * layer.n_parameters for layer in self.layers]
        return tuple(LayerFlops(share / 3, 2 * share / 3) for share in shares)


class _PaperPasses:
    """The passes of a model without arithmetic."""

    def __init__(self, w: Array) -> None:
        self._w = w

    def forward(self, layer: Layer) -> None:
        """Do nothing."""

    def loss(self) -> float:
        """Return 0."""
        return 0.0

    def backward(self, layer: Layer) -> Array:
        """Return zeros as long as the layer."""
        return self._w[layer.part] * 0
