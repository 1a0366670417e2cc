"""A heading above a still picture: what it shows, and with which settings."""

import io
import textwrap

from PIL import Image

from course_lib.viz.stills.parts import INK, SOFT, Still, png_of

__all__ = ["with_heading"]

_INCHES_A_LETTER = 0.078


def with_heading(png: bytes, title: str, settings: str) -> bytes:
    """Put a title and a line of settings above a still picture.

    Parameters
    ----------
    png : bytes
        The picture.
    title : str
        In bold type; may be empty.
    settings : str
        Below it; broken where the picture ends.

    Returns
    -------
    bytes
        Both, as PNG.
    """
    below = Image.open(io.BytesIO(png)).convert("RGB")
    wide = below.width / 100
    lines = textwrap.wrap(settings, int((wide - 0.2) / _INCHES_A_LETTER))
    rows = [(title, INK, "bold")] if title else []
    rows += [(line, SOFT, "normal") for line in lines]
    high = 0.1 + 0.2 * len(rows)
    heading = Still(f"heading: {title}", (wide, high))
    for row, (text, colour, weight) in enumerate(rows):
        heading.text(
            0.1 / wide, 1 - (0.15 + 0.2 * row) / high, text,
            fontsize=9, color=colour, fontweight=weight, va="center",
        )  # fmt: skip
    above = heading.to_image()
    both = Image.new("RGB", (below.width, above.height + below.height), "white")
    both.paste(above, (0, 0))
    both.paste(below, (0, above.height))
    return png_of(both)
