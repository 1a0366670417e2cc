"""Numbers that are only bounds, and say so wherever they are printed."""

from typing import ClassVar

__all__ = ["AtLeast", "AtMost"]


class _Bound(float):
    """A float to calculate with, which prints with what kind of bound it is."""

    words: ClassVar[str]

    def __repr__(self) -> str:
        """Say that it is a bound."""
        return f"{self.words} {float(self)!r}"

    __str__ = __repr__


class AtMost(_Bound):
    """An upper bound: a float to calculate with, which prints as "at most 0.25".

    Examples
    --------
    >>> AtMost(0.25), AtMost(0.25) * 2
    (at most 0.25, 0.5)
    """

    words = "at most"


class AtLeast(_Bound):
    """A lower bound: a float to calculate with, which prints as "at least 0.25".

    Examples
    --------
    >>> AtLeast(0.25)
    at least 0.25
    """

    words = "at least"
