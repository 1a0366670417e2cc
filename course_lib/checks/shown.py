"""Plain values in one short line, and two of them so that they can be told apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.plain import PlainTuple, Unusable

__all__ = ["kind", "show", "told_apart"]

_MOST_SHOWN, _SHOWN = 8, 4  # numbers of an array; of a longer one


def show(value: Any, exact: bool = False) -> str:
    """Write a plain value in one short line.

    Parameters
    ----------
    value : object
        What ``plain`` gives.
    exact : bool, default: False
        Whether to write all digits of floats.

    Returns
    -------
    str
        As Python writes it, but for an array: that is followed by its dtype.
    """
    if isinstance(value, np.ndarray):
        return _array(value, exact)
    return _nested(value, exact)


def told_apart(expected: Any, got: Any) -> tuple[str, str]:
    """Show both, with all their digits if fewer do not tell them apart, and where they differ."""
    right, given = show(expected), show(got)
    if right.removesuffix(".0") != given.removesuffix(".0"):  # 12.0, of 12.0000004, and 12
        return right, given
    right, given = show(expected, exact=True), show(got, exact=True)
    if right == given and _are_arrays(expected, got) and expected.shape == got.shape:
        other = np.flatnonzero(expected.ravel() != got.ravel())
        start = int(other[0]) if len(other) else 0
        return _array(expected, True, start), _array(got, True, start)
    return right, given


def _are_arrays(*values: Any) -> bool:
    return all(isinstance(value, np.ndarray) for value in values)


def kind(value: Any) -> str:
    """Say what a plain value is."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | str):
        return f"{show(value)} ({type(value).__name__})"
    if isinstance(value, list | dict):
        name = "dict" if isinstance(value, dict) else "list"
        return f"a {'tuple' if isinstance(value, PlainTuple) else name} of {len(value)}"
    if value.kind.isidentifier():
        return f"a value of type {value.kind}"
    return f"{'an' if value.kind.startswith('array') else 'a'} {value.kind}"


def _array(value: NDArray[Any], exact: bool, start: int = 0) -> str:
    if value.size <= _MOST_SHOWN:
        return f"{_nested(value.tolist(), exact)} ({value.dtype})"
    some = _nested(value.ravel()[start : start + _SHOWN].tolist(), exact)[1:-1]
    before = f"elements from {start:,}: " if start else ""
    return f"[{before}{some}, ...] of shape {value.shape}, {value.dtype}"


def _nested(value: Any, exact: bool) -> str:
    if isinstance(value, Unusable):
        return value.kind
    if isinstance(value, np.ndarray):
        return _nested(value.item(), exact) if value.shape == () else _array(value, exact)
    if isinstance(value, list):
        items = ", ".join(_nested(item, exact) for item in value)
        if isinstance(value, PlainTuple):
            return f"({items},)" if len(value) == 1 else f"({items})"
        return f"[{items}]"
    if isinstance(value, dict):
        shown = (f"{key!r}: {_nested(item, exact)}" for key, item in value.items())
        return "{" + ", ".join(shown) + "}"
    return _float(value, exact) if isinstance(value, float) else repr(value)


def _float(value: float, exact: bool) -> str:
    """Write a float so that nobody takes it for a whole number."""
    text = repr(value) if exact else f"{value:.6g}"
    return text if any(mark in text for mark in ".en") else f"{text}.0"
