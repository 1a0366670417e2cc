"""Copies of what a learner's function returned, in base types and of a bearable size."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TENSOR", "PlainTuple", "Unusable", "plain", "plain_number", "whole_numbers"]

TENSOR = "torch tensor"
"""What the sentences call one: a result should be NumPy's."""

_new_array = np.array  # an answer may put something else there

# By name: a module is loaded only where the value has come from it.
_TENSORS = (("torch", "Tensor"),)
_MASKED = (("numpy.ma", "MaskedArray"), ("numpy.ma.core", "MaskedArray"))

# Results are arrays of some ten thousand numbers, or some hundred items in a list of lists at most.
_MOST_BYTES = 10_000_000
_MOST_ITEMS = 100_000
_MOST_CHARACTERS = 100_000
_DEEPEST = 20
_LONGEST_INT_BITS = 1_000  # a longer one has no float to be compared with


class Unusable(NamedTuple):
    """Stands for a value that is neither number, text nor array; ``kind`` says what it is."""

    kind: str


class PlainTuple(list[Any]):
    """A list that was a tuple: compared as a list, and shown as what it was."""


class _TooMuch(Exception):
    """A value has more in it than any result has; the text says what it is."""


def plain(value: Any) -> Any:
    """Copy a value into base types that no learner's class can influence.

    Parameters
    ----------
    value : object
        Whatever a learner's function returned.

    Returns
    -------
    object
        Base ``numpy.ndarray`` for arrays and NumPy scalars (the latter of shape ``()``), ``bool``,
        ``int``, ``float``, ``str`` or None, lists (a tuple is a ``PlainTuple``) and dicts of
        these, or ``Unusable``. A ``fractions.Fraction`` becomes an ``int`` where it is whole, else
        a ``float``. A value that holds itself, or is far larger than any result, is ``Unusable`` as
        a whole.
    """
    try:
        return _Copier().copy(value)
    except _TooMuch as refusal:
        return Unusable(str(refusal))


def plain_number(value: Any) -> Any:
    """Make a Python number of one of NumPy's, as `plain` has left it; all else stays as it is."""
    return value.item() if isinstance(value, np.ndarray) and value.shape == () else value


def whole_numbers(value: Any) -> list[int] | None:
    """Take what `plain` gave, if it is a row of whole numbers: a list, a tuple or an array.

    Parameters
    ----------
    value : object
        The copy.

    Returns
    -------
    list of int or None
        None if it is anything else; an empty array is a row, of whatever type.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value.tolist() if value.dtype.kind in "iu" or not len(value) else None
    if not isinstance(value, list):
        return None
    items = [plain_number(item) for item in value]
    return items if all(type(item) is int for item in items) else None


class _Copier:
    """Copies one value, and counts what it has copied."""

    def __init__(self) -> None:
        self._n_items = 0
        self._n_bytes = 0
        self._open: list[Any] = []  # the lists and dicts around the place where we are

    def copy(self, value: Any) -> Any:
        """Copy a value by its true type: what it says of itself, or does when asked, is its own."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, str):
            return _short(str.__str__(value))
        if kind is Unusable:
            return value  # a tuple as well, but what it stands for has no items
        if issubclass(kind, np.ndarray | np.generic):
            return self._array(value)
        if issubclass(kind, int):
            return _small(int.__int__(value))
        if issubclass(kind, float):
            return float.__float__(value)
        if kind is Fraction:  # no heir: it may count as it likes
            return _number(value)
        if issubclass(kind, tuple | list | dict):
            return self._items(value)
        return Unusable(TENSOR if _is_any(kind, _TENSORS) else kind.__name__)

    def _items(self, value: Any) -> Any:
        if any(value is outer for outer in self._open):
            raise _TooMuch(f"{type(value).__name__} that contains itself")
        if len(self._open) == _DEEPEST:
            raise _TooMuch(f"{type(self._open[0]).__name__} nested more than {_DEEPEST} deep")
        base: Any = next(base for base in (tuple, list, dict) if isinstance(value, base))
        self._n_items += base.__len__(value)
        if self._n_items > _MOST_ITEMS:
            raise _TooMuch(f"{base.__name__} of more than {_MOST_ITEMS:,} items")
        self._open.append(value)
        if base is dict:
            copied: Any = {str(self.copy(key)): self.copy(item) for key, item in base.items(value)}
        else:
            copied = [self.copy(item) for item in base.__iter__(value)]
            if base is tuple or type(value) is PlainTuple:
                copied = PlainTuple(copied)
        self._open.pop()
        return copied

    def _array(self, value: Any) -> NDArray[Any] | Unusable:
        if _is_any(type(value), _MASKED):
            return Unusable("masked array")
        base = np.ndarray.view(value, np.ndarray) if isinstance(value, np.ndarray) else value
        if base.dtype.hasobject:
            return Unusable(f"array of dtype {base.dtype}")
        self._n_bytes += base.nbytes
        if self._n_bytes > _MOST_BYTES:
            raise _TooMuch(f"array of shape {base.shape}, {base.nbytes / 1e6:,.0f} MB")
        return _new_array(base, copy=True)


def _short(text: str) -> str:
    if len(text) > _MOST_CHARACTERS:
        raise _TooMuch(f"text of {len(text):,} characters")
    return text


def _small(number: int) -> int:
    if number.bit_length() > _LONGEST_INT_BITS:
        raise _TooMuch(f"whole number of {number.bit_length():,} bits")
    return number


def _number(fraction: Fraction) -> int | float | Unusable:
    above, below = fraction.numerator, fraction.denominator
    if type(above) is not int or type(below) is not int:
        return Unusable("Fraction")
    if below == 1:
        return _small(above)
    try:
        return above / below
    except OverflowError:
        raise _TooMuch("Fraction that is larger than any float") from None


def _is_any(kind: type, names: tuple[tuple[str, str], ...]) -> bool:
    return any((cls.__module__, cls.__name__) in names for cls in kind.__mro__)
