"""One moment of a run as a still picture: workers, messages on their edges, the caption."""

import math
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.transforms import Affine2D

from course_lib.viz.animation.captions import are_named
from course_lib.viz.animation.edges import along, edge_bend
from course_lib.viz.animation.layouts import Point
from course_lib.viz.animation.scene import Scene
from course_lib.viz.animation.snapshot import Moment, Token, Worker
from course_lib.viz.colours import OKABE_ITO, PASSES, ink_on
from course_lib.viz.stills.buffers import STRIP_BOXES, cell_colour, draw_strips, strip_in
from course_lib.viz.stills.parts import INK, LINE, SOFT, cut, last_word
from course_lib.words.units import format_time

__all__ = ["draw_stage"]

_BOXES = ((0.8, 0.44), (0.74, 0.42), (0.6, 0.38), (0.4, 0.3), (0.27, 0.22), (0.17, 0.15))
_ROOMY = 0.6  # inches; narrower boxes hold only the rank's number
_HEAD = 0.2  # inches above the stage, for the time
_NAMED = 6  # of more messages than that the names are left out
_PALE = "#9aa3ad"


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
    place = axes.get_position()
    width, height = figure.get_size_inches() * (place.width, place.height)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    stage = _Stage(axes, scene, width, height)
    stage.draw_hosts()
    stage.draw_edges()
    for token in moment.tokens:
        stage.draw_token(token, named=len(moment.tokens) <= _NAMED)
    for worker in moment.workers:
        stage.draw_worker(worker)
    if stage.strip:
        draw_strips(axes, scene, stage.strip, stage.at, moment.workers)
    axes.text(0, 0, f"{number}", fontsize=9, fontweight="bold", va="top", color=INK)
    time = format_time(moment.time_s, *scene.unit)
    axes.text(0.14, 0, time, fontsize=8, va="top", color=SOFT)
    lines = 3 if scene.goals else 2
    caption = textwrap.shorten(moment.caption, int(width * 17 * lines), placeholder=" …")
    axes.text(
        0, height + 0.04, textwrap.fill(caption, int(width * 17.5)),
        fontsize=7, va="top", color=INK, linespacing=1.1,
    )  # fmt: skip


class _Stage:
    """Where everything is, in inches, and how it is drawn."""

    def __init__(self, axes: Axes, scene: Scene, width: float, height: float) -> None:
        self.axes, self.scene, self.width, self.height = axes, scene, width, height
        boxes = [box for box in STRIP_BOXES if box[0] < 0.3 * width] if scene.goals else _BOXES
        self.box = next((box for box in boxes if self._fits(box)), (0.11, 0.1))
        self.at = self._spots(self.box)
        self.strip = strip_in(self.box) if scene.goals else None

    def _spots(self, box: tuple[float, float]) -> list[Point]:
        w, h = box[0] / 2 + 0.1, box[1] / 2
        if self.scene.layout == "grid":  # its long edges run around the outer boxes
            w, h = w + 0.1, h + 0.14
        return [
            (w + x * (self.width - 2 * w), _HEAD + h + y * (self.height - _HEAD - 0.1 - 2 * h))
            for x, y in self.scene.places
        ]

    def _fits(self, box: tuple[float, float]) -> bool:
        at = self._spots(box)
        return all(
            abs(a[0] - b[0]) >= 1.25 * box[0] or abs(a[1] - b[1]) >= 1.25 * box[1]
            for index, a in enumerate(at)
            for b in at[:index]
        )

    def _edge(self, src: int, dst: int) -> Callable[[float], Point]:
        """Return where an edge is at a fraction of its way."""
        bend = edge_bend(self.scene.layout, self.at, (src, dst), self.height, self.box)
        return partial(along, self.at[src], self.at[dst], bend)

    def draw_hosts(self) -> None:
        word = "worker" if are_named(self.scene) else "host"
        for host, ranks in enumerate(self.scene.hosts):
            xs, ys = zip(*(self.at[rank] for rank in ranks), strict=True)
            w, h = self.box[0] / 2 + 0.09, self.box[1] / 2 + 0.07
            left, top = min(xs) - w, min(ys) - h
            self.axes.add_patch(
                Rectangle(
                    (left, top), max(xs) + w - left, max(ys) + h + 0.06 - top,
                    fill=False, edgecolor=SOFT, linestyle=":", linewidth=0.9, zorder=0,
                )
            )  # fmt: skip
            self.axes.text(
                left + 0.03, max(ys) + h + 0.04, f"{word} {host}", fontsize=6, color=SOFT
            )

    def draw_edges(self) -> None:
        edges = [
            self._edge(*ends) for ends in sorted({(m.src, m.dst) for m in self.scene.messages})
        ]
        paths = [[edge(k / 12) for k in range(13)] for edge in edges]
        self.axes.add_collection(LineCollection(paths, colors=LINE, linewidths=0.8, zorder=0))

    def _way(self, token: Token, length: float, thick: float) -> tuple[Point, float]:
        """Say where a token is, outside both boxes where there is room for it, and its angle."""
        edge = self._edge(token.src, token.dst)
        ways = [edge(k / 50) for k in range(51)]
        start, end = self.at[token.src], self.at[token.dst]

        def is_on(k: int, box: Point) -> bool:
            (x, y), (x_on, y_on) = ways[k], ways[k + 1] if k < 50 else end
            way = math.hypot(x_on - x, y_on - y) or 1.0
            dx, dy = abs(x_on - x) / way, abs(y_on - y) / way
            wide, high = dx * length + dy * thick, dy * length + dx * thick
            return (
                abs(x - box[0]) < (self.box[0] + wide) / 2 + 0.01
                and abs(y - box[1]) < (self.box[1] + high) / 2 + 0.01
            )

        first = next((k for k in range(26) if not is_on(k, start)), 25) / 50
        last = next((k for k in range(50, 24, -1) if not is_on(k, end)), 25) / 50
        place = first + (last - first) * token.position
        x, y = edge(place)
        ahead = edge(place + 0.01)
        angle = math.atan2(ahead[1] - y, ahead[0] - x)
        if self.strip and math.cos(angle) < 0:
            angle += math.pi  # its cells stay in order from left to right
        return (x, y), angle

    def draw_token(self, token: Token, *, named: bool) -> None:
        w, h = self.box
        strip = self.strip if self.strip and not self.strip.is_ground else None
        flight = self.scene.messages[token.number]
        tag, number, cells = self.scene.labels[flight.label]
        lost = token.state == "lost"
        thick = max(0.07, 0.7 * strip.high if strip else h * 0.36)
        (x0, y0), (x1, y1) = self.at[token.src], self.at[token.dst]
        reach = max(abs(x1 - x0) / w, abs(y1 - y0) / h, 1.0)
        free = (1 - 1 / reach) * math.hypot(x1 - x0, y1 - y0)
        longest = min(2.4 * thick, max(1.15 * thick, 0.55 * free))
        length = max(thick * 1.15, self.scene.sizes[flight.size][1] * longest)
        (x, y), angle = self._way(token, length, thick)
        colours = [OKABE_ITO[number]]
        if len(cells) > 1:
            colours = [cell_colour(self.scene, cell) for cell in cells]
        colour, part = colours[0], length / len(colours)
        for index, shade in enumerate(colours):
            self.axes.add_patch(
                Rectangle(
                    (x - length / 2 + index * part, y - thick / 2), part, thick,
                    transform=Affine2D().rotate_around(x, y, angle) + self.axes.transData,
                    facecolor="white" if lost else shade, edgecolor=INK if lost else "white",
                    linestyle="--" if lost else "-", linewidth=0.6, zorder=2,
                )
            )  # fmt: skip
            if len(colours) > 1 and part >= 0.1:
                way = (index + 0.5) * part - length / 2
                self.axes.text(
                    x + way * math.cos(angle), y + way * math.sin(angle), str(cells[index]),
                    fontsize=min(7, thick * 45), color=ink_on(shade), rotation=-math.degrees(angle),
                    ha="center", va="center", zorder=2.5,
                )  # fmt: skip
        style: dict[str, Any] = {"va": "center_baseline", "zorder": 2.5}
        if isinstance(tag, int) and thick >= 0.1:
            ink = INK if lost else ink_on(colour)
            size = min(8, thick * 50)
            self.axes.text(x, y, str(tag), fontsize=size, ha="center", color=ink, **style)
        elif named and tag is not None and w >= _ROOMY and not strip:
            away = thick / 2 + abs(math.cos(angle)) * length * 0.3 + 0.05
            side = 1 if math.sin(angle) >= 0 else -1
            self.axes.text(
                x + side * away, y, cut(token.label, 12), fontsize=6.5,
                ha="left" if side > 0 else "right", color=INK, **style,
            )  # fmt: skip

    def draw_worker(self, worker: Worker) -> None:
        (w, h), (x, y) = self.box, self.at[worker.rank]
        named = are_named(self.scene)
        role = "" if named else self.scene.roles[worker.rank]
        busy, waits = worker.state == "compute", worker.state == "wait"
        fill = self.scene.doings[worker.doing].fill if busy else 0
        ground, ink = PASSES[fill] if busy else ("white", INK)
        shape = "square,pad=0" if role else f"round,pad=0,rounding_size={h / 4}"
        self.axes.add_patch(
            FancyBboxPatch(
                (x - w / 2, y - h / 2), w, h, boxstyle=shape, facecolor=ground,
                edgecolor=_PALE if waits else INK, hatch="////" if waits else None,
                linewidth=0.8, zorder=3,
            )
        )  # fmt: skip
        if role:
            self.axes.add_patch(
                Rectangle(
                    (x - w / 2 - 0.03, y - h / 2 - 0.03), w + 0.06, h + 0.06,
                    fill=False, edgecolor=INK, linewidth=0.8, zorder=3,
                )
            )  # fmt: skip
        if worker.state == "failed":
            for way in (1, -1):
                self.axes.plot(
                    [x - w / 2, x + w / 2], [y - way * h / 2, y + way * h / 2],
                    color="#D55E00", linewidth=2, zorder=6,
                )  # fmt: skip
        name = self.scene.roles[worker.rank] if named else str(worker.rank)
        self._write(worker, name, role, ground, ink)

    def _write(self, worker: Worker, name: str, role: str, ground: str, ink: str) -> None:
        (w, h), (x, y), strip = self.box, self.at[worker.rank], self.strip
        roomy = w >= _ROOMY
        text: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "zorder": 5}
        if worker.state == "wait" and not (strip and strip.is_ground):
            text["bbox"] = {"facecolor": ground, "edgecolor": "none", "pad": 0.5}
        name = f"{name} {role}" if role and roomy else name
        size = (7.5 if role else 9) if roomy else min(8, h * (24 if strip else 38))
        most = w / 0.055
        if are_named(self.scene):
            size, most = min(size, 85 * w / max(len(name), 3)), 12
        lift = strip.name if strip else -h * 0.18 if roomy else 0
        self.axes.text(x, y + lift, cut(name, most), fontweight="bold", fontsize=size, **text)
        if roomy and worker.said >= 0:
            below = y + h / 2 + 0.1
            beside = below > self.height - 0.15  # the caption begins there
            self.axes.text(
                x + w / 2 + 0.05 if beside else x, y if beside else below,
                self.scene.sayings[worker.said].short, fontsize=7, fontweight="bold",
                ha="left" if beside else "center", va="center", color=INK, zorder=6,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
            )  # fmt: skip
        if roomy and worker.word:
            low = strip.word if strip else h * 0.24
            self.axes.text(x, y + low, last_word(worker.word, w / 0.054), fontsize=6.5, **text)
