"""One worker's passes, layer by layer: for schemes that exchange while back-propagation goes on."""

from contextlib import AbstractContextManager

from course_lib.models.model import Array, Batch, Layer, Model
from course_lib.training.compute import Compute

__all__ = ["PartialPasses"]


class PartialPasses:
    """One worker's share of a gradient, layer by layer, each layer timed as a compute block.

    Parameters
    ----------
    compute : callable
        ``comm.compute`` of this worker, for the blocks.
    model : Model
        What is trained.
    w : array, shape (n_parameters,)
        The parameters; each layer's are read when ``forward`` comes to it.
    batch : tuple of arrays
        This worker's examples, perhaps none.
    weight : float
        What part of the whole batch they are.
    """

    def __init__(
        self,
        compute: Compute,
        model: Model,
        w: Array,
        batch: Batch,
        weight: float,
    ) -> None:
        self._compute, self._w = compute, w
        self._passes = model.passes(w, batch, weight) if weight else None
        names = [layer.name for layer in model.layers]
        self._flops = dict(zip(names, model.layer_flops(batch), strict=True))

    def forward(self, layer: Layer) -> None:
        """Go forward through one layer: the first of the model, then each next one."""
        with self._block("forward", layer, self._flops[layer.name].forward):
            if self._passes:
                self._passes.forward(layer)

    def loss(self) -> float:
        """Return the examples' share of the mean loss over the whole batch."""
        return self._passes.loss() if self._passes else 0.0

    def backward(self, layer: Layer) -> Array:
        """Go back through one layer, the last one first; return the share of its gradient."""
        with self._block("backward", layer, self._flops[layer.name].backward):
            return self._passes.backward(layer) if self._passes else self._w[layer.part] * 0

    def _block(self, pass_name: str, layer: Layer, flops: float) -> AbstractContextManager[None]:
        return self._compute(f"{pass_name} {layer.name}", flops=flops)
