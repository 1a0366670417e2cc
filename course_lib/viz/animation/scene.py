"""What the pictures are drawn from: a trace on a layout, as one small table of whole ticks.

The player and the still pictures read nothing else. What is where at a time follows from the table
by straight lines between its entries (``course_lib.viz.animation.snapshot``), in Python and in the
browser.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from course_lib.viz.animation.layouts import Point
from course_lib.viz.animation.marks import Mark, Saying
from course_lib.words.units import time_unit

__all__ = ["TWICE", "UNREADABLE", "Doing", "Fill", "Flight", "Label", "Scene", "Span"]

UNREADABLE, TWICE = -1, -2
"""Levels of a cell in which nobody can tell what is, or a rank counts more than once."""


class Label(NamedTuple):
    """What a message is about: its tag or chunk, a colour's number, the cells it goes between."""

    tag: int | str | None
    colour: int
    cells: tuple[int, ...] = ()


class Flight(NamedTuple):
    """One message, in ticks: -1 for ``arrived`` and ``received`` where nobody received it.

    ``load`` is an index into ``Scene.loads``, -1 where nobody knows what it carried.
    """

    src: int
    dst: int
    label: int
    size: int
    load: int
    posted: int
    arrived: int
    received: int


class Span(NamedTuple):
    """What a rank did from ``start`` to ``end`` (ticks): an index into ``Scene.doings``."""

    rank: int
    doing: int
    start: int
    end: int


class Doing(NamedTuple):
    """A way to spend time: ``kind`` is "compute" or "wait"; a short word and two phrases for it.

    ``fill`` tells the passes of training apart: 0 forward and all that is none of them, 1 backward,
    2 the inputs' gradient, 3 the weights' gradient; 4 is an all-reduce, in a Gantt chart.
    """

    kind: str
    word: str
    one: str
    many: str
    fill: int = 0


class Fill(NamedTuple):
    """From ``tick`` on, a rank's cell holds ``level`` contributions, or what is wrong with it."""

    rank: int
    cell: int
    tick: int
    level: int


@dataclass(frozen=True)
class Scene:
    """A trace, ready to be drawn.

    Attributes
    ----------
    size : int
        How many ranks.
    clock : {"measured", "virtual"}
        What the times are.
    layout : str
        The layout's name.
    tick_s : float
        The length of a tick, in seconds; a power of ten, at most 1e-6 of the run.
    end : int
        The end of the run, in ticks.
    places : list of (float, float)
        The middle of each rank's box, by rank, as fractions of the stage.
    bend : float
        How far edges bend, see ``course_lib.viz.animation.layouts``.
    roles : list of str
        What each rank is called besides its number, by rank; mostly empty.
    labels : list of Label
        The messages' labels.
    sizes : list of (str, float)
        The messages' sizes in words, and as fractions of the largest.
    doings : list of Doing
        What ranks spend time on.
    messages : list of Flight
        The messages on the stage, in the order they were posted.
    spans : list of Span
        Who computed and waited when, in order of their starts.
    faults : list of (int, int, str)
        Rank, tick and kind of what went wrong.
    goals : list of int
        How many contributions make each cell of a buffer complete; empty where nobody knows what
        the buffers hold.
    held : list of list of int
        How many contributions each rank holds at first: by rank, then by cell.
    fills : list of Fill
        How that changes, in order of time.
    loads : list of (str, str)
        What messages carry: how many contributions, in words, and whose, in short.
    called : str
        What a cell of a buffer is for.
    marks : list of Mark
        What ranks noted of updates that were old, lost or dropped, in order of time.
    sayings : list of Saying
        What the marks say.
    critical : list of (int, int, int, int, int)
        The critical path: messages as sender, receiver, the ticks at which they could leave and
        were received, and the rank that they waited for until then.
    hosts : list of list of int
        The ranks of each host, if they are shown.
    shares : list of (float, float)
        The fractions of the run that each rank computed and waited, of all events.
    total : str
        Messages and bytes of the whole run, in words.
    thinned : str
        What is left out on the stage, in words; empty where nothing is.
    """

    size: int
    clock: str
    layout: str
    tick_s: float
    end: int
    places: list[Point]
    bend: float
    roles: list[str]
    labels: list[Label] = field(default_factory=list)
    sizes: list[tuple[str, float]] = field(default_factory=list)
    doings: list[Doing] = field(default_factory=list)
    messages: list[Flight] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    faults: list[tuple[int, int, str]] = field(default_factory=list)
    goals: list[int] = field(default_factory=list)
    held: list[list[int]] = field(default_factory=list)
    fills: list[Fill] = field(default_factory=list)
    loads: list[tuple[str, str]] = field(default_factory=list)
    called: str = "chunk"
    marks: list[Mark] = field(default_factory=list)
    sayings: list[Saying] = field(default_factory=list)
    critical: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    hosts: list[list[int]] = field(default_factory=list)
    shares: list[tuple[float, float]] = field(default_factory=list)
    total: str = ""
    thinned: str = ""

    @property
    def end_s(self) -> float:
        """The end of the run, in seconds."""
        return self.end * self.tick_s

    @property
    def unit(self) -> tuple[float, str]:
        """The unit that this run's times are shown in: its seconds and its name."""
        return time_unit(self.end_s)

    def to_json(self) -> dict[str, Any]:
        """Pack the scene for the browser: columns instead of rows, starts as steps from the last.

        Returns
        -------
        dict
            Plain lists, numbers and texts, about 20 bytes of JSON an event.
        """
        posted = [0, *(m.posted for m in self.messages)]
        starts = [0, *(s.start for s in self.spans)]
        return {
            "size": self.size,
            "layout": self.layout,
            "clock": self.clock,
            "tick": self.tick_s,
            "unit": list(self.unit),
            "end": self.end,
            "places": [list(place) for place in self.places],
            "bend": self.bend,
            "roles": self.roles,
            "labels": [list(label if label.cells else label[:2]) for label in self.labels],
            "sizes": [[text, round(share, 4)] for text, share in self.sizes],
            "doings": [list(doing) for doing in self.doings],
            "src": [m.src for m in self.messages],
            "dst": [m.dst for m in self.messages],
            "label": [m.label for m in self.messages],
            "bytes": [m.size for m in self.messages],
            "posted": [b - a for a, b in pairwise(posted)],
            "flight": [max(m.arrived - m.posted, -1) for m in self.messages],
            "pause": [m.received - m.arrived for m in self.messages],
            "rank": [s.rank for s in self.spans],
            "doing": [s.doing for s in self.spans],
            "start": [b - a for a, b in pairwise(starts)],
            "length": [s.end - s.start for s in self.spans],
            "faults": [list(fault) for fault in self.faults],
            "shares": [[round(c, 4), round(w, 4)] for c, w in self.shares],
            "total": self.total,
            "thinned": self.thinned,
            "critical": [list(hop) for hop in self.critical],
            "hosts": self.hosts,
            "goals": self.goals,
            **(self._pack_fills() if self.goals else {}),
            **({"marks": self.marks, "sayings": self.sayings} if self.marks else {}),
        }

    def _pack_fills(self) -> dict[str, Any]:
        ticks = [0, *(fill.tick for fill in self.fills)]
        return {
            "held": self.held,
            **({"called": self.called} if self.called != "chunk" else {}),
            "loads": [list(load) for load in self.loads],
            "load": [m.load for m in self.messages],
            "filled": [fill.rank for fill in self.fills],
            "cell": [fill.cell for fill in self.fills],
            "level": [fill.level for fill in self.fills],
            "when": [b - a for a, b in pairwise(ticks)],
        }
