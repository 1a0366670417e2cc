"""One training step of a chain of layers, as a dataflow graph of which only the sizes are known."""

import math
from collections.abc import Mapping

from course_lib.models.chain import Chain
from course_lib.planning.graph import Graph, Node
from course_lib.words.whole import whole

__all__ = ["chain_step", "place_layers"]


def chain_step(chain: Chain, n_examples: int) -> Graph:
    """List what a step computes: forward, the loss, and back, both halves of each layer.

    What a layer saves of its forward pass is a result like any other. Only its two halves of going
    back use it, so where they are placed with their layer it stays there, as the weights do. What
    crosses a cut is activations, and their gradients on the way back.

    Parameters
    ----------
    chain : Chain
        Its layers' shapes and operations.
    n_examples : int
        How many examples a step takes.

    Returns
    -------
    Graph
        Nodes "x", "loss", and for each layer "NAME forward", "NAME input gradient" (but for the
        first, whose inputs nobody trains) and "NAME weight gradient".

    Examples
    --------
    >>> from course_lib.models.deep_mlp import deep_mlp
    >>> step = chain_step(deep_mlp(4, 3, 2), n_examples=10)
    >>> [(node.name, node.n_bytes) for node in step.nodes.values()][:4]
    [('x', 320), ('fc1 forward', 240), ('fc2 forward', 160), ('loss', 160)]
    """
    n_examples = whole("n_examples", n_examples, 1)
    sizes = [n_examples * math.prod(shape) * chain.dtype.itemsize for shape in chain.shapes]
    flops = [part.flops(n_examples) for part in chain.parts]
    nodes, before = [Node("x", n_bytes=sizes[0])], "x"
    for k, part in enumerate(chain.parts):
        name = f"{part.name} forward"
        nodes.append(Node(name, (before,), flops=flops[k].forward, n_bytes=sizes[k + 1]))
        before = name
    nodes.append(Node("loss", (before,), n_bytes=sizes[-1]))  # its slope in the last outputs
    slope = "loss"
    for k, part in reversed(list(enumerate(chain.parts))):
        used = (f"{part.name} forward", slope)
        if k:  # first, because the layer before waits for it, and nobody for the other
            slope = f"{part.name} input gradient"
            nodes.append(Node(slope, used, flops=flops[k].input_gradient, n_bytes=sizes[k]))
        nodes.append(
            Node(
                f"{part.name} weight gradient", used, flops=flops[k].weight_gradient,
                n_bytes=part.n_parameters * chain.dtype.itemsize,
            )
        )  # fmt: skip
    return Graph(nodes)


def place_layers(chain: Chain, placement: Mapping[str, int]) -> dict[str, int]:
    """Place a step's nodes with their layers.

    Parameters
    ----------
    chain : Chain
        The layers.
    placement : mapping of str to int
        The rank of each layer, by its name.

    Returns
    -------
    dict of str to int
        The rank of each node of ``chain_step``: the examples go with the first layer, the loss with
        the last.

    Raises
    ------
    ValueError
        If the placement leaves a layer out, or names what is none.
    """
    names = [part.name for part in chain.parts]
    for name in names:
        if name not in placement:
            raise ValueError(f"placement must have every layer, but leaves out {name!r}")
    for name in placement:
        if name not in names:
            raise ValueError(f"placement must have layers only, but {name!r} is none")
    placed = {"x": placement[names[0]], "loss": placement[names[-1]]}
    for k, name in enumerate(names):
        for what in ("forward", "input gradient", "weight gradient"):
            if k or what != "input gradient":
                placed[f"{name} {what}"] = placement[name]
    return placed
