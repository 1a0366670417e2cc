"""What may stand in a note on the trace: plain values, as JSON knows them."""

from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Return a note's value as numbers, texts and lists, or say what a note may hold."""
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "detach"):
        array = np.asarray(value)
        if array.dtype.kind == "f":  # one of more bits than Python's floats stays NumPy's
            return array.astype(np.float64).tolist()
        if array.dtype.kind in "biuU":
            return array.tolist()
        if array.dtype.kind == "O" and array.ndim:
            return plain(array.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):  # and not a class of the learner's, which may not travel
        if isinstance(value, kind):
            return _exactly(kind, value)
    raise TypeError(
        f"a note's value must be a number, a text, an array or lists of them, got {type(value)}"
    )


def _exactly(kind: Any, value: Any) -> Any:
    """Return the number or the text in an object of a class that is derived from its own."""
    if kind is str:
        return str.__str__(value)
    if kind is int and int.bit_length(value) > _MOST_BITS:
        raise ValueError(f"a note's whole number may have {_MOST_BITS} bits, got more")
    return kind.__pos__(value)


_MOST_BITS = 1023  # as many as a float can hold; of much more no text can be written
