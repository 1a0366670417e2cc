"""Knobs of ``explore``: what can be set to what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Knob", "knob", "n_settings", "thin"]


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
    """

    values: tuple[Any, ...]
    texts: tuple[str, ...]
    label: str
    start: int

    @property
    def kind(self) -> str:
        """How it is set: numbers by a slider, anything else by buttons."""
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)
        return "slider" if numbers else "choice"

    def thinned(self) -> "Knob":
        """Leave out every second value, but neither the first, the last, nor the start."""
        last = len(self.values) - 1
        kept = [i for i in range(last + 1) if i % 2 == 0 or i in (self.start, last)]
        if len(kept) == last + 1:
            kept = sorted({0, self.start, last})
        return Knob(
            tuple(self.values[i] for i in kept), tuple(self.texts[i] for i in kept),
            self.label, kept.index(self.start),
        )  # fmt: skip


def knob(
    values: Sequence[Any],
    *,
    label: str = "",
    unit: str = "",
    start: Any = None,
    texts: Sequence[str] | None = None,
) -> Knob:
    """Describe a knob of ``explore`` more closely than by its values alone.

    Parameters
    ----------
    values : sequence
        What it can be set to: numbers make a slider, texts and switches make buttons.
    label : str, default: ""
        What is set; empty takes the parameter's name.
    unit : str, default: ""
        What follows each value: ``"Gbit/s"``.
    start : object, default: None
        The value that it begins with; None takes the first.
    texts : sequence of str or None, default: None
        What is shown in place of the values.

    Returns
    -------
    Knob
        For a keyword of ``explore``.

    Raises
    ------
    ValueError
        If there is no value, ``start`` is none of them, or ``texts`` are not as many.
    """
    values = tuple(values)
    if not values:
        raise ValueError("values must hold at least one value, got none")
    if start is not None and start not in values:
        raise ValueError(f"start must be one of {list(values)}, got {start!r}")
    if texts is None:
        texts = [f"{v:,}" if isinstance(v, int | float) and not isinstance(v, bool) else str(v)
                 for v in values]  # fmt: skip
    if len(texts) != len(values):
        raise ValueError(f"texts must be {len(values)}, one for each value, got {len(texts)}")
    shown = tuple(f"{text} {unit}".rstrip() for text in texts)
    return Knob(values, shown, label, 0 if start is None else values.index(start))


def n_settings(knobs: Mapping[str, Knob]) -> int:
    """Count the settings of all knobs together."""
    n = 1
    for one in knobs.values():
        n *= len(one.values)
    return n


def thin(knobs: dict[str, Knob]) -> dict[str, Knob]:
    """Thin the slider with the most values; where there is none left to thin, the choices."""
    order = sorted(knobs, key=lambda name: (knobs[name].kind == "slider", len(knobs[name].values)))
    return {**knobs, order[-1]: knobs[order[-1]].thinned()}
