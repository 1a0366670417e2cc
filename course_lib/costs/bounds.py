"""Numbers that are only bounds, and say so wherever they are printed."""

__all__ = ["AtLeast", "AtMost"]


class AtMost(float):
    """An upper bound: a float to calculate with, which prints as "at most 0.25".

    Examples
    --------
    >>> AtMost(0.25), AtMost(0.25) * 2
    (at most 0.25, 0.5)
    """

    def __repr__(self) -> str:
        """Say that it is a bound."""
        return f"at most {float(self)!r}"

    __str__ = __repr__


class AtLeast(float):
    """A lower bound: a float to calculate with, which prints as "at least 0.25".

    Examples
    --------
    >>> AtLeast(0.25)
    at least 0.25
    """

    def __repr__(self) -> str:
        """Say that it is a bound."""
        return f"at least {float(self)!r}"

    __str__ = __repr__
