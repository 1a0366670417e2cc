"""The check of an argument that is a whole number, and the sentence that refuses another."""

import operator
from typing import Any

__all__ = ["as_int", "whole"]


def whole(
    argument: str, value: Any, least: int | None = None, most: int | None = None, or_what: str = ""
) -> int:
    """Return a whole number as an ``int``, or refuse what is none, or none that is allowed.

    Parameters
    ----------
    argument : str
        What it is called.
    value : Any
        What was given; NumPy's integers are whole numbers too, truth values are not.
    least, most : int or None, default: None
        The bounds; ``most`` needs ``least``.
    or_what : str, default: ""
        What else would have been allowed, for the sentence: ``" or None"``.

    Returns
    -------
    int
        The number.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.

    Examples
    --------
    >>> whole("workers", 0, least=1, most=64)
    Traceback (most recent call last):
        ...
    ValueError: workers must be an int from 1 to 64, got 0
    """
    bounds = ""
    if least is not None:
        bounds = f" of {least:,} or more" if most is None else f" from {least:,} to {most:,}"
    expected = f"{argument} must be an int{bounds}{or_what}"
    number = as_int(value)
    if number is None:
        raise TypeError(f"{expected}, got {value!r} ({type(value).__name__})")
    if (least is not None and number < least) or (most is not None and number > most):
        raise ValueError(f"{expected}, got {number:,}")
    return number


def as_int(value: Any) -> int | None:
    """Return a whole number as an ``int``, and None for all else.

    Parameters
    ----------
    value : Any
        Anything. Truth values are no whole numbers here, nor are arrays of one number.

    Returns
    -------
    int or None
        The number.
    """
    # By name, because NumPy, whose truth value is meant, need not be loaded.
    if type(value).__name__ in ("bool", "bool_") or getattr(value, "ndim", 0) != 0:
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
