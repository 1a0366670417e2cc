"""The colours of the course: Okabe and Ito's, told apart by colour-blind readers too."""

__all__ = ["BLACK_INK", "CURVE_COLOURS", "OKABE_ITO", "colour_of", "ink_on"]

OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
"""Seven colours; chunk c has number c mod 7, and its number is always written beside it."""

CURVE_COLOURS = (5, 4, 2, 6, 0, 1, 3)
"""The order in which curves take them: first those that are seen best on white and on black."""

BLACK_INK = "#1a1a1a"


def colour_of(tag: int | str | None, names: list[str]) -> str:
    """Give a message's label its colour.

    Parameters
    ----------
    tag : int or str or None
        The label; a chunk's index takes the colour of that number.
    names : list of str
        The texts among the labels of a trace, in order of appearance.
    """
    if isinstance(tag, int):
        return OKABE_ITO[tag % len(OKABE_ITO)]
    if tag is None:
        return OKABE_ITO[1]
    return OKABE_ITO[names.index(tag) % len(OKABE_ITO)]


def ink_on(colour: str) -> str:
    """Choose black or white for writing on a colour, whichever has the greater contrast."""
    return "#ffffff" if colour == "#0072B2" else BLACK_INK
