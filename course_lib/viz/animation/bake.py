"""What a saved page of ``explore`` holds: the pictures of a grid of settings that fits it."""

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from course_lib.viz.animation.knobs import Knob
from course_lib.viz.animation.pages import pack

__all__ = ["MOST_BYTES", "MOST_SETTINGS", "Baked", "Place", "Shown", "bake"]

MOST_SETTINGS = 200
MOST_BYTES = 300_000
"""A page holds at most so many settings, and about so many bytes of pictures as it packs them."""

Place = tuple[int, ...]
"""A setting: of each knob, an index into its values."""

Shown = dict[str, Any] | str
"""What the browser gets for a setting: a picture's traits, or why there is none."""


class Baked:
    """Pictures by setting, each different picture once.

    Parameters
    ----------
    knobs : sequence of Knob
        What can be set.
    kept : sequence of sequence of int
        Which values of each knob a page offers; the start is one of them.
    """

    def __init__(self, knobs: Sequence[Knob], kept: Sequence[Sequence[int]]) -> None:
        self._knobs = knobs
        self._kept = kept
        self._found: dict[str, int | str] = {}
        self._pictures: list[dict[str, Any]] = []
        self._seen: dict[str, int] = {}
        self.n_bytes = 0

    @property
    def places(self) -> Iterator[Place]:
        """Every setting of the grid."""
        return itertools.product(*self._kept)

    def add(self, place: Place, shown: Shown) -> None:
        """Take in what is shown for a setting."""
        name = ",".join(str(kept.index(at)) for kept, at in zip(self._kept, place, strict=True))
        if isinstance(shown, str):
            self._found[name] = shown
            return
        text = json.dumps(shown, separators=(",", ":"))
        if text not in self._seen:
            self._seen[text] = len(self._pictures)
            self._pictures.append(shown)
            self.n_bytes += len(pack(text))
        self._found[name] = self._seen[text]

    def traits(self) -> dict[str, Any]:
        """Return what the browser is handed."""
        knobs = [
            {
                "label": one.label,
                "texts": [one.texts[at] for at in kept],
                "start": kept.index(one.start),
                "kind": one.kind,
            }
            for one, kept in zip(self._knobs, self._kept, strict=True)
        ]
        return {"knobs": knobs, "found": self._found, "pictures": self._pictures}


def bake(knobs: Sequence[Knob], show: Callable[[Place], Shown]) -> Baked:
    """Compute every setting of a grid that is thinned until it fits a page.

    Parameters
    ----------
    knobs : sequence of Knob
        What can be set.
    show : callable
        Returns what is shown for a setting.

    Returns
    -------
    Baked
        The grid: each knob's start, and of the other values that a page may have as many as fit.
    """
    kept: list[list[int]] = [list(one.page) for one in knobs]
    while True:
        n_settings = math.prod(map(len, kept))
        if n_settings <= MOST_SETTINGS:
            baked = Baked(knobs, kept)
            for place in baked.places:
                baked.add(place, show(place))
                if baked.n_bytes > MOST_BYTES:
                    break
            if baked.n_bytes <= MOST_BYTES or n_settings == 1:
                return baked
        kept = _thinned(knobs, kept)


def _thinned(knobs: Sequence[Knob], kept: list[list[int]]) -> list[list[int]]:
    """Thin the slider with the most values; choices only when no slider has more than three."""
    sliders = [i for i, one in enumerate(knobs) if one.kind == "slider" and len(kept[i]) > 3]
    most = max(sliders or range(len(knobs)), key=lambda i: len(kept[i]))
    return [_half(at, knobs[i].start) if i == most else at for i, at in enumerate(kept)]


def _half(kept: list[int], start: int) -> list[int]:
    """Leave out every second value, but neither the start nor, while it can be, the ends."""
    fewer = [at for i, at in enumerate(kept) if i % 2 == 0 or at in (start, kept[-1])]
    if len(fewer) < len(kept):
        return fewer
    farthest = max(kept, key=lambda at: (abs(at - start), at))
    return [at for at in kept if at != farthest]
