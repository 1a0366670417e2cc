"""What the models here are trained on, checked: numbers they can compute with, and classes.

A check stands where a model would otherwise convert: what would lose a part (complex numbers, class
3.9 for class 3) or mean something else (class -100, which torch leaves out) is refused by name.
"""

import math
from typing import Any

import numpy as np

from course_lib.models.model import Array
from course_lib.words.plain import check_plain

__all__ = ["check_numbers", "check_targets", "check_two_classes", "class_numbers", "dense"]

_REAL = "biuf"


def check_numbers(array: Array, argument: str) -> None:
    """Refuse an array of anything but real numbers.

    Parameters
    ----------
    array : numpy.ndarray, torch.Tensor or scipy.sparse matrix
        What was handed in.
    argument : str
        How it is called, for the error.

    Raises
    ------
    TypeError
        If it is masked, or its elements are complex, texts, dates or objects.
    """
    dtype = getattr(array, "dtype", None)
    if type(array) is np.ndarray and array.dtype.kind in _REAL:
        return
    check_plain(array, argument)
    is_other = isinstance(dtype, np.dtype) and dtype.kind not in _REAL
    if is_other or getattr(dtype, "is_complex", False):
        told = str(dtype).removeprefix("torch.")
        more = f"; take {argument}.real, or its absolute values" if "complex" in told else ""
        raise TypeError(f"{argument} must hold real numbers, got dtype {told}{more}")


def dense(X: Array, argument: str = "X") -> Array:
    """Return examples for a network: real numbers, one beside the other, bytes in native order.

    Parameters
    ----------
    X : numpy.ndarray or torch.Tensor, shape (m, ...)
        The examples.
    argument : str, default: "X"
        How they are called, for the error.

    Returns
    -------
    array
        ``X`` itself, but where its bytes had to be swapped.

    Raises
    ------
    TypeError
        If it is sparse, or does not hold real numbers.
    """
    is_torch = hasattr(X, "layout") and hasattr(X, "to_dense")
    if (is_torch and "strided" not in str(X.layout)) or hasattr(X, "toarray"):
        way_out = f"{argument}.to_dense()" if is_torch else f"{argument}.toarray()"
        raise TypeError(
            f"{argument} must be a dense array, got {type(X).__name__}; {way_out} makes one"
        )
    check_numbers(X, argument)
    if isinstance(X, np.ndarray) and not X.dtype.isnative:
        return X.astype(X.dtype.newbyteorder("="))
    return X


def class_numbers(y: Array, n_examples: int, n_classes: int) -> Array:
    """Return targets as whole class numbers.

    Parameters
    ----------
    y : numpy.ndarray, torch.Tensor or sequence, shape (m,)
        A class for each example; floats may be whole.
    n_examples, n_classes : int
        How many there are: m, and the outputs of the model.

    Returns
    -------
    numpy.ndarray or torch.Tensor of int64, shape (m,)
        Each from 0 to ``n_classes - 1``.

    Raises
    ------
    TypeError
        If they are no real numbers.
    ValueError
        If the shape is another, or one of them is no class.
    """
    is_torch = hasattr(y, "is_complex") and hasattr(y, "numel")
    if not is_torch and not isinstance(y, np.ndarray):
        y = np.asarray(y)
    check_numbers(y, "y")
    if tuple(y.shape) != (n_examples,):
        more = "; y.reshape(-1) has it" if math.prod(y.shape) == n_examples else ""
        raise ValueError(
            f"y must have shape ({n_examples},), the number of a class for each example, got "
            f"shape {tuple(y.shape)}{more}"
        )
    with np.errstate(invalid="ignore"):  # NaN becomes a number that is no class either
        whole = y.long() if is_torch else y.astype(np.int64, copy=False)
    is_exact = whole is y or bool((whole == y).all())
    if n_examples == 0 or (is_exact and whole.min() >= 0 and whole.max() < n_classes):
        return whole
    wrong = next(one for one in y.tolist() if one not in range(n_classes))
    raise ValueError(
        f"y must hold whole class numbers from 0 to {n_classes - 1}, one for each output of the "
        f"model, got {wrong}"
    )


def check_targets(X: Any, y: Any, n_features: int) -> None:
    """Refuse examples that a model of one layer cannot take, before NumPy spreads them.

    Parameters
    ----------
    X : array, shape (m, d)
        The examples; they may be sparse.
    y : array, shape (m,)
        One target for each.
    n_features : int
        How many columns there must be.

    Raises
    ------
    TypeError
        If they do not hold real numbers.
    ValueError
        If a shape is another.
    """
    check_numbers(X, "X")
    check_numbers(y, "y")
    of_x, of_y = (tuple(getattr(array, "shape", None) or np.shape(array)) for array in (X, y))
    if len(of_x) != 2 or of_x[1] != n_features:
        raise ValueError(
            f"X must have shape (examples, {n_features}), a column for each feature of the model, "
            f"got {of_x}"
        )
    if of_y != of_x[:1]:
        raise ValueError(f"y must have shape ({of_x[0]},), one target a row of X, got {of_y}")


def check_two_classes(y: Any) -> None:
    """Refuse targets other than the classes 0 and 1.

    Parameters
    ----------
    y : array, shape (m,)
        The classes.

    Raises
    ------
    ValueError
        If one is another.
    """
    y = np.asarray(y)
    is_class = (y == 0) | (y == 1)
    if not is_class.all():
        raise ValueError(f"y must hold classes, 0 or 1, got {y[~is_class][0]}")
