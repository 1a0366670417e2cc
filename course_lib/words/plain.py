"""Plain arrays: what computes and travels as the numbers that one sees, and nothing besides."""

from typing import Any

import numpy as np

__all__ = ["check_plain"]


def check_plain(array: Any, argument: str) -> None:
    """Refuse arrays that would lose a part of what they mean, or whose elements are no numbers.

    Parameters
    ----------
    array : numpy.ndarray or another array
        What was handed in; what NumPy does not know is let through.
    argument : str
        How it is called, for the error.

    Raises
    ------
    TypeError
        If it is masked, a table with named rows, or of Python objects; it says what makes a
        plain one.
    """
    # A plain array is asked no more: in each new worker, to look at np.ma first loads it.
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{argument} must be a plain array, got a masked array, whose mask would be lost; "
            f"take {argument}.filled(value), or {argument}.data and the mask as an array of its own"
        )
    if hasattr(array, "get_mask"):
        raise TypeError(
            f"{argument} must be a plain array, got a masked tensor, whose mask would be lost; "
            f"{argument}.to_tensor(value) makes one"
        )
    if hasattr(array, "iloc"):  # what stands in its brackets are names of rows, or of columns
        raise TypeError(
            f"{argument} must be a plain array, got a {type(array).__name__}, whose rows go by "
            f"names; {argument}.to_numpy() makes one"
        )
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        raise TypeError(
            f"{argument} must be a plain array, got one of dtype {dtype}, whose elements are "
            f"Python objects; {argument}.astype(float) makes numbers of them, if they are such"
        )
