"""One training step of a net of which only the sizes are known, split in three ways.

Arithmetic is time that passes, and what is sent has the right number of bytes, or the same part of
them everywhere, on a network that is slower by as much: so a large net fits into the memory of a
few simulated workers. None of the three hides its messages under its computing, but for what the
pipeline does by itself; updates of parameters cost nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.communicator import Communicator
from course_lib.comm.simulated.network import Network
from course_lib.costs.catalogue import predicted_s
from course_lib.models.chain import Chain
from course_lib.models.published import LayerSize
from course_lib.planning.graph import Graph, Node
from course_lib.training.balanced import balanced_stages
from course_lib.words.split import split_evenly
from course_lib.words.whole import whole

__all__ = ["GRADIENT_BYTES", "SizedStep", "data_step", "hybrid_step", "layer_sizes",
           "pipeline_step", "ring_s"]  # fmt: skip

GRADIENT_BYTES = 4
"""Of one number: float32."""

_MOST_BYTES = 400_000.0  # of what stands for the largest array


@dataclass(frozen=True)
class SizedStep:
    """A net's sizes, and the batch of one step.

    Attributes
    ----------
    layers : tuple of LayerSize
        In the order of the forward pass, each with ``n_inputs``.
    batch : int
        How many examples all workers together take.
    scale : float, default: 1.0
        How many bytes are sent for each that would be.

    Raises
    ------
    TypeError, ValueError
        If there are no layers, one does not say what comes in, or a number is out of range.
    """

    layers: tuple[LayerSize, ...]
    batch: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check every part once."""
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "batch", whole("batch", self.batch, 1))
        if not self.layers:
            raise ValueError("layers must be one or more, got none")
        for layer in self.layers:
            whole(f"n_parameters of {layer.name}", layer.n_parameters, 1)
            whole(f"n_inputs of {layer.name}", layer.n_inputs, 1)

    @property
    def split_at(self) -> int:
        """Where the fully connected layers at the end of the net begin: the join of a hybrid."""
        number = len(self.layers)
        while number and self.layers[number - 1].is_fully_connected:
            number -= 1
        return number

    def flops(self, layers: Sequence[LayerSize], n_examples: float, part: float = 1.0) -> float:
        """Count the operations of some layers; a third of them forward, two thirds back."""
        return part * n_examples * math.fsum(layer.flops for layer in layers)

    def parameter_bytes(self, layers: Sequence[LayerSize]) -> int:
        """Count the bytes of some layers' parameters, and of their gradient."""
        return GRADIENT_BYTES * sum(layer.n_parameters for layer in layers)

    def input_bytes(self, layer: LayerSize, n_examples: int) -> int:
        """Count the bytes that come into a layer with so many examples."""
        return GRADIENT_BYTES * n_examples * layer.n_inputs

    def zeros(self, n_bytes: float, parts: int) -> NDArray[np.float64]:
        """Make what stands for an array of so many bytes, of a length that divides into parts."""
        return np.zeros(parts * max(1, round(n_bytes * self.scale / 8 / parts)))

    def shortened(self, network: Network) -> tuple["SizedStep", Network]:
        """Make what is sent short, and the network as much slower.

        Parameters
        ----------
        network : Network
            One in which any two ranks are connected alike.

        Returns
        -------
        step : SizedStep
            The same net, with a scale.
        network : Network
            On which the short messages take as long as the whole ones.
        """
        sizes = [self.input_bytes(layer, self.batch) for layer in self.layers]
        scale = min(1.0, _MOST_BYTES / max(*sizes, self.parameter_bytes(self.layers)))
        slower = network.bandwidth_bytes_per_s * scale
        return replace(self, scale=scale), replace(network, bandwidth_bytes_per_s=slower)


def data_step(comm: Communicator, step: SizedStep) -> None:
    """Compute the gradient of this worker's examples, and add it up over all workers.

    Notes
    -----
    Cost: ceil(B / P) examples; one ring all-reduce of all parameters.
    """
    n_examples = _own_examples(comm, step)
    with comm.compute("gradient", flops=step.flops(step.layers, n_examples)):
        grad = step.zeros(step.parameter_bytes(step.layers), comm.size)
    allreduce_ring(comm, grad)


def hybrid_step(comm: Communicator, step: SizedStep) -> None:
    """Split the fully connected layers at the end by units, and take the others' examples apart.

    Before a split layer every worker gets all examples' inputs; behind it each has its part of the
    units for all examples. On the way back each has a part of every sum that is a slope of those
    inputs: they are added up, and each keeps what it had given.

    Notes
    -----
    Cost: for each split layer a ring all-gather of its B x n_inputs numbers, and a ring
    reduce-scatter of as many (but where it is the first of the net, whose examples need no slope);
    one ring all-reduce of the other layers' parameters. The outputs of the last layer are not put
    together: a softmax over shards sends two numbers an example instead, not counted here.

    References
    ----------
    A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
    arXiv:1404.5997, 2014, scheme (a).
    """
    apart, split = step.layers[: step.split_at], step.layers[step.split_at :]
    n_examples = _own_examples(comm, step)
    with comm.compute("forward", flops=step.flops(apart, n_examples, 1 / 3)):
        pass
    for layer in split:
        inputs = step.zeros(step.input_bytes(layer, step.batch), comm.size)
        allgather_ring(comm, inputs[split_evenly(len(inputs), comm.size)[comm.rank]])
        flops = step.flops([layer], step.batch / comm.size, 1 / 3)
        with comm.compute(f"forward {layer.name}", flops=flops):
            pass
    for layer in reversed(split):
        flops = step.flops([layer], step.batch / comm.size, 2 / 3)
        with comm.compute(f"backward {layer.name}", flops=flops):
            slope_partial = step.zeros(step.input_bytes(layer, step.batch), comm.size)
        if layer is not step.layers[0]:
            reduce_scatter_ring(comm, slope_partial)
    if apart:
        with comm.compute("backward", flops=step.flops(apart, n_examples, 2 / 3)):
            grad = step.zeros(step.parameter_bytes(apart), comm.size)
        allreduce_ring(comm, grad)


def pipeline_step(step: SizedStep, workers: int, n_micro: int) -> tuple[Graph, dict[str, int]]:
    """Cut the layers into stages, one on each worker, and send micro-batches through (GPipe).

    Parameters
    ----------
    step : SizedStep
        The net and the batch.
    workers : int
        How many ranks; those that are more than the layers have nothing to do.
    n_micro : int
        How many micro-batches, at most as many as examples. One is what a net placed layer by
        layer does: a worker computes, the others wait.

    Returns
    -------
    graph : Graph
        A forward and a backward node for each micro-batch and stage: all forward first.
    placement : dict of str to int
        The rank of each node.

    Notes
    -----
    Cost: 2 M (S - 1) messages for S stages, of the numbers that come into each next stage. No
    parameter is sent. Stages have about equally many operations.

    References
    ----------
    Y. Huang, Y. Cheng, A. Bapna et al., "GPipe: efficient training of giant neural networks using
    pipeline parallelism", NeurIPS 2019.
    """
    n_micro = whole("n_micro", n_micro, 1, step.batch)
    lengths = balanced_stages(
        [layer.flops for layer in step.layers], min(workers, len(step.layers))
    )
    stages, begin = [], 0
    for length in lengths:
        stages.append(step.layers[begin : begin + length])
        begin += length
    sizes = [part.stop - part.start for part in split_evenly(step.batch, n_micro)]
    nodes, placement = [], {}

    def add(way: str, m: int, s: int, inputs: tuple[str, ...], entered: int, part: float) -> None:
        n_bytes = 0.0
        if 0 < entered < len(stages):
            n_bytes = step.scale * step.input_bytes(stages[entered][0], sizes[m])
        flops = step.flops(stages[s], sizes[m], part)
        name = f"{way}{m} stage {s}"
        nodes.append(Node(name, inputs, flops=flops, n_bytes=max(1, round(n_bytes))))
        placement[name] = s

    for m in range(n_micro):
        for s in range(len(stages)):
            before = (f"F{m} stage {s - 1}",) if s else ()
            add("F", m, s, before, s + 1, 1 / 3)
    for m in range(n_micro):
        for s in reversed(range(len(stages))):
            behind = (f"B{m} stage {s + 1}",) if s + 1 < len(stages) else ()
            add("B", m, s, (f"F{m} stage {s}", *behind), s, 2 / 3)
    return Graph(nodes), placement


def layer_sizes(chain: Chain) -> tuple[LayerSize, ...]:
    """Read the sizes of a chain's layers.

    Parameters
    ----------
    chain : Chain
        The net.

    Returns
    -------
    tuple of LayerSize
        In the order of the forward pass, with what comes into each.
    """
    return tuple(
        LayerSize(part.name, part.n_parameters, float(sum(part.flops(1))), math.prod(shape))
        for part, shape in zip(chain.parts, chain.shapes[:-1], strict=True)
    )


def ring_s(collective: str, n_bytes: int, workers: int, network: Network) -> float:
    """Predict a collective on a ring, of messages that wait for their receivers.

    Parameters
    ----------
    collective : str
        A name in the catalogue of costs.
    n_bytes : int
        Of the array that it is called with.
    workers : int
        How many call it.
    network : Network
        One in which any two ranks are connected alike.

    Returns
    -------
    float
        In seconds.
    """
    return predicted_s(
        collective, workers, n_bytes, network.latency_s, network.beta_s_per_byte, eager_bytes=0
    )


def _own_examples(comm: Communicator, step: SizedStep) -> int:
    part = split_evenly(step.batch, comm.size)[comm.rank]
    return int(part.stop - part.start)
