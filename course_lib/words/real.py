"""The check of an argument that is a number, and the sentence that refuses another."""

import math
from numbers import Real
from typing import Any

__all__ = ["finite", "real"]


def finite(number: Any) -> bool:
    """Tell whether a number is finite, and not larger than any float, as a whole number may be."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


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
