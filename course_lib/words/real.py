"""The check of an argument that is a number, and the sentence that refuses another."""

import math
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["finite", "one_number", "real"]


def finite(number: Any) -> bool:
    """Tell whether a number is finite, and not larger than any float, as a whole number may be."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def one_number(argument: str, value: Any) -> float:
    """Return what a learner's function computes as Python's number, or refuse what is none.

    Parameters
    ----------
    argument : str
        What it is called.
    value : Any
        What was returned; a tensor of one number is one, also NaN, an array of one row is none.

    Returns
    -------
    float
        The number.

    Raises
    ------
    TypeError
        Naming the argument and what was returned.
    """
    shape = tuple(getattr(value, "shape", ()))
    is_row = isinstance(value, np.ndarray) and shape
    if not isinstance(value, str | bytes) and not is_row:
        with suppress(TypeError, ValueError, RuntimeError):  # the last for several, of torch
            return float(value.detach() if hasattr(value, "detach") else value)
    got = f"{type(value).__name__} {value!r:.60}"
    if value is None:
        got = "None"
    elif shape:
        got = f"{type(value).__name__} of shape {shape}"
    raise TypeError(f"{argument} must be one number, got {got}")


def real(argument: str, value: Any) -> Any:
    """Return a number as it is, or refuse what is none; what it may be is for others to say.

    Parameters
    ----------
    argument : str
        What it is called.
    value : Any
        What was given; NumPy's numbers are numbers too, truth values are not.

    Returns
    -------
    Any
        The number.

    Raises
    ------
    TypeError
        Naming the argument and what was given.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{argument} must be a number, got {value!r} ({type(value).__name__})")
    return value
