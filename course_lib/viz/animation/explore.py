"""Sliders and choices beside a picture that follows while they move."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets

from course_lib.viz.animation.chart import chart
from course_lib.viz.animation.knobs import Knob, knob, n_settings, thin
from course_lib.viz.animation.picture import Picture
from course_lib.viz.animation.script import PARTS, read_css, read_esm

__all__ = ["Explore", "as_picture", "explore"]

MOST_SETTINGS = 200
MOST_BYTES = 300_000
"""A page bakes at most so many settings, and so many bytes of pictures."""

Key = tuple[int, ...]
"""The place of each knob, as an index into its values."""


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
        self._made: dict[tuple[Any, ...], Picture | str] = {}
        start = {name: one.values[one.start] for name, one in by_name.items()}
        self._first = self._show(start)
        baked = _Baked(list(by_name.values()))
        baked.add(tuple(one.start for one in by_name.values()), self._first)
        super().__init__(title=title, **baked.traits())
        self.on_msg(self._answer)

    def _show(self, settings: dict[str, Any]) -> Picture:
        """Return the picture of some settings; each is computed once."""
        key = tuple(settings.values())
        if key not in self._made:
            self._made[key] = as_picture(self._fn(**settings))
        made = self._made[key]
        assert isinstance(made, Picture)
        return made

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Compute the picture of a setting that the browser asks for."""
        key = str(content["key"])
        places = [int(part) for part in key.split(",")]
        named = zip(self._by_name.items(), places, strict=True)
        settings = {name: one.values[place] for (name, one), place in named}
        try:
            self.send({"key": key, "picture": self._show(settings).traits_shown()})
        except Exception as error:
            self.send({"key": key, "error": f"{type(error).__name__}: {error}"})

    def traits_shown(self) -> dict[str, Any]:
        """Return what a page keeps: every setting of a grid that is thinned until it fits."""
        knobs = dict(self._by_name)
        while n_settings(knobs) > MOST_SETTINGS:
            knobs = thin(knobs)
        baked = self._bake(knobs)
        while baked.n_bytes > MOST_BYTES and n_settings(knobs) > 1:
            knobs = thin(knobs)
            baked = self._bake(knobs)
        here, all_of_them = n_settings(knobs), n_settings(self._by_name)
        aside = "" if here == all_of_them else f"this page has {here} of {all_of_them:,} settings"
        return {**super().traits_shown(), **baked.traits(), "live": False, "aside": aside}

    def _bake(self, knobs: dict[str, Knob]) -> "_Baked":
        baked = _Baked(list(knobs.values()))
        for key in itertools.product(*(range(len(one.values)) for one in knobs.values())):
            named = zip(knobs.items(), key, strict=True)
            settings = {name: one.values[place] for (name, one), place in named}
            try:
                baked.add(key, self._show(settings))
            except Exception as error:
                baked.add(key, f"{type(error).__name__}: {error}")
        return baked

    def still(self) -> bytes:
        """Draw the picture of the first settings, as PNG."""
        return self._first.still()

    def __repr__(self) -> str:
        """Summarise in one line: what can be set, and what is shown at first."""
        said = [
            f"{one.label} {one.texts[0]} to {one.texts[-1]}"
            if one.kind == "slider" else f"{one.label} {' | '.join(one.texts)}"
            for one in self._by_name.values()
        ]  # fmt: skip
        return f"Explore({'; '.join(said)}): {self._first!r}"


class _Baked:
    """Pictures by setting, each different picture once."""

    def __init__(self, knobs: list[Knob]) -> None:
        self.knobs = knobs
        self.found: dict[str, int | str] = {}
        self.pictures: list[dict[str, Any]] = []
        self._seen: dict[str, int] = {}
        self.n_bytes = 0

    def add(self, key: Key, made: Picture | str) -> None:
        name = ",".join(map(str, key))
        if isinstance(made, str):
            self.found[name] = made
            return
        traits = made.traits_shown()
        text = json.dumps(traits, separators=(",", ":"))
        if text not in self._seen:
            self._seen[text] = len(self.pictures)
            self.pictures.append(traits)
            self.n_bytes += len(text)
        self.found[name] = self._seen[text]

    def traits(self) -> dict[str, Any]:
        knobs = [
            {"label": one.label, "texts": list(one.texts), "start": one.start, "kind": one.kind}
            for one in self.knobs
        ]
        return {"knobs": knobs, "found": self.found, "pictures": self.pictures}


def as_picture(made: Any) -> Picture:
    """Take what a function of ``explore`` returned as a picture.

    Raises
    ------
    TypeError
        If it is none, and no numbers or curves by name either.
    """
    if isinstance(made, Picture):
        return made
    if isinstance(made, Mapping):
        return chart(made)
    raise TypeError(
        "fn must return a picture (player, race, landscape, chart) or a dict of numbers or curves "
        f"by name, got {type(made).__name__}"
    )


def explore(fn: Callable[..., Any], *, title: str = "", **knobs: Any) -> Explore:
    """Put sliders and choices beside a picture that follows while they move.

    With a kernel each setting is computed when it is first asked for. A page that was saved
    (``save``) holds a grid of settings, at most 200 and 300 KB, and needs no kernel.

    Parameters
    ----------
    fn : callable
        Called with a value for each knob by name; returns a picture (``player``, ``race``,
        ``landscape``, ``chart``), or a dict of numbers (bars) or of curves by name. It should take
        less than a tenth of a second, and return the same for the same settings.
    title : str, default: ""
        What stands above it.
    **knobs : sequence or Knob
        The values of each parameter, or what ``knob(values, …)`` returns.

    Returns
    -------
    Explore
        A widget; where none can be shown, the still picture of the first settings.

    Raises
    ------
    TypeError, ValueError
        If a knob has no values, or ``fn`` returns nothing that can be shown.

    Examples
    --------
    >>> def cost(workers, n_bytes):
    ...     return {"server": 2.0 * workers * n_bytes, "ring": 2.0 * n_bytes}
    >>> explore(cost, workers=[2, 4, 8], n_bytes=[1000, 4000])
    Explore(workers 2 to 8; n_bytes 1,000 to 4,000): Chart(bars: server, ring)
    """
    if not knobs:
        raise ValueError("knobs must be named, for example workers=[2, 4, 8], got none")
    by_name = {}
    for name, values in knobs.items():
        if isinstance(values, str) or not isinstance(values, Knob | Sequence | range):
            raise TypeError(
                f"{name} must be a sequence of values, for example [2, 4, 8], got {values!r}"
            )
        one = values if isinstance(values, Knob) else knob(values)
        by_name[name] = one if one.label else Knob(one.values, one.texts, name, one.start)
    return Explore(fn, by_name, title)
