"""What the pictures are drawn from: a trace on a layout, as one small table of whole ticks.

The player and the still pictures read nothing else. What is where at a time follows from the table
by straight lines between its entries (``course_lib.viz.moments``), in Python and in the browser.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.viz.colours import OKABE_ITO
from course_lib.viz.layouts import BENDS, Point, places
from course_lib.viz.thin import MAX_EVENTS, pick, thin
from course_lib.viz.units import format_bytes, time_unit

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Doing", "Flight", "Scene", "Span", "check_size", "make_scene"]

_MOST_RANKS = 128
_TICK_DIGITS = 7
_LOOKED_AT = 6  # times as many events as are drawn; of the rest of a huge trace only totals


class Flight(NamedTuple):
    """One message, in ticks: -1 for ``arrived`` and ``received`` where nobody received it."""

    src: int
    dst: int
    label: int
    size: int
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
    """A way to spend time: ``kind`` is "compute" or "wait"; a short word and two phrases for it."""

    kind: str
    word: str
    one: str
    many: str


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
        How far edges bend, see ``course_lib.viz.layouts``.
    roles : list of str
        What each rank is called besides its number, by rank; mostly empty.
    labels : list of (tag, int)
        The messages' labels, and the number of each one's colour.
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
    labels: list[tuple[int | str | None, int]] = field(default_factory=list)
    sizes: list[tuple[str, float]] = field(default_factory=list)
    doings: list[Doing] = field(default_factory=list)
    messages: list[Flight] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    faults: list[tuple[int, int, str]] = field(default_factory=list)
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
            "labels": [list(label) for label in self.labels],
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
        }


def make_scene(
    trace: "Trace",
    layout: str = "ring",
    *,
    center: int = 0,
    roles: dict[int, str] | None = None,
    max_events: int = MAX_EVENTS,
) -> Scene:
    """Put a trace on a layout.

    Parameters
    ----------
    trace : Trace
        What happened.
    layout : {"ring", "star", "line"}, default: "ring"
        Where the workers stand.
    center : int, default: 0
        The rank in the middle of a star.
    roles : dict of int to str or None, default: None
        What some ranks are besides workers, ``{0: "combiner"}``; they are drawn differently.
    max_events : int, default: 2500
        The most messages and spans to draw; of longer traces a fair part is drawn, and the scene
        says how much. Totals are always those of the whole trace.

    Returns
    -------
    Scene
        The table that all pictures are drawn from.

    Raises
    ------
    ValueError
        If ``layout``, ``center`` or a rank in ``roles`` does not exist.
    """
    for rank in roles or {}:
        if not 0 <= rank < trace.size:
            raise ValueError(f"roles must name ranks from 0 to {trace.size - 1}, got {rank!r}")
    spot = places(layout, trace.size, center)
    tick_s = _tick(trace.end_s)
    labels, sizes = _labels(trace), _sizes(trace)
    spans, doings = _spans(trace, tick_s, _LOOKED_AT * max_events)
    flights = _flights(trace, tick_s, labels, sizes, _LOOKED_AT * max_events)
    kept_flights, kept_spans, thinned = thin(flights, spans, max_events, trace.n_messages)
    messages = "message" if trace.n_messages == 1 else "messages"
    largest = max(sizes, default=0) or 1
    return Scene(
        size=trace.size,
        clock=trace.clock,
        layout=layout,
        tick_s=tick_s,
        end=round(trace.end_s / tick_s),
        places=spot,
        bend=BENDS[layout],
        roles=[(roles or {}).get(rank, "") for rank in range(trace.size)],
        labels=labels,
        sizes=[(format_bytes(n_bytes), n_bytes / largest) for n_bytes in sizes],
        doings=doings,
        messages=kept_flights,
        spans=kept_spans,
        faults=[
            (f.rank, round(f.time_s / tick_s), f.kind) for f in trace.faults if f.rank is not None
        ],
        shares=_shares(trace),
        total=f"{trace.n_messages:,} {messages}, {format_bytes(trace.n_bytes)}",
        thinned=thinned,
    )


def check_size(size: int) -> None:
    """Refuse more ranks than a stage has room for."""
    if size > _MOST_RANKS:
        raise ValueError(
            f"trace must have at most {_MOST_RANKS} ranks to be put on a stage, got {size:,}; "
            "timeline(trace) and table(trace) take any number"
        )


def _tick(end_s: float) -> float:
    if end_s <= 0:
        return 1.0
    return float(f"1e{math.ceil(math.log10(end_s)) - _TICK_DIGITS}")


def _labels(trace: "Trace") -> list[tuple[int | str | None, int]]:
    tags = list(dict.fromkeys(message.tag for message in trace.messages))
    names = [tag for tag in tags if isinstance(tag, str)]
    colours = {name: number for number, name in enumerate(names)}
    return [
        (tag, (tag if isinstance(tag, int) else colours.get(tag or "", 1)) % len(OKABE_ITO))
        for tag in tags
    ]


def _sizes(trace: "Trace") -> list[int]:
    return sorted({message.n_bytes for message in trace.messages})


def _flights(
    trace: "Trace",
    tick_s: float,
    labels: list[tuple[int | str | None, int]],
    sizes: list[int],
    most: int,
) -> list[Flight]:
    label_of = {label[0]: index for index, label in enumerate(labels)}
    size_of = {n_bytes: index for index, n_bytes in enumerate(sizes)}
    flights = []
    for m in pick(trace.messages, most):
        posted, arrived, received = round(m.posted_s / tick_s), -1, -1
        if m.received_s is not None:
            # On measured clocks a receiver may note a time just before the sender's.
            arrived_s = m.received_s if m.arrived_s is None else m.arrived_s
            arrived = max(posted, round(arrived_s / tick_s))
            received = max(arrived, round(m.received_s / tick_s))
        flights.append(
            Flight(
                m.src, m.dst, label_of[m.tag], size_of[m.n_bytes], posted, arrived, received
            )
        )  # fmt: skip
    return sorted(flights, key=lambda flight: flight.posted)


def _spans(trace: "Trace", tick_s: float, most: int) -> tuple[list[Span], list[Doing]]:
    doings: dict[Doing, int] = {}
    spans = []
    events = [(c.rank, _computes(c.label), c.start_s, c.end_s) for c in pick(trace.computes, most)]
    events += [
        (w.rank, _waits(w.verb, w.peer), w.start_s, w.end_s) for w in pick(trace.waits, most)
    ]
    for rank, doing, start_s, end_s in events:
        start, end = round(start_s / tick_s), round(end_s / tick_s)
        spans.append(Span(rank, doings.setdefault(doing, len(doings)), start, max(start, end)))
    return sorted(spans, key=lambda span: (span.start, span.rank)), list(doings)


def _computes(label: str) -> Doing:
    return Doing("compute", label, f"computes {label}", f"compute {label}")


def _waits(verb: str, peer: int | None) -> Doing:
    if verb == "barrier":
        return Doing("wait", "barrier", "waits at the barrier", "wait at the barrier")
    if peer is None:
        return Doing("wait", "waits", "waits for anybody", "wait for anybody")
    if verb == "send":
        goal = f"for rank {peer} to receive"
    else:
        goal = f"for rank {peer}"
    return Doing("wait", f"waits for {peer}", f"waits {goal}", f"wait {goal}")


def _shares(trace: "Trace") -> list[tuple[float, float]]:
    whole = trace.end_s or 1.0
    computed, waited = [0.0] * trace.size, [0.0] * trace.size
    for compute in trace.computes:
        computed[compute.rank] += (compute.end_s - compute.start_s) / whole
    for wait in trace.waits:
        waited[wait.rank] += (wait.end_s - wait.start_s) / whole
    return list(zip(computed, waited, strict=True))
