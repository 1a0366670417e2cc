"""A race where no script runs: the whole curves."""

from typing import Any

from course_lib.viz.colours import CURVE_COLOURS, OKABE_ITO
from course_lib.viz.stills.parts import INK, LINE, Still

__all__ = ["race_still"]

_WIDTH = 6.3  # inches
_DASHES = ("-", "--", ":")


def race_still(race: dict[str, Any], title: str = "") -> Still:
    """Draw the losses of all runs over their first axis.

    Parameters
    ----------
    race : dict
        What ``Race.race`` holds.
    title : str, default: ""
        What stands above it.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of.
    """
    names = [runner["name"] for runner in race["runners"]]
    figure = Still(f"race: {', '.join(names)}", (_WIDTH, 3.0))
    axes = figure.put(0.8, 0.55, _WIDTH - 0.95, 2.1)
    across = race["axes"][0]
    for seed in race["seeds"]:
        colour = OKABE_ITO[CURVE_COLOURS[seed["of"] % 7]]
        axes.plot(seed[across["key"]], seed["loss"], linewidth=0.7, alpha=0.4, color=colour)
    for number, runner in enumerate(race["runners"]):
        colour, dash = OKABE_ITO[CURVE_COLOURS[number % 7]], _DASHES[number % 3]
        axes.plot(runner[across["key"]], runner["loss"], dash, color=colour, label=runner["name"])
    if "target" in race:
        axes.axhline(race["target"], color=INK, linewidth=0.8)
    axes.set_yscale("log" if race["y_log"] else "linear")
    axes.set_ylim(*race["y_range"])
    axes.tick_params(length=2.5, labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_xlabel(f"{across['label']} {across['unit']}".rstrip(), fontsize=9)
    axes.set_ylabel("loss", fontsize=9)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=8, frameon=False)
    return figure
