"""A multi-layer perceptron: fully connected layers with a bend between them."""

from itertools import pairwise

from torch import nn

from course_lib.models.perceptron import Perceptron

__all__ = ["mlp"]


def mlp(*sizes: int, dtype: str = "float64") -> Perceptron:
    """Make a perceptron with ReLU between its fully connected layers.

    Parameters
    ----------
    *sizes : int
        The number of inputs, of units in each hidden layer, and of classes.
    dtype : {"float64", "float32"}, default: "float64"
        Of the parameters and the arithmetic.

    Returns
    -------
    Perceptron
        With layers ``"fc1"``, ``"fc2"`` and so on.

    Raises
    ------
    ValueError
        If there are fewer than two sizes, or one is below 1.

    Notes
    -----
    Cost: a product of weights and inputs forward, one more for the gradient of the weights and one
    more for that of the inputs (which the first layer is spared), 2 flops a weight each.

    Examples
    --------
    >>> model = mlp(64, 32, 10)
    >>> model.n_parameters == 64 * 32 + 32 + 32 * 10 + 10
    True
    >>> [layer.name for layer in model.layers]
    ['fc1', 'fc2']
    """
    if len(sizes) < 2 or any(size < 1 for size in sizes):
        raise ValueError(f"sizes must be two or more numbers of 1 or more, got {sizes}")
    layers: list[tuple[str, nn.Module]] = []
    for number, (n_in, n_out) in enumerate(pairwise(sizes), start=1):
        linear = nn.Linear(n_in, n_out)
        is_last = number == len(sizes) - 1
        layers.append((f"fc{number}", linear if is_last else nn.Sequential(linear, nn.ReLU())))
    weights = [n_in * n_out for n_in, n_out in pairwise(sizes)]
    return Perceptron(layers, weights, dtype)
