"""How a trace is put on a layout: its events become the rows of a scene."""

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from course_lib.trace.critical_path import hops
from course_lib.trace.events import NO_RECORD
from course_lib.viz.animation.buffers import make_strips
from course_lib.viz.animation.captions import are_names
from course_lib.viz.animation.choosing import stand
from course_lib.viz.animation.edges import BENDS
from course_lib.viz.animation.layouts import Point
from course_lib.viz.animation.marks import ages_of, make_marks
from course_lib.viz.animation.scene import Doing, Flight, Label, Scene, Span
from course_lib.viz.animation.sending import SENDING, without_sending
from course_lib.viz.animation.subsample import MAX_EVENTS, pick, thin
from course_lib.viz.colours import OKABE_ITO
from course_lib.words.units import in_bytes

if TYPE_CHECKING:
    from course_lib.trace.contributions import Contributions
    from course_lib.trace.trace import Trace

__all__ = ["check_stage", "make_scene"]

_MOST_RANKS, _TICK_DIGITS = 128, 7
_LEAST_S = 1e-300  # a tick of a shorter run would be 0
_FILLS = {"backward": 1, "input gradient": 2, "weight gradient": 3, "all-reduce": 4}
_COLOUR_OF = {"gradient": 0, "temp": 0, "slope": 0, "parameters": 1, "model": 1}
"""What means the same has the same colour in all pictures; other labels by their appearance."""
_LOOKED_AT = 6  # times as many events as are drawn; of the rest of a huge trace only totals


def make_scene(
    trace: "Trace",
    layout: str | None = None,
    *,
    center: int = 0,
    hosts: Sequence[Sequence[int]] = (),
    roles: dict[int, str] | None = None,
    columns: int | None = None,
    places: Sequence[Point] = (),
    contributions: "Contributions | None" = None,
    critical: bool = True,
    max_events: int = MAX_EVENTS,
) -> Scene:
    """Put a trace on a layout.

    Parameters
    ----------
    trace : Trace
        What happened.
    layout : {"ring", "star", "line", "tree", "grid", "hosts"} or None, default: None
        Where the workers stand; None chooses by who sends to whom.
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
        Whose numbers were where in this run; with it, every box shows its buffer.
    critical : bool, default: True
        Whether to look for the critical path, which takes a while in millions of messages.
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
        If ``layout``, ``center`` or a rank in ``roles`` or ``hosts`` does not exist, ``columns`` or
        ``places`` do not fit, or ``contributions`` is of another run.
    """
    for rank in roles or {}:
        if not 0 <= rank < trace.size:
            raise ValueError(f"roles must name ranks from 0 to {trace.size - 1}, got {rank!r}")
    layout, spot, on_hosts = stand(trace, layout, center, hosts, columns, places)
    tick_s = _tick(trace.end_s)
    sizes = _sizes(trace)
    about, buffers = _about(trace, contributions, tick_s)
    called = [(roles or {}).get(rank, "") for rank in range(trace.size)]
    spans, doings = _spans(trace, tick_s, _LOOKED_AT * max_events, called)
    flights = _flights(trace, tick_s, about, sizes, _LOOKED_AT * max_events)
    kept_flights, kept_spans, thinned = thin(flights, spans, max_events, trace.n_messages)
    marks, sayings = make_marks(trace, tick_s, max_events // 4)
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
        roles=called,
        sizes=[(in_bytes(n_bytes), n_bytes / largest) for n_bytes in sizes],
        doings=doings,
        messages=kept_flights,
        spans=kept_spans,
        faults=_faults(trace, tick_s),
        marks=marks,
        sayings=sayings,
        critical=[
            (m.src, m.dst, round(start_s / tick_s), round((m.received_s or 0.0) / tick_s), held_by)
            for m, start_s, held_by in (hops(trace) if critical else [])
        ],
        hosts=on_hosts,
        shares=_shares(trace),
        total=f"{trace.n_messages:,} {messages}, {in_bytes(trace.n_bytes)}{trace.omission}",
        thinned=thinned,
        **buffers,
    )


def _about(
    trace: "Trace", contributions: "Contributions | None", tick_s: float
) -> tuple[Callable[[int], tuple[int, int]], dict[str, Any]]:
    """Say how a message, by its number, finds its label and load; and the scene's part on these."""
    if contributions is None:
        colours = {label.tag: label.colour for label in _labels(trace)}
        ages, tags = ages_of(trace), [message.tag for message in trace.messages]
        told = {
            n: f"{'' if tags[n] is None else f'{tags[n]}, '}{age} old" for n, age in ages.items()
        }
        labels = [Label(tag, colour) for tag, colour in colours.items()]
        labels += dict.fromkeys(Label(told[n], colours[tags[n]]) for n in ages)
        number_of = {label.tag: number for number, label in enumerate(labels)}
        shown = [label._replace(tag=_printable(label.tag)) for label in labels]
        return lambda n: (number_of[told.get(n, tags[n])], -1), {"labels": shown}
    if len(contributions.carried) != trace.n_messages:
        raise ValueError(
            f"contributions must be those of this run, of {trace.n_messages:,} messages, got those "
            f"of a run of {len(contributions.carried):,}"
        )
    strips = make_strips(contributions, tick_s)
    buffers = strips._asdict()
    label_of, load_of = buffers.pop("label_of"), buffers.pop("load_of")
    return lambda number: (label_of[number], load_of[number]), buffers


def _printable(tag: int | str | None) -> int | str | None:
    """Escape halves of characters, which a tag may have and no page and no still."""
    if isinstance(tag, str):
        return tag.encode("utf-8", "backslashreplace").decode("utf-8")
    return tag


def check_stage(trace: "Trace") -> None:
    """Refuse what is no trace, and more ranks than a stage has room for."""
    if not hasattr(trace, "messages"):
        raise TypeError(f"trace must be a Trace, got {type(trace).__name__}")
    size = trace.size
    if size > _MOST_RANKS:
        raise ValueError(
            f"trace must have at most {_MOST_RANKS} ranks to be put on a stage, got {size:,}; "
            "timeline(trace) and table(trace) take any number"
        )


def _tick(end_s: float) -> float:
    if end_s < _LEAST_S:
        return 1.0
    return float(f"1e{math.ceil(math.log10(end_s)) - _TICK_DIGITS}")


def _labels(trace: "Trace") -> list[Label]:
    tags = list(dict.fromkeys(message.tag for message in trace.messages))
    names = [tag for tag in tags if isinstance(tag, str)]
    colours = {name: _COLOUR_OF[name] for name in names if name in _COLOUR_OF}
    first = len({*_COLOUR_OF.values()}) if colours else 0
    others = (name for name in names if name not in _COLOUR_OF)
    colours |= {name: number for number, name in enumerate(others, start=first)}
    return [
        Label(tag, (tag if isinstance(tag, int) else colours.get(tag or "", 1)) % len(OKABE_ITO))
        for tag in tags
    ]


def _sizes(trace: "Trace") -> list[int]:
    return sorted({message.n_bytes for message in trace.messages})


def _flights(
    trace: "Trace",
    tick_s: float,
    about: Callable[[int], tuple[int, int]],
    sizes: list[int],
    most: int,
) -> list[Flight]:
    size_of = {n_bytes: index for index, n_bytes in enumerate(sizes)}
    flights = []
    for number in pick(range(trace.n_messages), most):
        m, (label, load) = trace.messages[number], about(number)
        posted, arrived, received = round(m.posted_s / tick_s), -1, -1
        if m.received_s is not None:
            # On measured clocks a receiver may note a time just before the sender's.
            arrived_s = m.received_s if m.arrived_s is None else m.arrived_s
            arrived = max(posted, round(arrived_s / tick_s))
            received = max(arrived, round(m.received_s / tick_s))
        flights.append(
            Flight(
                m.src, m.dst, label, size_of[m.n_bytes], load, posted, arrived, received
            )
        )  # fmt: skip
    return sorted(flights, key=lambda flight: flight.posted)


def _spans(
    trace: "Trace", tick_s: float, most: int, called: Sequence[str]
) -> tuple[list[Span], list[Doing]]:
    whom = called if are_names(called) else [f"rank {rank}" for rank in range(trace.size)]
    doings: dict[Doing, int] = {}
    spans = []
    events = [(c.rank, _computes(c.label), c.start_s, c.end_s) for c in pick(trace.computes, most)]
    events += [
        (w.rank, _waits(w.verb, w.peer, whom), w.start_s, w.end_s)
        for w in without_sending(trace, pick(trace.waits, most))
    ]
    for rank, doing, start_s, end_s in events:
        start, end = round(start_s / tick_s), round(end_s / tick_s)
        spans.append(Span(rank, doings.setdefault(doing, len(doings)), start, max(start, end)))
    return sorted(spans, key=lambda span: (span.start, span.rank)), list(doings)


def _computes(label: str) -> Doing:
    fill = next((fill for words, fill in _FILLS.items() if label.startswith(words)), 0)
    return Doing("compute", label, f"computes {label}", f"compute {label}", fill)


def _waits(verb: str, peer: int | None, whom: Sequence[str]) -> Doing:
    if verb == "barrier":
        return Doing("wait", "barrier", "waits at the barrier", "wait at the barrier")
    if verb == "wait":
        what = "for what it has started"
        return Doing("wait", "waits", f"waits {what}", f"wait {what}")
    if peer is None:
        return Doing("wait", "waits", "waits for anybody", "wait for anybody")
    word, goal = f"waits for {peer}", f"for {whom[peer]}"
    if verb in SENDING:  # on a measured clock the two cannot be told apart
        one, many = (f"{verb} {goal} to receive" for verb in ("sends, or waits", "send, or wait"))
        return Doing("wait", word, one, many)
    return Doing("wait", word, f"waits {goal}", f"wait {goal}")


def _faults(trace: "Trace", tick_s: float) -> list[tuple[int, int, str]]:
    faults = [
        (f.rank, round(f.time_s / tick_s), f.kind)
        for f in trace.faults
        if f.rank is not None and f.kind != NO_RECORD  # which the sentence at the end says
    ]
    return sorted(faults, key=itemgetter(1))


def _shares(trace: "Trace") -> list[tuple[float, float]]:
    whole = trace.end_s or 1.0
    computed, waited = [0.0] * trace.size, [0.0] * trace.size
    for compute in trace.computes:
        computed[compute.rank] += (compute.end_s - compute.start_s) / whole
    for wait in trace.waits:
        waited[wait.rank] += (wait.end_s - wait.start_s) / whole
    return list(zip(computed, waited, strict=True))
