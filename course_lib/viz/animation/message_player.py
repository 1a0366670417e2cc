"""The message player: a widget that shows a trace in motion.

It plays wholly in the browser (the folder ``js``); Python hands it the scene and hears of the time
where the motion stops.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from course_lib.viz.animation.build_scene import check_stage, make_scene
from course_lib.viz.animation.picture import Picture
from course_lib.viz.animation.script import read_css, read_esm
from course_lib.viz.charts.curves import Curve, check_curves, pack_curves

if TYPE_CHECKING:
    from course_lib.trace.contributions import Contributions
    from course_lib.trace.trace import Trace
    from course_lib.viz.animation.layouts import Point

__all__ = ["Player", "player"]


class Player(Picture):
    """A trace in motion; make one with ``player(trace)``.

    Parameters
    ----------
    trace : Trace
        What happened.
    still : dict
        What ``filmstrip`` is called with for the still picture.
    **traits
        The attributes.

    Attributes
    ----------
    scene : dict
        What is drawn, see ``course_lib.viz.animation.scene``.
    curves : list of dict
        Curves under the same clock.
    even_steps, large, critical_path : bool
        How the switches stand at first.
    """

    _esm = read_esm("player")
    _css = read_css("player")
    shown = ("scene", "curves", "even_steps", "large", "critical_path")
    kind = traitlets.Unicode("player").tag(sync=True)
    scene = traitlets.Dict().tag(sync=True)
    curves: Any = traitlets.List().tag(sync=True)
    even_steps = traitlets.Bool(False).tag(sync=True)
    large = traitlets.Bool(False).tag(sync=True)
    critical_path = traitlets.Bool(False).tag(sync=True)

    def __init__(self, trace: "Trace", still: dict[str, Any], **traits: Any) -> None:
        super().__init__(**traits)
        self._trace = trace
        self._still = still

    def __repr__(self) -> str:
        """Summarise in one line that is the same for every run of a deterministic algorithm."""
        trace = self._trace
        layout = self.scene["layout"]
        ranks = f"{trace.size} rank{'s' * (trace.size != 1)}"
        return f"Player({ranks}, {layout}: {trace.traffic}, {trace.clock} time)"

    def still(self) -> bytes:
        """Draw the filmstrip, as PNG."""
        from course_lib.viz.stills.stills import filmstrip

        return filmstrip(self._trace, **self._still, playhead_s=self.time_s or None).to_png()


def player(
    trace: "Trace",
    layout: str | None = None,
    curves: Mapping[str, Curve] | None = None,
    title: str | None = None,
    *,
    center: int = 0,
    hosts: Sequence[Sequence[int]] = (),
    roles: dict[int, str] | None = None,
    columns: int | None = None,
    places: Sequence["Point"] = (),
    contributions: "Contributions | None" = None,
    even_steps: bool = False,
    large: bool = False,
    critical_path: bool = False,
    moments: int = 6,
) -> Player:
    """Play a trace: messages run along the edges, a timeline and curves share the clock.

    Keys, while the player has the focus: space plays and pauses, the arrows step, Home and End
    jump, + and - change the speed.

    Parameters
    ----------
    trace : Trace
        What happened.
    layout : {"ring", "star", "line", "tree", "grid", "hosts"} or None, default: None
        Where the workers stand; None chooses by who sends to whom.
    curves : dict of str to list of (float, float) or None, default: None
        Seconds and value, by the curve's name: ``{"loss": loss_curve(trace, "loss_partial")}``.
    title : str or None, default: None
        What stands above it.
    center : int, default: 0
        The rank in the middle of a star, or at the top of a tree.
    hosts : sequence of sequence of int, default: ()
        The ranks of each host; without them they are read off from the communicators, else each
        half of the ranks is one.
    roles : dict of int to str or None, default: None
        What some ranks are besides workers, ``{0: "combiner"}``; they are drawn differently.
    columns : int or None, default: None
        How many ranks stand in a row of a grid, ``layout="grid"``. None: as many as in a torus
        along whose links all messages run, or as fill the stage where there is none.
    places : sequence of (float, float), default: ()
        Where each rank stands, by rank, in any unit, downwards; in place of ``layout``.
    contributions : Contributions or None, default: None
        Whose numbers were where; with it, every box shows its buffer. ``course_lib.watch`` makes a
        run that has them.
    even_steps : bool, default: False
        Begin with every step as long as the next, instead of by the clock. A switch changes it.
    large : bool, default: False
        Begin with larger type, for a lecture room. A switch changes it.
    critical_path : bool, default: False
        Begin with the chain of messages marked that the run had to wait for. A switch changes it.
    moments : int, default: 6
        How many moments the still picture shows at most, 1 to 6; each takes some kilobytes.

    Returns
    -------
    Player
        A widget; where none can be shown, its still picture and its text.

    Raises
    ------
    TypeError, ValueError
        If ``trace``, ``layout``, ``center``, ``hosts``, ``roles``, ``columns``, ``places``,
        ``contributions`` or ``curves`` is unusable, or there are more than 128 ranks.
    """
    check_stage(trace)
    on_stage: dict[str, Any] = {
        "layout": layout,
        "center": center,
        "hosts": hosts,
        "roles": roles,
        "columns": columns,
        "places": places,
        "contributions": contributions,
    }
    scene = make_scene(trace, **on_stage)
    return Player(
        trace,
        {**on_stage, "curves": check_curves(curves), "title": title, "moments": moments},
        scene=scene.to_json(),
        curves=pack_curves(curves, scene.tick_s),
        title=title or "",
        even_steps=even_steps,
        large=large,
        critical_path=critical_path,
    )
