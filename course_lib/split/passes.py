"""Some layers of a chain, forward and back: what lies between two exchanges."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from course_lib.models.chain import Chain

__all__ = ["backward", "forward"]

Array = NDArray[Any]


def forward(chain: Chain, layers: Sequence[int], w: Array, x: Array) -> tuple[Array, list[Any]]:
    """Go forward through some layers of a chain.

    Parameters
    ----------
    chain : Chain
        Whose layers.
    layers : sequence of int
        Their numbers, one after another.
    w : numpy.ndarray, shape (n_parameters,)
        The parameters of the whole chain.
    x : numpy.ndarray, shape (m, ...)
        What comes into the first of them.

    Returns
    -------
    y : numpy.ndarray, shape (m, ...)
        What goes out of the last of them.
    kept : list
        What ``backward`` needs.
    """
    kept = []
    for k in layers:
        x, saved = chain.parts[k].forward(w[chain.layers[k].part], x)
        kept.append(saved)
    return x, kept


def backward(
    chain: Chain, layers: Sequence[int], w: Array, kept: list[Any], dy: Array, grad: Array
) -> Array:
    """Go back through the layers that ``forward`` went through, and add to the gradient.

    Parameters
    ----------
    chain : Chain
        Whose layers.
    layers : sequence of int
        Their numbers, as ``forward`` was given them.
    w : numpy.ndarray, shape (n_parameters,)
        The parameters of the whole chain.
    kept : list
        What it returned; it is emptied.
    dy : numpy.ndarray, shape (m, ...)
        The slope of the loss in what went out of the last of them.
    grad : numpy.ndarray, shape (n_parameters,)
        The gradient of the whole chain, to which that of these layers is added.

    Returns
    -------
    numpy.ndarray, shape (m, ...)
        The slope in what came into the first of them; of the first layer of the chain, which nobody
        waits for, that in what went out.
    """
    for k in reversed(layers):
        part, saved = chain.parts[k], kept.pop()
        grad[chain.layers[k].part] += part.weight_gradient(saved, dy)
        if k > 0:
            dy = part.input_gradient(w[chain.layers[k].part], saved, dy)
    return dy
