"""The parts that still pictures are put together from; the only place that draws with matplotlib."""

import io
import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.transforms import Affine2D
from PIL import Image

from course_lib.viz.colours import BLACK_INK, OKABE_ITO, ink_on
from course_lib.viz.layouts import along
from course_lib.viz.moments import Moment, Token, Worker
from course_lib.viz.scene import Scene
from course_lib.viz.units import format_time

__all__ = ["Still", "draw_curves", "draw_stage", "draw_timeline"]

_INK, _SOFT, _LINE, _WORK = BLACK_INK, "#57606a", "#c3c8ce", "#40566b"
_DPI = 100
_COLOURS = 48
_DASHES = ("-", "--", ":")


class Still(Figure):
    """A figure on white that shows itself in a notebook and has a repr that says what it is."""

    def __init__(self, what: str, inches: tuple[float, float]) -> None:
        super().__init__(figsize=inches, dpi=_DPI, facecolor="white")
        self._what = what
        FigureCanvasAgg(self)

    def put(self, left: float, low: float, width: float, height: float) -> Axes:
        """Add axes at a place given in inches from the lower left corner."""
        w, h = self.get_size_inches()
        return self.add_axes((left / w, low / h, width / w, height / h))

    def to_png(self) -> bytes:
        """Write the picture as PNG, with a palette: a third of the bytes, and no eye sees it."""
        canvas = FigureCanvasAgg(self)
        canvas.draw()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        buffer = io.BytesIO()
        picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
        return buffer.getvalue()

    def __repr__(self) -> str:
        """Say what it shows."""
        return f"<{self._what}>"

    def _repr_png_(self) -> bytes:
        return self.to_png()


def draw_timeline(axes: Axes, scene: Scene, marks: Sequence[float] = ()) -> None:
    """Draw the lanes, and numbered marks at the moments of a filmstrip.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    scene : Scene
        What to draw.
    marks : sequence of float, default: ()
        Times in seconds.
    """
    unit_s, unit = scene.unit
    scale, n = scene.tick_s / unit_s, scene.size
    end = max(scene.end * scale, 1e-9)
    axes.set_xlim(-0.005 * end, 1.005 * end)
    axes.set_ylim(n - 0.5, -0.5)
    _lanes(axes, scene, scale)
    _messages(axes, scene, scale)
    every = 1 if n <= 20 else 8
    size = 8.5 if n <= 8 else 7
    axes.set_yticks(range(0, n, every), [_lane_name(rank, n) for rank in range(0, n, every)])
    axes.tick_params(length=2.5, labelsize=size, colors=_INK)
    axes.set_xlabel(f"{scene.clock} {unit}", fontsize=8.5, color=_INK, labelpad=2)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if n <= 20:
        for rank, (computed, _) in enumerate(scene.shares):
            axes.text(
                1.01, 1 - (rank + 0.5) / n, f"{computed:.0%} busy", transform=axes.transAxes,
                fontsize=size, va="center", color=_INK,
            )  # fmt: skip
    for number, time_s in enumerate(marks, start=1):
        axes.axvline(time_s / unit_s, color=_INK, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.text(time_s / unit_s, 1.0, str(number), transform=axes.get_xaxis_transform(),
                  fontsize=8, fontweight="bold", ha="center", va="bottom", color=_INK)  # fmt: skip


def _lane_name(rank: int, size: int) -> str:
    return f"rank {rank}" if size <= 20 else str(rank)


def _lanes(axes: Axes, scene: Scene, scale: float) -> None:
    axes.hlines(range(scene.size), 0, scene.end * scale, color=_LINE, linewidth=0.7, zorder=0)
    corners: dict[str, list[Any]] = {"compute": [], "wait": []}
    inches = axes.get_position().width * axes.get_figure().get_size_inches()[0]  # type: ignore[union-attr]
    names = 0
    for span in scene.spans:
        doing = scene.doings[span.doing]
        start, end = span.start * scale, span.end * scale
        low, high = span.rank - 0.31, span.rank + 0.31
        corners[doing.kind].append([(start, low), (end, low), (end, high), (start, high)])
        room = (end - start) / max(scene.end * scale, 1e-9) * inches / 0.075
        if doing.kind == "compute" and scene.size <= 20 and room >= 3 and names < 200:
            names += 1
            size = 7.5 if scene.size <= 8 else 6
            axes.text((start + end) / 2, span.rank, _cut(doing.word, room), color="white",
                      fontsize=size, ha="center", va="center_baseline", zorder=3)  # fmt: skip
    axes.add_collection(PolyCollection(corners["compute"], facecolor=_WORK, linewidth=0, zorder=1))
    axes.add_collection(
        PolyCollection(corners["wait"], facecolor="none", edgecolor="#9aa3ad", hatch="//////",
                       linewidth=0.3, zorder=1)
    )  # fmt: skip


def _messages(axes: Axes, scene: Scene, scale: float) -> None:
    lines: list[list[tuple[float, float]]] = []
    colours: list[str] = []
    for m in scene.messages:
        start, way = m.posted * scale, 1 if m.dst > m.src else -1
        colour = OKABE_ITO[scene.labels[m.label][1]]
        lines.append([(start, m.src - 0.36), (start, m.src + 0.36)])
        colours.append(colour)
        if m.arrived >= 0:
            end = m.arrived * scale
            lines.append([(start, m.src + 0.36 * way), (end, m.dst - 0.36 * way),
                          (end, m.dst + 0.36 * way)])  # fmt: skip
            colours.append(colour)
    width = 1.5 if len(lines) <= 400 else 0.7
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=width, zorder=2))


def draw_curves(axes: Axes, curves: dict[str, list[tuple[float, float]]]) -> None:
    """Draw curves with their names.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    curves : dict of str to list of (float, float)
        The points of each, by name.
    """
    for index, (name, points) in enumerate(curves.items()):
        axes.plot(
            [x for x, _ in points], [y for _, y in points], label=name, linewidth=1.8,
            color=OKABE_ITO[(index + 4) % 7], linestyle=_DASHES[index % 3],
        )  # fmt: skip
    axes.tick_params(length=2.5, labelsize=8, colors=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=_LINE, linewidth=0.5)
    if curves:
        axes.legend(fontsize=8, frameon=False, loc="upper right")


def draw_stage(axes: Axes, scene: Scene, moment: Moment, number: int) -> None:
    """Draw one moment: workers, messages on their edges, and the caption below.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw; its units become inches.
    scene : Scene
        What to draw.
    moment : Moment
        What is where.
    number : int
        The moment's number, shown with its time.
    """
    figure: Any = axes.get_figure()
    width, height = figure.get_size_inches() * [
        axes.get_position().width,
        axes.get_position().height,
    ]
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    box = _box_size(scene, width, height - 0.2)
    at = _spots(scene, width, height, box)
    edges = {(m.src, m.dst) for m in scene.messages}
    paths = [[along(at[a], at[b], scene.bend, k / 12) for k in range(13)] for a, b in sorted(edges)]
    axes.add_collection(LineCollection(paths, colors=_LINE, linewidths=0.8, zorder=0))
    for token in moment.tokens:
        _draw_token(axes, scene, token, at, box)
    for worker in moment.workers:
        _draw_worker(axes, scene, worker, at[worker.rank], box)
    time = format_time(moment.time_s, *scene.unit)
    axes.text(0, 0, f"{number}", fontsize=9, fontweight="bold", va="top", color=_INK)
    axes.text(0.14, 0, time, fontsize=8, va="top", color=_SOFT)
    caption = textwrap.shorten(moment.caption, int(width * 34), placeholder=" …")
    axes.text(0, height + 0.04, textwrap.fill(caption, int(width * 17.5)), fontsize=7, va="top",
              color=_INK, linespacing=1.1)  # fmt: skip


def _spots(
    scene: Scene, width: float, height: float, box: tuple[float, float]
) -> list[tuple[float, float]]:
    """Turn fractions of the stage into inches; the upper left is left to the time."""
    w, h = box[0] / 2 + 0.1, box[1] / 2
    return [
        (w + x * (width - 2 * w), 0.2 + h + y * (height - 0.3 - 2 * h)) for x, y in scene.places
    ]


def _box_size(scene: Scene, width: float, height: float) -> tuple[float, float]:
    """Choose the largest box at which no two touch."""
    for w, h in ((0.8, 0.44), (0.6, 0.38), (0.4, 0.3), (0.27, 0.22), (0.17, 0.15)):
        at = _spots(scene, width, height, (w, h))
        if all(
            abs(a[0] - b[0]) >= 1.25 * w or abs(a[1] - b[1]) >= 1.25 * h
            for index, a in enumerate(at)
            for b in at[:index]
        ):
            return w, h
    return 0.11, 0.1


def _draw_worker(
    axes: Axes, scene: Scene, worker: Worker, at: tuple[float, float], box: tuple[float, float]
) -> None:
    w, h = box
    role = scene.roles[worker.rank]
    busy, waits = worker.state == "compute", worker.state == "wait"
    style = "square,pad=0" if role else f"round,pad=0,rounding_size={h / 4}"
    corner = (at[0] - w / 2, at[1] - h / 2)
    axes.add_patch(
        FancyBboxPatch(corner, w, h, boxstyle=style, facecolor=_WORK if busy else "white",
                       edgecolor="#9aa3ad" if waits else _INK, hatch="////" if waits else None,
                       linewidth=0.8, zorder=3)
    )  # fmt: skip
    if role:
        axes.add_patch(Rectangle((corner[0] + 0.03, corner[1] + 0.03), w - 0.06, h - 0.06, fill=False,
                                 edgecolor="white" if busy else _INK, linewidth=0.7, zorder=4))  # fmt: skip
    if worker.state == "failed":
        axes.plot([corner[0], corner[0] + w], [corner[1], corner[1] + h], color="#D55E00", zorder=6)
    ink, roomy = "white" if busy else _INK, w >= 0.6
    ground = {"facecolor": _WORK if busy else "white", "edgecolor": "none", "pad": 0.6}
    text: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "zorder": 5}
    text["bbox"] = ground if waits else None
    name = f"{worker.rank} {role}" if role and roomy else str(worker.rank)
    axes.text(at[0], at[1] - (h * 0.18 if roomy else 0), name, fontweight="bold",
              fontsize=9 if roomy else min(8, h * 38), **text)  # fmt: skip
    if roomy and worker.word:
        axes.text(at[0], at[1] + h * 0.24, _cut(worker.word, w / 0.066), fontsize=6.5, **text)


def _draw_token(
    axes: Axes,
    scene: Scene,
    token: Token,
    at: list[tuple[float, float]],
    box: tuple[float, float],
) -> None:
    start, end = at[token.src], at[token.dst]
    reach = max(abs(end[0] - start[0]) / box[0], abs(end[1] - start[1]) / box[1], 1.0)
    rim = min(0.45, 0.62 / reach)  # the part of the edge that lies under either box
    place = rim + (1 - 2 * rim) * token.position
    x, y = along(start, end, scene.bend, place)
    ahead = along(start, end, scene.bend, place + 0.01)
    flight = scene.messages[token.index]
    tag, colour = scene.labels[flight.label]
    thick = max(0.07, box[1] * 0.36)
    length = max(thick * 1.15, scene.sizes[flight.size][1] * thick * 2.4)
    turn = Affine2D().rotate_around(x, y, math.atan2(ahead[1] - y, ahead[0] - x)) + axes.transData
    axes.add_patch(
        Rectangle((x - length / 2, y - thick / 2), length, thick, transform=turn, zorder=2,
                  facecolor="white" if token.state == "lost" else OKABE_ITO[colour],
                  edgecolor=_INK if token.state == "lost" else "white", linewidth=0.5)
    )  # fmt: skip
    if isinstance(tag, int) and thick >= 0.1:
        axes.text(x, y, str(tag), fontsize=min(8, thick * 50), ha="center", va="center_baseline",
                  color=ink_on(OKABE_ITO[colour]), zorder=2.5)  # fmt: skip


def _cut(text: str, room: float) -> str:
    most = int(room)
    return text if len(text) <= most else text[: most - 1] + "…" if most >= 3 else ""
