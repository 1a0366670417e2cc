"""Sliders and choices beside a picture that follows while they move."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import traitlets

from course_lib.trace.trace import Trace
from course_lib.viz.animation.bake import Baked, Place, Shown, bake
from course_lib.viz.animation.chart import chart
from course_lib.viz.animation.knobs import Knob, knob
from course_lib.viz.animation.message_player import player
from course_lib.viz.animation.picture import Picture
from course_lib.viz.animation.script import PARTS, read_css, read_esm

__all__ = ["Explore", "as_picture", "explore"]


class Explore(Picture):
    """A function of some settings, to be moved through; make one with ``explore(fn, …)``.

    Parameters
    ----------
    fn : callable
        From settings by name to what is shown.
    by_name : dict of str to Knob
        The knobs.
    title : str
        What stands above it.

    Attributes
    ----------
    knobs, found, pictures, aside : list, dict, list, str
        What the browser has: the knobs, which picture (or error) belongs to which setting, the
        pictures, and a note.
    live : bool
        Whether a kernel answers for settings that are not there.
    """

    _esm = read_esm("explore", *(kind for kind in PARTS if kind != "explore"))
    _css = read_css("explore", *(kind for kind in PARTS if kind != "explore"))
    shown = ("knobs", "found", "pictures", "live", "aside")
    kind = traitlets.Unicode("explore").tag(sync=True)
    knobs: Any = traitlets.List().tag(sync=True)
    found: Any = traitlets.Dict().tag(sync=True)
    pictures: Any = traitlets.List().tag(sync=True)
    live = traitlets.Bool(True).tag(sync=True)
    aside = traitlets.Unicode("").tag(sync=True)

    def __init__(self, fn: Callable[..., Any], by_name: dict[str, Knob], title: str) -> None:
        self._fn = fn
        self._by_name = by_name
        knobs = list(by_name.values())
        first = tuple(one.start for one in knobs)
        self._first = self._picture(first)
        self._made: dict[Place, Shown] = {first: self._first.traits_shown()}
        baked = Baked(knobs, [range(len(one.values)) for one in knobs])
        baked.add(first, self._made[first])
        super().__init__(title=title, **baked.traits())
        self.on_msg(self._answer)

    def _picture(self, place: Place) -> Picture:
        named = zip(self._by_name.items(), place, strict=True)
        return as_picture(self._fn(**{name: one.values[at] for (name, one), at in named}))

    def _show(self, place: Place) -> Shown:
        """Return what is shown for a setting, each picture computed once; errors as a sentence."""
        if place not in self._made:
            try:
                self._made[place] = self._picture(place).traits_shown()
            except (Exception, KeyboardInterrupt) as error:
                return f"{type(error).__name__}: {error}".removesuffix(": ")
        return self._made[place]

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Tell the browser what is shown for the setting that it asks for.

        By way of the layout: what is sent to a picture itself is lost where the browser has needed
        more than two seconds to load its script (anywidget 0.11).
        """
        key = str(content["key"])
        shown = self._show(tuple(int(part) for part in key.split(",")))
        self.layout.send({"key": key, "error" if isinstance(shown, str) else "picture": shown})

    def traits_shown(self) -> dict[str, Any]:
        """Return what a page keeps: every setting of a grid that is thinned until it fits."""
        knobs = list(self._by_name.values())
        baked = bake(knobs, self._show).traits()
        here = math.prod(len(one["texts"]) for one in baked["knobs"])
        all_of_them = math.prod(len(one.values) for one in knobs)
        aside = "" if here == all_of_them else f"this page has {here} of {all_of_them:,} settings"
        return {**super().traits_shown(), **baked, "live": False, "aside": aside}

    def still(self) -> bytes:
        """Draw the picture of the first settings, and what these are, as PNG."""
        from course_lib.viz.stills.heading import with_heading

        said = [f"{one.label}: {one.texts[one.start]}" for one in self._by_name.values()]
        return with_heading(self._first.still(), self.title, "   ".join(said))

    def __repr__(self) -> str:
        """Summarise in one line: what can be set, and what is shown at first."""
        said = [
            f"{one.label} {one.texts[0]} to {one.texts[-1]}"
            if one.kind == "slider" else f"{one.label} {' | '.join(one.texts)}"
            for one in self._by_name.values()
        ]  # fmt: skip
        return f"Explore({'; '.join(said)}): {self._first!r}"


def as_picture(made: Any) -> Picture:
    """Take what a function of ``explore`` returned as a picture.

    Parameters
    ----------
    made : Picture, Trace, Watched, or dict
        A trace and a watched run are played, numbers and curves by name become a chart.

    Returns
    -------
    Picture
        What is shown.

    Raises
    ------
    TypeError
        If it is none, and no numbers or curves by name either.
    """
    if isinstance(made, Picture):
        return made
    if isinstance(made, Mapping):
        return chart(made)
    if isinstance(made, Trace):
        return player(made)
    if callable(play := getattr(made, "player", None)):
        return as_picture(play())
    raise TypeError(
        "fn must return a picture (player, race, landscape, chart), a trace, or a dict of numbers "
        f"or curves by name, got {type(made).__name__}"
    )


def explore(fn: Callable[..., Any], *, title: str = "", **knobs: Any) -> Explore:
    """Put sliders and choices beside a picture that follows while they move.

    With a kernel each setting is computed when it is first asked for. A page that was saved
    (``save``) holds a grid of settings, at most 200 and 300 KB, and needs no kernel.

    Parameters
    ----------
    fn : callable
        Called with a value for each knob by name; returns a picture (``player``, ``race``,
        ``landscape``, ``chart``), a trace, what ``watch_collective`` returns, or a dict of numbers
        (bars) or of curves by name. It should take less than a tenth of a second, and return the
        same for the same settings.
    title : str, default: ""
        What stands above it.
    **knobs : iterable, dict by text, or Knob
        The values of each parameter, as ``knob(values)`` takes them, or what that returns.

    Returns
    -------
    Explore
        A widget; where none can be shown, the still picture of the first settings.

    Raises
    ------
    TypeError, ValueError
        If a knob has no values, or ``fn`` is no function, or returns nothing that can be shown.

    Examples
    --------
    >>> def cost(workers, n_bytes):
    ...     return {"server": 2.0 * workers * n_bytes, "ring": 2.0 * n_bytes}
    >>> explore(cost, workers=[2, 4, 8], n_bytes=[1000, 4000])
    Explore(workers 2 to 8; n_bytes 1,000 to 4,000): Chart(bars: server, ring)
    """
    if not callable(fn):
        raise TypeError(f"fn must be a function of the knobs, got {fn!r}")
    if not knobs:
        raise ValueError("knobs must be named, for example workers=[2, 4, 8], got none")
    by_name = {}
    for name, values in knobs.items():
        if isinstance(values, str) or not isinstance(values, Knob | Iterable):
            raise TypeError(
                f"{name} must be a sequence of values, for example [2, 4, 8], got {values!r}"
            )
        one = values if isinstance(values, Knob) else knob(values)
        by_name[name] = one if one.label else replace(one, label=name)
    return Explore(fn, by_name, title)
