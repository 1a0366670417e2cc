"""A race where no script runs: the whole curves."""

from typing import Any

from course_lib.viz.colours import curve_looks
from course_lib.viz.stills.lines import draw_line, name_gaps
from course_lib.viz.stills.parts import INK, LINE, Still

__all__ = ["race_still"]

_WIDTH = 6.3  # inches


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
    apart = any("apart" in runner for runner in race["runners"])
    figure = Still(f"race: {', '.join(names)}", (_WIDTH, 4.0 if apart else 3.0))
    axes = figure.put(0.8, 0.55 if not apart else 1.55, _WIDTH - 0.95, 2.1)
    across, looks = race["axes"][0], curve_looks(race["runners"])
    lowest = figure.put(0.8, 0.55, _WIDTH - 0.95, 0.7) if apart else axes
    for runner, look in zip(race["runners"], looks, strict=True):
        if "apart" in runner:
            draw_line(lowest, runner[across["key"]], runner["apart"], **look)
    for seed in race["seeds"]:
        colour = looks[seed["of"]]["color"]
        draw_line(axes, seed[across["key"]], seed["loss"], linewidth=0.7, alpha=0.4, color=colour)
    for runner, look in zip(race["runners"], looks, strict=True):
        x, y = runner[across["key"]], runner["loss"]
        gaps = [
            (x[k], True) for k, v in enumerate(y) if v is None and (not k or y[k - 1] is not None)
        ]
        draw_line(axes, x, y, gaps, label=_named(runner, across), **look)
    if any(None in runner["loss"] for runner in race["runners"]):
        name_gaps(axes)
    if "target" in race:
        axes.axhline(race["target"], color=INK, linewidth=0.8)
    axes.set_yscale("log" if race["y_log"] else "linear")
    axes.set_ylim(*race["y_range"])
    for one in dict.fromkeys((axes, lowest)):
        one.tick_params(length=2.5, labelsize=8, colors=INK)
        one.spines[["top", "right"]].set_visible(False)
        one.grid(color=LINE, linewidth=0.5)
    if apart:
        lowest.set_ylabel("checksums\napart", fontsize=8)
        lowest.set_xlim(axes.get_xlim())
    lowest.set_xlabel(f"{across['label']} {across['unit']}".rstrip(), fontsize=9)
    axes.set_ylabel("loss", fontsize=9)
    axes.set_title(title, fontsize=10, loc="left")
    frame = {"facecolor": "white", "edgecolor": "none"} if "target" in race else {"frameon": False}
    axes.legend(fontsize=8, **frame)
    return figure


def _named(runner: dict[str, Any], across: dict[str, Any]) -> str:
    """Name a run, and say when it was at the target."""
    if "there" not in runner:
        return str(runner["name"])
    return f"{runner['name']}, {runner['there'][across['key']][1]}"
