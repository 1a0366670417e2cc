"""The knobs of ``explore``: what can be set, and how its values are written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

__all__ = ["Knob", "knob"]


@dataclass(frozen=True)
class Knob:
    """What can be set: its values, in order; make one with ``knob(values)``.

    Attributes
    ----------
    values : tuple
        What the function gets.
    texts : tuple of str
        What stands for them.
    label : str
        What is set.
    start : int
        Which value it begins with, an index.
    page : tuple of int
        Which values a page without a kernel keeps at most, indices.
    """

    values: tuple[Any, ...]
    texts: tuple[str, ...]
    label: str
    start: int
    page: tuple[int, ...]

    @property
    def kind(self) -> str:
        """How it is set: numbers by a slider, anything else by buttons."""
        numbers = all(isinstance(value, Real) and not isinstance(value, bool)
                      for value in self.values)  # fmt: skip
        return "slider" if numbers else "choice"


def knob(
    values: Iterable[Any] | Mapping[str, Any],
    *,
    label: str = "",
    unit: str = "",
    start: Any = None,
    texts: Sequence[str] | None = None,
    page: Iterable[Any] | None = None,
) -> Knob:
    """Describe a knob of ``explore`` more closely than by its values alone.

    Parameters
    ----------
    values : iterable, or dict by text
        What it can be set to: numbers make a slider, anything else makes buttons. A dict has what
        is shown for each value, ``{"10 Gbit/s": networks.ethernet_10g}``.
    label : str, default: ""
        What is set; empty takes the parameter's name.
    unit : str, default: ""
        What follows each value: ``"Gbit/s"``.
    start : object, default: None
        The value that it begins with; None takes the first.
    texts : sequence of str or None, default: None
        What is shown in place of the values.
    page : iterable or None, default: None
        The values that a page without a kernel offers, the start among them; None: as many of all
        as fit. So the knobs that a text speaks of can keep theirs.

    Returns
    -------
    Knob
        For a keyword of ``explore``.

    Raises
    ------
    ValueError
        If there is no value, ``start`` is none of them, ``texts`` are not as many, or ``page`` has
        other values, or not the start.
    """
    if isinstance(values, Mapping):
        values, texts = list(values.values()), texts or list(values)
    values = tuple(values)
    if not values:
        raise ValueError("values must hold at least one value, got none")
    if start is not None and start not in values:
        raise ValueError(f"start must be one of {list(values)}, got {start!r}")
    if texts is None:
        texts = [_text(value) for value in values]
    if len(texts) != len(values):
        raise ValueError(f"texts must be {len(values)}, one for each value, got {len(texts)}")
    shown = tuple(f"{text} {unit}".rstrip() for text in texts)
    first = 0 if start is None else values.index(start)
    there = list(values if page is None else page)
    if any(value not in values for value in there) or values[first] not in there:
        raise ValueError(
            f"page must be some of {list(values)}, and {values[first]!r} among them, got {there!r}"
        )
    kept = tuple(at for at, value in enumerate(values) if page is None or value in there)
    return Knob(values, shown, label, first, kept)


def _text(value: Any) -> str:
    """Write a value as people read it: a function, and whatever else has a name, by its name."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Real):
        number = float(value)
        return f"{int(number):,}" if number.is_integer() and number < 1e15 else f"{number:,.6g}"
    name = getattr(value, "__name__", getattr(value, "name", value))
    return str(name)
