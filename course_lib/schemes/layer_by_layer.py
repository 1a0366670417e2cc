"""What the schemes share that exchange gradients while back-propagation still goes on."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from course_lib.comm.communicator import Communicator
from course_lib.comm.pending import Pending
from course_lib.models.model import Array, Batch, Layer, Model

__all__ = ["PartialPasses", "buckets", "exchange_after"]


def buckets(layers: Sequence[Layer], bucket_bytes: float, itemsize: int) -> list[slice]:
    """Put neighbouring layers together until there are enough bytes to be worth an exchange.

    Parameters
    ----------
    layers : sequence of Layer
        A model's layers.
    bucket_bytes : float
        A bucket is closed when it holds so many bytes or more. 0 gives every layer a bucket of its
        own, ``math.inf`` puts all into one.
    itemsize : int
        The bytes of one parameter.

    Returns
    -------
    list of slice
        The parts of the flat vector in the order of back-propagation: the last layers' first.

    Examples
    --------
    >>> layers = [Layer("fc1", slice(0, 6)), Layer("fc2", slice(6, 8)), Layer("fc3", slice(8, 9))]
    >>> buckets(layers, 16, itemsize=8)
    [slice(6, 9, None), slice(0, 6, None)]
    """
    found = []
    stop = layers[-1].part.stop
    for layer in reversed(layers):
        start = layer.part.start
        if start == 0 or (stop - start) * itemsize >= bucket_bytes:
            found.append(slice(start, stop))
            stop = start
    return found


def exchange_after(
    comm: Communicator,
    before: Pending[None] | None,
    bucket: Array,
    allreduce: Callable[..., Array],
) -> None:
    """Add up a bucket over all ranks, beside what the rank goes on to do; for ``comm.start``.

    Parameters
    ----------
    comm : Communicator
        The child that ``start`` gives.
    before : Pending or None
        The exchange that has to be over first; None does not wait.
    bucket : array, one-dimensional
        This rank's part of a gradient; it is replaced by the sum.
    allreduce : callable
        Any all-reduce of ``course_lib.collectives``.
    """
    if before is not None:
        before.wait()
    allreduce(comm, bucket, out=bucket)


class PartialPasses:
    """One worker's share of a gradient, layer by layer, each layer timed as a compute block.

    Parameters
    ----------
    comm : Communicator
        Of this worker, for the blocks.
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
        self, comm: Communicator, model: Model, w: Array, batch: Batch, weight: float
    ) -> None:
        self._comm, self._w = comm, w
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
        return self._comm.compute(f"{pass_name} {layer.name}", flops=flops)
