"""The colours of the course: Okabe and Ito's, told apart by colour-blind readers too."""

__all__ = ["BLACK_INK", "CURVE_COLOURS", "OKABE_ITO", "ink_on"]

OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
"""Seven colours; chunk c has number c mod 7, and its number is always written beside it."""

CURVE_COLOURS = (5, 4, 2, 6, 0, 1, 3)
"""The order in which curves take them: first those that are seen best on white and on black."""

BLACK_INK = "#1a1a1a"


def ink_on(colour: str) -> str:
    """Choose black or white for writing on a colour, whichever has the greater contrast."""
    return "#ffffff" if colour == "#0072B2" else BLACK_INK
