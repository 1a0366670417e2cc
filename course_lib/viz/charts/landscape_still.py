"""A landscape where no script runs: the surface with all trails; and its contour lines."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from course_lib.viz.colours import CURVE_COLOURS, OKABE_ITO
from course_lib.viz.stills.parts import INK, SOFT, Still

__all__ = ["contour_lines", "landscape_still"]

_WIDTH = 6.3  # inches
_MOST_CORNERS = 60


def contour_lines(
    x: NDArray[np.float64], y: NDArray[np.float64], z: NDArray[np.float64], levels: Any
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Yield the contour lines of heights on a grid: the level, and points of shape (n, 2)."""
    found = Figure().add_subplot().contour(x, y, z, levels)
    for level, lines in zip(found.levels, found.allsegs, strict=True):
        for line in lines:
            if len(line) > 1:
                stride = max(1, -(-len(line) // _MOST_CORNERS))
                last = line[-1:] if (len(line) - 1) % stride else line[:0]
                yield float(level), np.concatenate([line[::stride], last])


def landscape_still(landscape: dict[str, Any], title: str = "") -> Still:
    """Draw the surface and where every replica went.

    Parameters
    ----------
    landscape : dict
        What ``Landscape.landscape`` holds.
    title : str, default: ""
        What stands above it.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of.
    """
    names = list(dict.fromkeys(walk["name"] for walk in landscape["walks"]))
    figure = Still(f"landscape: {', '.join(names)}", (_WIDTH, 3.6))
    axes = figure.put(0.7, 0.5, _WIDTH - 0.85, 2.75)
    for _, line in landscape["lines"]:
        axes.plot(*np.transpose(line), color=SOFT, linewidth=0.6, alpha=0.6)
    several = len(names) > 1
    for walk in landscape["walks"]:
        number = names.index(walk["name"]) if several else walk["rank"]
        colour = OKABE_ITO[CURVE_COLOURS[number % 7]]
        label = walk["name"] if several else f"rank {walk['rank']}"
        if walk["left"]:
            label += f" (leaves what can be drawn {walk['left']})"
        axes.plot(walk["x"], walk["y"], "-", color=colour, linewidth=1.2, label=label)
        end = "x" if walk["left"] else "o"
        axes.plot(walk["x"][-1:], walk["y"][-1:], end, color=colour, markersize=6,
                  markeredgewidth=2 if walk["left"] else None)  # fmt: skip
    axes.set_xlim(*landscape["x_range"])
    axes.set_ylim(*landscape["y_range"])
    axes.tick_params(length=2.5, labelsize=8, colors=INK)
    axes.set_xlabel(landscape["labels"][0], fontsize=9)
    axes.set_ylabel(landscape["labels"][1], fontsize=9)
    axes.set_title(title or ("" if several else names[0]), fontsize=10, loc="left")
    handles, labels = axes.get_legend_handles_labels()
    by_name = dict(zip(labels, handles, strict=True))
    axes.legend(by_name.values(), by_name, fontsize=8, frameon=True, framealpha=0.8)
    return figure
