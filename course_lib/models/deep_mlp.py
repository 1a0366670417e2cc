"""Eight fully connected layers: deep enough to be cut into as many stages."""

from itertools import pairwise

from course_lib.models.chain import Chain
from course_lib.models.fully_connected import FullyConnected

__all__ = ["deep_mlp"]


def deep_mlp(*sizes: int, dtype: str = "float64") -> Chain:
    """Make a chain of fully connected layers with ReLU between them.

    Parameters
    ----------
    *sizes : int
        The number of inputs, of units in each hidden layer, and of classes.
    dtype : {"float64", "float32"}, default: "float64"
        Of the parameters and the arithmetic.

    Returns
    -------
    Chain
        With layers ``"fc1"``, ``"fc2"`` and so on.

    Raises
    ------
    ValueError
        If there are fewer than two sizes, or one is below 1.

    Examples
    --------
    >>> model = deep_mlp(64, 32, 32, 32, 32, 32, 32, 32, 10)
    >>> len(model.parts), model.shapes[0], model.shapes[-1]
    (8, (64,), (10,))
    """
    if len(sizes) < 2 or any(size < 1 for size in sizes):
        raise ValueError(f"sizes must be two or more numbers of 1 or more, got {sizes}")
    parts = [
        FullyConnected(f"fc{k}", n_in, n_out, bends=k < len(sizes) - 1)
        for k, (n_in, n_out) in enumerate(pairwise(sizes), start=1)
    ]
    return Chain(parts, (sizes[0],), dtype)
