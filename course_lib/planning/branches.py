"""A net whose branches do not wait for each other, and its training step as a dataflow graph.

Layers in a row are computed one after another, wherever they are: P workers with a chain on them
are busy 1/P of the time. Branches are computed at the same time if they are on different workers.
What it costs is the cut: the examples to each branch's worker, and what it makes of them back.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from course_lib.models.chain import ChainLayer
from course_lib.models.model import Array
from course_lib.models.torch_passes import loss_and_slope
from course_lib.planning.graph import Graph, Node

__all__ = ["BranchingNet", "branching_step", "place_branches"]

_ITEM_BYTES = 8  # all is float64


class BranchingNet:
    """Branches that all get the same examples, and a head that gets what all of them make.

    Parameters
    ----------
    branches : sequence of sequence of ChainLayer
        The layers of each branch, in their order.
    head : sequence of ChainLayer
        The layers behind the join, where the branches' outputs lie side by side.
    input_shape : tuple of int
        Of one example.

    Attributes
    ----------
    layers : dict of str to ChainLayer
        All of them by name: those of the first branch, of the next ones, then those of the head.
    shapes : dict of str to tuple of int
        What each layer makes of one example.
    widths : tuple of int
        How many numbers each branch hands to the head.

    Raises
    ------
    ValueError
        If a branch or the head is empty, two layers have one name, or one does not fit to the one
        before.
    """

    def __init__(
        self,
        branches: Sequence[Sequence[ChainLayer]],
        head: Sequence[ChainLayer],
        input_shape: tuple[int, ...],
    ) -> None:
        if not branches or not head or not all(branches):
            raise ValueError("branches and head must have a layer or more each")
        self.branches, self.head = tuple(map(tuple, branches)), tuple(head)
        self.input_shape = tuple(input_shape)
        self.layers: dict[str, ChainLayer] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        for branch in self.branches:
            self._add(branch, self.input_shape)
        self.widths = tuple(math.prod(self.shapes[branch[-1].name]) for branch in self.branches)
        self._add(self.head, (sum(self.widths),))

    def _add(self, layers: Sequence[ChainLayer], shape: tuple[int, ...]) -> None:
        for layer in layers:
            if layer.name in self.layers:
                raise ValueError(f"layers must have different names, got {layer.name!r} twice")
            shape = layer.output_shape(shape)
            self.layers[layer.name], self.shapes[layer.name] = layer, shape

    def initial_of(self, name: str, seed: int = 0) -> NDArray[np.float64]:
        """Draw the parameters that one layer starts from, without those of the others."""
        rng = np.random.default_rng([seed, list(self.layers).index(name)])
        return self.layers[name].initial(rng)


def branching_step(
    net: BranchingNet, n_examples: int, parameters: Mapping[str, Array] | None = None
) -> Graph:
    """List what a training step computes: forward, the loss, and back through every branch.

    Parameters
    ----------
    net : BranchingNet
        Its layers, shapes and operations.
    n_examples : int
        How many examples a step takes.
    parameters : mapping of str to array or None, default: None
        Those of this worker's layers, which are read when the step comes to them.

    Returns
    -------
    Graph
        To be fed with "x" and "y". It results in "loss" and, for each layer, in "NAME weight
        gradient". What crosses a cut has its size.

    Notes
    -----
    Cost: placed by ``place_branches``, the examples once to each worker without the head, and for
    each branch there its outputs back and their slope to it: three messages a step for two branches
    on two workers. Classes stay where the loss is.
    """
    step = _Step(net, n_examples, {} if parameters is None else parameters)
    step.nodes.append(Node("x", n_bytes=step.size(net.input_shape)))
    step.nodes.append(Node("y", n_bytes=8 * n_examples))
    ends = [step.forward(branch, "x") for branch in net.branches]
    step.nodes.append(Node("join", tuple(ends), fn=_join, n_bytes=step.size((sum(net.widths),))))
    outputs = step.forward(net.head, "join")
    step.nodes.append(Node("loss and slope", (outputs, "y"), fn=loss_and_slope))
    step.nodes.append(Node("loss", ("loss and slope",), fn=itemgetter(0)))
    step.pick("slope", "loss and slope", 1, net.shapes[net.head[-1].name])
    slope, slopes = step.backward(net.head, "slope", to_inputs=True), []
    for k, (begin, end) in enumerate(pairwise(accumulate(net.widths, initial=0))):
        name, shape = f"slope of branch {k}", net.shapes[net.branches[k][-1].name]
        step.nodes.append(
            Node(
                name, (slope,), n_bytes=step.size(shape),
                fn=lambda dy, part=slice(begin, end), shape=shape: (
                    np.ascontiguousarray(dy[:, part]).reshape(-1, *shape)
                ),
            )
        )  # fmt: skip
        slopes.append(name)
    for branch, slope in zip(net.branches, slopes, strict=True):  # when all are on their way
        step.backward(branch, slope, to_inputs=False)
    return Graph(step.nodes + step.at_last)


class _Step:
    """The nodes of a step, as they are added."""

    def __init__(self, net: BranchingNet, n_examples: int, parameters: Mapping[str, Array]) -> None:
        self.net, self.n_examples, self.parameters = net, n_examples, parameters
        self.nodes: list[Node] = []
        self.at_last: list[Node] = []  # nobody waits for gradients of weights

    def size(self, shape: tuple[int, ...]) -> int:
        return self.n_examples * math.prod(shape) * _ITEM_BYTES

    def pick(self, name: str, pair: str, place: int, shape: tuple[int, ...]) -> None:
        self.nodes.append(Node(name, (pair,), fn=itemgetter(place), n_bytes=self.size(shape)))

    def forward(self, layers: Sequence[ChainLayer], before: str) -> str:
        """Add a layer's parameters, its pass (outputs and what going back needs), its outputs."""
        for layer in layers:
            weights, both = f"{layer.name} parameters", f"{layer.name} forward"
            self.nodes.append(Node(weights, fn=lambda name=layer.name: self.parameters[name]))
            self.nodes.append(
                Node(
                    both, (weights, before), fn=layer.forward,
                    flops=layer.flops(self.n_examples).forward,
                )
            )  # fmt: skip
            self.pick(layer.name, both, 0, self.net.shapes[layer.name])
            before = layer.name
        return before

    def backward(self, layers: Sequence[ChainLayer], slope: str, *, to_inputs: bool) -> str:
        """Add both halves of going back; nobody wants the slope in the examples."""
        for k, layer in reversed(list(enumerate(layers))):
            used = (f"{layer.name} parameters", f"{layer.name} forward", slope)
            flops = layer.flops(self.n_examples)
            of_inputs, of_weights = f"{layer.name} input gradient", f"{layer.name} weight gradient"
            back = Node(
                of_weights, used, flops=flops.weight_gradient,
                fn=lambda _, both, dy, layer=layer: layer.weight_gradient(both[1], dy),
            )  # fmt: skip
            if k or to_inputs:
                shape = self.net.shapes[layers[k - 1].name] if k else (sum(self.net.widths),)
                self.nodes.append(
                    Node(
                        of_inputs, used, flops=flops.input_gradient, n_bytes=self.size(shape),
                        fn=lambda w, both, dy, layer=layer: layer.input_gradient(w, both[1], dy),
                    )
                )  # fmt: skip
                slope = of_inputs
            self.at_last.append(back)
        return slope


def _join(*outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([y.reshape(len(y), -1) for y in outputs], axis=1)


def place_branches(net: BranchingNet, branches: Sequence[int], head: int) -> dict[str, int]:
    """Place every branch on a worker, and the head with all that belongs to no branch.

    Parameters
    ----------
    net : BranchingNet
        The net.
    branches : sequence of int
        The rank of each branch.
    head : int
        The rank of examples, classes, join, head and loss.

    Returns
    -------
    dict of str to int
        The rank of each node of ``branching_step``.

    Raises
    ------
    ValueError
        If there is not one rank for each branch.
    """
    if len(branches) != len(net.branches):
        raise ValueError(
            f"branches must have one rank for each of {len(net.branches)} branches, got {branches}"
        )
    rank_of = {
        layer.name: rank
        for layers, rank in zip(net.branches, branches, strict=True) for layer in layers
    }  # fmt: skip
    ends = ("", " parameters", " forward", " input gradient", " weight gradient")
    owner = {name + end: rank for name, rank in rank_of.items() for end in ends}
    return {name: owner.get(name, head) for name in branching_step(net, 1).nodes}
