"""The colours of the course: Okabe and Ito's, told apart by colour-blind readers too."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "BLACK_INK", "CURVE_COLOURS", "OKABE_ITO", "PASSES", "SOFT_GREY", "curve_looks", "ink_on",
]  # fmt: skip

OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
"""Seven colours; chunk c has number c mod 7, and its number is always written beside it."""

CURVE_COLOURS = (5, 4, 2, 6, 0, 1, 3)
"""The order in which curves take them: first those that are seen best on white and on black."""

BLACK_INK = "#1a1a1a"

SOFT_GREY = "#737373"
"""What others are compared with; it can be seen on white and on black."""

PASSES = (
    ("#40566b", "#ffffff"),
    ("#8795a2", BLACK_INK),
    ("#b7bfc7", BLACK_INK),
    ("#e7e9ec", BLACK_INK),
    ("#E69F00", BLACK_INK),
)
"""The fills of spans, each with the ink on it: forward, backward, and of a backward pass in two
halves the inputs' gradient and the weights' gradient; last an all-reduce, in a Gantt chart. Passes
differ in lightness, not in hue: hues are for what travels."""


_DASHES = ("-", "--", ":")


def curve_looks(curves: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give each curve a colour and a dash, for matplotlib; the ``reference`` is grey."""
    told = [curve["name"] for curve in curves if not curve.get("reference")]
    return [
        {"color": SOFT_GREY, "linestyle": "-"}
        if curve.get("reference")
        else {
            "color": OKABE_ITO[CURVE_COLOURS[told.index(curve["name"]) % 7]],
            "linestyle": _DASHES[told.index(curve["name"]) % 3],
        }
        for curve in curves
    ]


def ink_on(colour: str) -> str:
    """Choose black or white for writing on a colour, whichever has the greater contrast."""
    return "#ffffff" if colour == "#0072B2" else BLACK_INK
