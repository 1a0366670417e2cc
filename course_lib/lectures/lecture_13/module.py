"""A module of Inception-v3 as a dataflow graph: four branches of convolutions, joined at the end.

Each weight is used by one node, so where a node is placed, there its weights are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.models.image_operations import convolved, window_means
from course_lib.planning.graph import Graph, Node

__all__ = ["BRANCHES", "inception"]

BRANCHES: dict[str, tuple[tuple[str, tuple[int, int]], ...]] = {
    "c": (("c1", (1, 1)), ("c2", (7, 1)), ("c3", (1, 7)), ("c4", (7, 1)), ("c5", (1, 7))),
    "b": (("b1", (1, 1)), ("b2", (1, 7)), ("b3", (7, 1))),
    "a": (("a", (1, 1)),),
    "d": (("d", (1, 1)),),
}
"""By its letter each branch's convolutions, name and window; the longest branch first."""

_ITEM_BYTES = 4  # float32


def inception(
    batch: int, *, inputs: int = 768, channels: int = 192, side: int = 17, seed: int | None = None
) -> Graph:
    """List the operations of a module, forward: the sizes of Inception-v3's last 17 x 17 module.

    Parameters
    ----------
    batch : int
        How many images.
    inputs, channels : int
        Channels of what comes in, and of what each convolution makes.
    side : int
        Of the images, in pixels.
    seed : int or None, default: None
        With a seed the nodes compute, with weights and images drawn from it; without, only their
        sizes are known.

    Returns
    -------
    Graph
        Nodes "x", "c1" to "c5", "b1" to "b3", "a", "pool", "d" and "join".

    References
    ----------
    C. Szegedy, V. Vanhoucke, S. Ioffe et al., "Rethinking the Inception architecture for computer
    vision", CVPR 2016, figure 6 (n = 7).

    Examples
    --------
    >>> inception(1)
    Graph(13 nodes, 15 edges)
    >>> round(inception(1).nodes["c1"].flops / 1e6)
    85
    """
    rng = None if seed is None else np.random.default_rng(seed)
    pixels = batch * side * side
    made = pixels * channels * _ITEM_BYTES
    images = None
    if rng is not None:
        shape = (batch, inputs, side, side)
        images = _constant(rng.normal(size=shape).astype(np.float32))
    nodes = [Node("x", fn=images, n_bytes=pixels * inputs * _ITEM_BYTES)]
    for letter, convolutions in BRANCHES.items():
        before, n_in = "x", inputs
        if letter == "d":  # a mean over 3 x 3 pixels stands before it
            before = "pool"
            mean = None if rng is None else window_means
            flops = 9.0 * pixels * inputs
            nodes.append(Node("pool", ("x",), mean, flops, pixels * inputs * _ITEM_BYTES))
        for name, window in convolutions:
            weights = n_in * channels * window[0] * window[1]
            fn = None if rng is None else _convolution(rng, channels, n_in, window)
            nodes.append(Node(name, (before,), fn, 2.0 * pixels * weights, made))
            before, n_in = name, channels
    ends = tuple(convolutions[-1][0] for convolutions in BRANCHES.values())
    nodes.append(Node("join", ends, None if rng is None else _join, 0.0, len(ends) * made))
    return Graph(nodes)


def _constant(images: NDArray[np.float32]) -> Callable[[], NDArray[np.float32]]:
    return lambda: images


def _convolution(
    rng: np.random.Generator, n_out: int, n_in: int, window: tuple[int, int]
) -> Callable[[NDArray[np.float32]], Any]:
    """Make a convolution that keeps the image's size, and a ReLU."""
    high, wide = window
    scale = (2 / (n_in * high * wide)) ** 0.5
    weights = (scale * rng.normal(size=(n_out, n_in, high, wide))).astype(np.float32)
    return lambda images: convolved(images, weights)


def _join(*parts: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate(parts, axis=1)
