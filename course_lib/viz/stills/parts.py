"""The parts of still pictures that have axes: the figure and the timeline."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter
from PIL import Image

from course_lib.viz.animation.marks import telling_first
from course_lib.viz.animation.scene import Scene
from course_lib.viz.colours import BLACK_INK, OKABE_ITO, PASSES
from course_lib.words.units import time_unit

__all__ = ["INK", "LINE", "SOFT", "WORK", "Still", "cut", "draw_critical_path", "draw_timeline",
           "last_word", "png_of"]  # fmt: skip

INK, SOFT, LINE, WORK = BLACK_INK, "#57606a", "#c3c8ce", "#40566b"
_DPI = 100
_HALF_BAR = 0.31  # of a lane
_PASS_NAMES = ("forward", "backward", "input gradient", "weight gradient", "all-reduce")


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

    def draw(self, renderer: Any) -> None:
        """Draw it; dollars in a name are dollars, and only powers at a log axis are mathematics."""
        axes = [axis for one in self.axes for axis in (one.xaxis, one.yaxis)]
        powers = [axis for axis in axes if isinstance(axis.get_major_formatter(), LogFormatter)]
        formulas = {label for axis in powers for label in axis.get_ticklabels(which="both")}
        for text in self.findobj(Text):
            assert isinstance(text, Text)
            text.set_parse_math(text in formulas)
        super().draw(renderer)

    def to_png(self) -> bytes:
        """Write the picture as PNG, with a palette: a third of the bytes, and no eye sees it."""
        return png_of(self.to_image())

    def to_image(self) -> Image.Image:
        """Draw the picture, pixel by pixel."""
        canvas: Any = FigureCanvasAgg(self)
        canvas.draw()
        return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")

    def __repr__(self) -> str:
        """Say what it shows."""
        return f"<{self._what}>"

    def _repr_png_(self) -> bytes:
        return self.to_png()


def png_of(picture: Image.Image) -> bytes:
    """Write an image as PNG in the colours of the stills.

    Parameters
    ----------
    picture : PIL.Image.Image
        The image, RGB.

    Returns
    -------
    bytes
        The file.
    """
    buffer = io.BytesIO()
    ours = picture.quantize(palette=_palette(), dither=Image.Dither.NONE)
    ours.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def _palette() -> Image.Image:
    """List the colours that occur: each of ours in eight steps to white, some in three to black."""
    wanted = []
    for colour in (*OKABE_ITO, INK, WORK):
        tone = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)])
        ink = np.array([26, 26, 26])
        wanted += [tone + (255 - tone) * k // 8 for k in range(9)]
        wanted += [tone + (ink - tone) * k // 4 for k in range(1, 4)]
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.array(wanted, dtype=np.uint8).tobytes())
    return palette


def draw_timeline(
    axes: Axes, scene: Scene, marks: Sequence[float] = (), whole_s: float | None = None
) -> None:
    """Draw the lanes, and numbered marks at the moments of a filmstrip.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    scene : Scene
        What to draw.
    marks : sequence of float, default: ()
        Times in seconds.
    whole_s : float or None, default: None
        Where the axis ends, in seconds; None ends it with the run.
    """
    whole_s = scene.end_s if whole_s is None else whole_s
    unit_s, unit = time_unit(whole_s)
    scale, n = scene.tick_s / unit_s, scene.size
    end = max(whole_s / unit_s, 1e-9)
    axes.set_xlim(-0.005 * end, 1.005 * end)
    axes.set_ylim(n - 0.5, -0.5)
    _lanes(axes, scene, scale, end, named=not marks)  # which have their numbers there
    _messages(axes, scene, scale)
    _marks(axes, scene, scale, end)
    failed = [(tick * scale, rank) for rank, tick, kind in scene.faults if kind != "Restart"]
    for x, rank in failed:
        axes.plot(x, rank, "x", color="#D55E00", markeredgewidth=2, zorder=5, clip_on=False)
    every = 1 if n <= 20 else 8
    size = 8.5 if n <= 8 else 7
    axes.set_yticks(range(0, n, every), [_lane_name(scene, rank) for rank in range(0, n, every)])
    axes.tick_params(length=2.5, labelsize=size, colors=INK)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"{scene.clock} {unit}", fontsize=8.5, color=INK, labelpad=2)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if n <= 20 and any(computed for computed, _ in scene.shares):
        for rank, (computed, _) in enumerate(scene.shares):
            axes.text(
                1.01, 1 - (rank + 0.5) / n, f"{computed:.0%} busy", transform=axes.transAxes,
                fontsize=size, va="center", color=INK,
            )  # fmt: skip
    for number, time_s in enumerate(marks, start=1):
        axes.axvline(time_s / unit_s, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.text(time_s / unit_s, 1.0, str(number), transform=axes.get_xaxis_transform(),
                  fontsize=8, fontweight="bold", ha="center", va="bottom", color=INK)  # fmt: skip


def _lane_name(scene: Scene, rank: int) -> str:
    return scene.roles[rank] or (f"rank {rank}" if scene.size <= 20 else str(rank))


def _lanes(axes: Axes, scene: Scene, scale: float, whole: float, *, named: bool) -> None:
    axes.hlines(range(scene.size), 0, scene.end * scale, color=LINE, linewidth=0.7, zorder=0)
    waits: list[Any] = []
    computes: list[list[Any]] = [[] for _ in PASSES]
    inches = axes.get_position().width * axes.get_figure().get_size_inches()[0]  # type: ignore[union-attr]
    names = 0
    for span in scene.spans:
        doing = scene.doings[span.doing]
        start, end = span.start * scale, span.end * scale
        low, high = span.rank - _HALF_BAR, span.rank + _HALF_BAR
        corners = waits if doing.kind == "wait" else computes[doing.fill]
        corners.append([(start, low), (end, low), (end, high), (start, high)])
        room = (end - start) / whole * inches / 0.075
        if doing.kind == "compute" and scene.size <= 20 and room >= 3 and names < 200:
            names += 1
            size = 7.5 if scene.size <= 8 else 6
            axes.text((start + end) / 2, span.rank, last_word(doing.word, room),
                      color=PASSES[doing.fill][1], fontsize=size, ha="center",
                      va="center_baseline", zorder=3)  # fmt: skip
    passes = any(computes[1:])
    edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6} if passes else {"linewidth": 0}
    for (colour, _), of_pass in zip(PASSES, computes, strict=True):
        axes.add_collection(PolyCollection(of_pass, facecolor=colour, zorder=1, **edge))
    if passes and named:
        _name_passes(axes, [len(of_pass) > 0 for of_pass in computes])
    # Too many small hatched boxes look like noise; there waiting is a pale grey.
    style: dict[str, Any] = (
        {"facecolor": "none", "edgecolor": "#9aa3ad", "hatch": "//////", "linewidth": 0.3}
        if scene.size <= 20 and len(scene.spans) <= 240
        else {"facecolor": "#e3e6e9", "linewidth": 0}
    )
    axes.add_collection(PolyCollection(waits, zorder=0.5, **style))


def _name_passes(axes: Axes, shown: Sequence[bool]) -> None:
    """Say above the lanes, at the right, which fill is which pass."""
    names = zip(PASSES, _PASS_NAMES, strict=True)
    patches = [
        Patch(facecolor=colour, edgecolor=INK, linewidth=0.4, label=name)
        for ((colour, _), name), is_there in zip(names, shown, strict=True)
        if is_there
    ]
    axes.legend(
        handles=patches, ncols=len(patches), loc="lower right", bbox_to_anchor=(1.0, 1.0),
        fontsize=7.5, frameon=False, handlelength=1.2, borderaxespad=0.2, columnspacing=1.0,
    )  # fmt: skip


def _messages(axes: Axes, scene: Scene, scale: float) -> None:
    lines: list[list[tuple[float, float]]] = []
    colours: list[str] = []
    for m in scene.messages:
        start, way = m.posted * scale, 1 if m.dst > m.src else -1
        colour = OKABE_ITO[scene.labels[m.label].colour]
        lines.append([(start, m.src - 0.36), (start, m.src + 0.36)])
        colours.append(colour)
        if m.arrived >= 0:
            end = m.arrived * scale
            lines.append([(start, m.src + 0.36 * way), (end, m.dst - 0.36 * way),
                          (end, m.dst + 0.36 * way)])  # fmt: skip
            colours.append(colour)
    width = 1.5 if len(lines) <= 400 else 0.7
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=width, zorder=2))


def _marks(axes: Axes, scene: Scene, scale: float, whole: float) -> None:
    """Point at what ranks have noted, and say what it is where there is room for it.

    A name stands in place of marks that have less to say, never of their names.
    """
    letter = 0.0062 * whole
    told = telling_first(scene.marks, scene.sayings)
    taken: list[tuple[int, float, float]] = []
    for much, mark in told:
        x, y = mark.tick * scale, mark.rank - 0.38
        said = scene.sayings[mark.saying].short
        end = x + letter * (len(said) + 2)
        others = [other.tick * scale for more, other in told
                  if other.rank == mark.rank and other is not mark and more >= much]  # fmt: skip
        blocked = any(x <= at <= end for at in others) or any(
            rank == mark.rank and x < last and first < end for rank, first, last in taken
        )
        if scene.size <= 20 and end < 1.05 * whole and not blocked:
            taken.append((mark.rank, x, end))
            axes.text(
                x + letter, y, said, fontsize=6.5, va="center", color=INK, zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2, "alpha": 0.85},
            )  # fmt: skip
    for _, mark in told:
        x = mark.tick * scale
        if not any(rank == mark.rank and first < x < last for rank, first, last in taken):
            axes.plot(x, mark.rank - 0.38, "v", color=INK, markersize=4, zorder=5, clip_on=False)


def draw_critical_path(axes: Axes, scene: Scene, unit_s: float) -> None:
    """Mark the chain of messages that the run had to wait for, and the rank's time between them.

    It runs along the lower edge of the lanes, so that it strikes out no names.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        A timeline.
    scene : Scene
        What is drawn there.
    unit_s : float
        The axis' unit, in seconds.
    """
    scale = scene.tick_s / unit_s
    path: list[tuple[float, float]] = []
    for src, dst, start, received, held_by in scene.critical:
        hop = (start * scale, held_by), (start * scale, src), (received * scale, dst)
        path += [(time, rank + _HALF_BAR) for time, rank in hop]
    if path:
        path = [(0.0, path[0][1]), *path]
        axes.plot(*zip(*path, strict=True), color=INK, linewidth=2.2, zorder=4)


def last_word(text: str, room: float) -> str:
    """Shorten a text to its last word where it is too long: ``"forward 0F3"`` to ``"0F3"``.

    Of ``"3 @ 9"`` it is the first: the last number alone would be taken for it.
    """
    words = text.split() or [""]
    if words[-1].isdecimal() and any(letter.isdecimal() for word in words[:-1] for letter in word):
        words = words[:1]
    return text if len(text) <= room else cut(words[-1], room)


def cut(text: str, room: float) -> str:
    """Shorten a text to a number of letters, with an ellipsis."""
    most = int(room)
    return text if len(text) <= most else text[: most - 1] + "…" if most >= 3 else ""
