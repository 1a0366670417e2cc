"""Still pictures of a trace: its timeline, a filmstrip of telling moments, curves.

All are drawn from the same scene as the player. They stand on opaque white, so that they can be
read on a dark page and in print.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from course_lib.viz.animation.build_scene import check_stage, make_scene
from course_lib.viz.animation.layouts import Point
from course_lib.viz.animation.scene import Scene
from course_lib.viz.animation.snapshot import telling_moments, what_is_where
from course_lib.viz.charts.curves import Curve, check_curves
from course_lib.viz.stills.lines import draw_curves
from course_lib.viz.stills.parts import Still, draw_critical_path, draw_timeline
from course_lib.viz.stills.stage import draw_stage
from course_lib.words.units import time_unit

if TYPE_CHECKING:
    from course_lib.trace.contributions import Contributions
    from course_lib.trace.trace import Trace

__all__ = ["curve", "filmstrip", "timeline_still"]

_WIDTH = 9.0  # inches; at 100 dots an inch as wide as a notebook's column
_MOST_EVENTS = 6000
_COLUMNS = 3


def timeline_still(
    traces: "Trace | Mapping[str, Trace]",
    *,
    title: str | None = None,
    critical_path: bool = False,
    roles: dict[int, str] | None = None,
) -> Still:
    """Draw what every rank did when: a lane a rank, a line a message; several runs on one axis.

    Parameters
    ----------
    traces : Trace or dict of str to Trace
        What happened; several by name stand above each other.
    title : str or None, default: None
        What stands above it; None says of one run how many messages and bytes there were.
    critical_path : bool, default: False
        Whether to mark the chain of messages that the run had to wait for.
    roles : dict of int to str or None, default: None
        What lanes are called instead of "rank 0", by rank.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.

    Notes
    -----
    Of a trace of more than 6,000 events a part is drawn, and the title says so; the shares at the
    right are those of the whole.
    """
    named = dict(traces) if isinstance(traces, Mapping) else {"": traces}
    scenes = [
        make_scene(trace, "line", roles=roles, critical=critical_path, max_events=_MOST_EVENTS)
        for trace in named.values()
    ]
    whole_s = max(scene.end_s for scene in scenes)
    (unit_s, unit), mixed = time_unit(whole_s), len({scene.clock for scene in scenes}) > 1
    above = title if len(scenes) > 1 else None
    head = 0.25 if above else 0.0
    height = sum(_lanes_height(scene) + 0.35 for scene in scenes) + 0.5 + head
    figure = Still(f"timeline of {'; '.join(map(repr, named.values()))}", (_WIDTH, height))
    if above:
        figure.text(0.012, 1 - 0.15 / height, above, fontsize=10, fontweight="bold", va="center")
    low = height - head
    for name, scene in zip(named, scenes, strict=True):
        low -= _lanes_height(scene) + 0.35
        axes = figure.put(0.75, low, _WIDTH - 1.65, _lanes_height(scene))
        draw_timeline(axes, scene, whole_s=whole_s)
        if critical_path:
            draw_critical_path(axes, scene, unit_s)
        note = f"{scene.total}; {scene.thinned}" if scene.thinned else scene.total
        if not scene.messages:  # somebody's computing alone
            note = ""
        clock = f", {scene.clock} time" if mixed else ""
        named_note = f"{name}{clock}: {note}" if note else f"{name}{clock}"
        said = named_note if name else title or note
        axes.set_title(said, fontsize=9, loc="left")
        if mixed:
            axes.set_xlabel(unit)
        if scene is not scenes[-1]:
            axes.set_xlabel("")
            axes.tick_params(labelbottom=False)
    return figure


def filmstrip(
    trace: "Trace",
    layout: str | None = None,
    moments: int = 6,
    *,
    center: int = 0,
    hosts: Sequence[Sequence[int]] = (),
    roles: dict[int, str] | None = None,
    columns: int | None = None,
    places: Sequence[Point] = (),
    contributions: "Contributions | None" = None,
    curves: Mapping[str, Curve] | None = None,
    title: str | None = None,
    playhead_s: float | None = None,
) -> Still:
    """Draw a few telling moments of a run above its timeline.

    Parameters
    ----------
    trace : Trace
        What happened.
    layout : {"ring", "star", "line", "tree", "grid", "hosts"} or None, default: None
        Where the workers stand; None chooses by who sends to whom.
    moments : int, default: 6
        How many moments at most, 1 to 6.
    center : int, default: 0
        The rank in the middle of a star, or at the top of a tree.
    hosts : sequence of sequence of int, default: ()
        The ranks of each host; without them they are read off from the communicators, else each
        half of the ranks is one.
    roles : dict of int to str or None, default: None
        What some ranks are besides workers, ``{0: "combiner"}``.
    columns : int or None, default: None
        How many ranks stand in a row of a grid, ``layout="grid"``. None: as many as in a torus
        along whose links all messages run, or as fill the stage where there is none.
    places : sequence of (float, float), default: ()
        Where each rank stands, by rank, in any unit, downwards; in place of ``layout``.
    contributions : Contributions or None, default: None
        Whose numbers were where; with it, every box shows its buffer.
    curves : dict of str to list of (float, float) or None, default: None
        Seconds and value, by the curve's name, to be drawn below the timeline.
    title : str or None, default: None
        What stands above it.
    playhead_s : float or None, default: None
        A moment to be shown in place of the chosen one that is nearest; None: none.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.

    Raises
    ------
    ValueError
        If ``moments`` is not 1 to 6, there are more than 128 ranks, or ``layout``, ``center``,
        ``hosts``, ``roles``, ``columns``, ``places`` or ``contributions`` is unusable.
    """
    if moments not in range(1, 7):
        raise ValueError(f"moments must be an int from 1 to 6, got {moments!r}")
    check_stage(trace)
    scene = make_scene(
        trace, layout, center=center, hosts=hosts, roles=roles, columns=columns, places=places,
        contributions=contributions, critical=False, max_events=_MOST_EVENTS,
    )  # fmt: skip
    many_cells = scene.size > 8 and len(scene.goals) > 1  # they need wide panels
    times = telling_moments(scene, min(moments, 4) if many_cells else moments)
    if playhead_s is not None:
        nearest = min(times, key=lambda time_s: abs(time_s - playhead_s))
        times = sorted([playhead_s, *(time_s for time_s in times if time_s != nearest)])
    across = len(times) if len(times) <= _COLUMNS else _COLUMNS if len(times) != 4 else 2
    rows = -(-len(times) // across)
    panel = min(4.4, (_WIDTH - 0.1) / across)
    tall = _stage_height(scene, across)
    says = 0.62 if scene.goals else 0.5  # room for the caption
    lanes, graph = _lanes_height(scene), 1.0 if curves else 0.0
    foot = 0.5 + lanes + (graph + 0.3 if graph else 0)
    head = 0.3 if title else 0.08
    height = foot + 0.2 + rows * (tall + says) + head
    figure = Still(f"filmstrip of {trace!r}, {scene.layout}", (_WIDTH, height))
    if title:
        figure.text(0.012, 1 - 0.2 / height, title, fontsize=11, fontweight="bold", va="center")
    for index, time_s in enumerate(times):
        row, column = divmod(index, across)
        left = (_WIDTH - across * panel) / 2 + column * panel + 0.05
        low = height - head - (row + 1) * (tall + says) + says - 0.08
        axes = figure.put(left, low, panel - 0.1, tall)
        draw_stage(axes, scene, what_is_where(scene, time_s), index + 1)
    axes = figure.put(0.75, foot - lanes, _WIDTH - 1.65, lanes)
    draw_timeline(axes, scene, times)
    if curves:
        below = figure.put(0.75, 0.45, _WIDTH - 1.65, graph)
        _curves_below(axes, below, scene, curves)
    return figure


def curve(
    curves: Mapping[str, Curve],
    *,
    title: str | None = None,
    x_label: str = "step",
    y_label: str = "loss",
) -> Still:
    """Draw curves in one frame, told apart by colour and by dashes.

    Parameters
    ----------
    curves : dict of str to sequence of (float, float)
        The points of each curve, by its name.
    title : str or None, default: None
        What stands above it.
    x_label, y_label : str
        What the axes show, with the unit.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.
    """
    checked = check_curves(curves)
    figure = Still(f"curves: {', '.join(checked) or 'none'}", (_WIDTH * 0.7, 2.9))
    axes = figure.put(0.8, 0.5, _WIDTH * 0.7 - 0.95, 2.1)
    draw_curves(axes, checked)
    if (legend := axes.get_legend()) is not None:
        legend.set_loc("best")  # where it covers the least of the curves
    axes.set_xlabel(x_label, fontsize=9)
    axes.set_ylabel(y_label, fontsize=9)
    axes.set_title(title or "", fontsize=10, loc="left")
    return figure


def _curves_below(above: Axes, below: Axes, scene: Scene, curves: Mapping[str, Curve]) -> None:
    unit_s = scene.unit[0]
    in_unit = {
        name: [(time_s / unit_s, value) for time_s, value in points]
        for name, points in check_curves(curves).items()
    }
    draw_curves(below, in_unit)
    below.set_xlim(above.get_xlim())
    below.set_xlabel(above.get_xlabel(), fontsize=8.5)
    above.set_xlabel("")


def _lanes_height(scene: Scene) -> float:
    lane = 0.27 if scene.size <= 8 else 0.17 if scene.size <= 20 else 0.055
    return min(6.0, max(0.5, scene.size * lane))


def _stage_height(scene: Scene, across: int) -> float:
    if scene.layout == "line" and scene.size <= 12:
        return 1.6 if scene.goals else 1.25
    tall = 2.05 if across == 3 else 2.3
    more = 1.0 if scene.size > 8 and across < 3 else 0.5
    return tall + more if scene.goals else tall
