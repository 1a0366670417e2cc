"""A trace in Chrome's Trace Event Format, which ui.perfetto.dev and chrome://tracing open.

The format is JSON, an object with a list ``traceEvents``; each event is an object with a phase
``ph``. Times are microseconds, with three digits behind the point: nanoseconds, as the viewers
count. Slices of one track must lie in each other or apart, so each rank has a track for what it
does and waits for, one for what it sends, which may go on meanwhile, and more of them only where
functions that it has started would overlap.

What is what:

- a process for each rank, with a name (``M``); its ``pid`` is the rank + 1, for viewers take 0 for
  an idle processor;
- slices (``X``): collectives, computations, waits, sends from ``posted_s`` to ``sent_s``; a receive
  is a mark of 1 ns, for a trace knows when it returned, and the wait before it has a slice;
- an arrow (``s``, then ``f``) from each send to its receive; none where nobody received. Viewers
  go through events in the order of time, those of one time in the order of the file: so sends come
  first, and each end of an arrow right after its slice;
- numbers that were noted, and the bytes that are on their way between ranks, as counters (``C``);
  other notes, and faults, as marks (``i``).

References
----------
N. Duca and D. Sinclair, Trace Event Format, Google, 2016.
Perfetto documentation, "Visualizing external trace formats with Perfetto", Chrome JSON format.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.trace.events import Message

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["events", "text"]

Event = dict[str, Any]

_TRACKS_OF_A_KIND = 1000
_MARK_NS = 1


class _Slice(NamedTuple):
    begin: int
    end: int
    name: str
    kind: str
    args: dict[str, Any]
    arrow: tuple[str, int] | None = None  # "s" or "f", and the message's number


def text(trace: "Trace") -> Iterator[str]:
    """Write a trace as JSON, piece by piece: it may be long.

    Parameters
    ----------
    trace : Trace
        What happened.

    Yields
    ------
    str
        A line; all of them are the file.
    """
    about = {"clock": trace.clock, "backend": trace.backend, "ranks": trace.size}
    yield f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about)},"traceEvents":[\n'
    between = ""
    for event in events(trace):
        yield between + json.dumps(event, separators=(",", ":"), allow_nan=False)
        between = ",\n"
    yield "\n]}\n"


def events(trace: "Trace") -> Iterator[Event]:
    """List the events, track by track, in the order of time in each.

    Parameters
    ----------
    trace : Trace
        What happened.

    Yields
    ------
    dict
        As the format has them.
    """
    for rank in range(trace.size):
        yield _name(rank + 1, "process", f"rank {rank}")
        yield {
            "ph": "M",
            "pid": rank + 1,
            "name": "process_sort_index",
            "args": {"sort_index": rank},
        }
    done, sent = _slices(trace)
    for first, what, slices in ((1 + _TRACKS_OF_A_KIND, "sends", sent), (1, "does", done)):
        for rank in range(trace.size):
            for number, track in enumerate(_without_overlap(slices[rank])):
                called = what if number == 0 else f"{what}, beside ({number})"
                yield _name(rank + 1, "thread", called, tid=first + number)
                yield from _of_track(track, rank + 1, first + number)
    yield from _marks(trace)
    yield from _on_their_way(trace)


def _name(pid: int, what: str, name: str, **tid: int) -> Event:
    return {"ph": "M", "pid": pid, **tid, "name": f"{what}_name", "args": {"name": name}}


def _ns(seconds: float) -> int:
    return round(min(1e9 * seconds, sys.float_info.max))  # a trace may hold any number


def _time(ns: int) -> float:
    return ns / 1000


def _slices(trace: "Trace") -> tuple[dict[int, list[_Slice]], dict[int, list[_Slice]]]:
    """List what each rank does, and what it sends."""
    done: dict[int, list[_Slice]] = defaultdict(list)
    sent: dict[int, list[_Slice]] = defaultdict(list)
    for c in trace.collectives:
        done[c.rank].append(
            _Slice(_ns(c.entered_s), _ns(c.left_s), c.name, "collective", {"comm": c.comm})
        )
    for span in trace.computes:
        done[span.rank].append(
            _Slice(_ns(span.start_s), _ns(span.end_s), span.label, "compute", {"flops": span.flops})
        )
    for wait in trace.waits:
        whom = "" if wait.peer is None else f" rank {wait.peer}"
        done[wait.rank].append(
            _Slice(_ns(wait.start_s), _ns(wait.end_s), f"wait: {wait.verb}{whom}", "wait",
                   {"comm": wait.comm})
        )  # fmt: skip
    for number, m in enumerate(trace.messages):
        begin = _ns(m.posted_s)
        end, arrow = max(_ns(m.sent_s), begin + _MARK_NS), None
        if m.received_s is not None:
            arrow = ("s", number)
            at = _ns(m.received_s)
            done[m.dst].append(
                _Slice(at, at + _MARK_NS, f"received from rank {m.src}", "receive", _about(m),
                       ("f", number))
            )  # fmt: skip
        sent[m.src].append(_Slice(begin, end, f"send to rank {m.dst}", "send", _about(m), arrow))
    return done, sent


def _about(m: Message) -> dict[str, Any]:
    about = {"bytes": m.n_bytes, "shape": str(m.shape), "dtype": m.dtype, "comm": m.comm}
    if m.tag is not None:
        about["tag"] = m.tag
    if m.arrived_s is not None:
        about["arrived_us"] = _time(_ns(m.arrived_s))
    return about


def _without_overlap(slices: Iterable[_Slice]) -> list[list[_Slice]]:
    """Spread slices over as few tracks as need be for any two of one to lie in each other or apart.

    There is one track at least, with nothing in it.
    """
    tracks: list[list[_Slice]] = [[]]
    open_ends: list[list[int]] = [[]]
    for piece in sorted(slices, key=lambda s: (s.begin, -s.end)):
        for number, ends in enumerate(open_ends):  # noqa: B007 - where it fits is needed below
            while ends and ends[-1] <= piece.begin:
                ends.pop()
            if not ends or piece.end <= ends[-1]:
                break
        else:
            number = len(tracks)
            tracks.append([])
            open_ends.append([])
        tracks[number].append(piece)
        open_ends[number].append(piece.end)
    return tracks


def _of_track(track: Iterable[_Slice], pid: int, tid: int) -> Iterator[Event]:
    for s in track:
        where = {"pid": pid, "tid": tid, "ts": _time(s.begin)}
        yield {
            "ph": "X", "name": s.name, "cat": s.kind, **where, "dur": _time(s.end - s.begin),
            "args": s.args,
        }  # fmt: skip
        if s.arrow is not None:
            phase, number = s.arrow
            end = {"bp": "e"} if phase == "f" else {}  # the slice around it, not the next one
            yield {"ph": phase, "name": "message", "cat": "message", "id": number, **where, **end}


def _marks(trace: "Trace") -> Iterator[Event]:
    for note in trace.notes:
        where = {"pid": note.rank + 1, "tid": 1, "ts": _time(_ns(note.time_s)), "name": note.name}
        if isinstance(note.value, int | float) and abs(note.value) <= 1e300:  # neither nan nor inf
            yield {"ph": "C", **where, "args": {"value": float(note.value)}}
        else:
            yield {"ph": "i", "s": "t", "cat": "note", **where, "args": {"value": str(note.value)}}
    for fault in trace.faults:
        where = {"pid": 1 if fault.rank is None else fault.rank + 1, "tid": 1}
        yield {
            "ph": "i", "s": "g" if fault.rank is None else "p", "cat": "fault", "name": fault.kind,
            **where, "ts": _time(_ns(fault.time_s)), "args": {"text": fault.text},
        }  # fmt: skip


def _on_their_way(trace: "Trace") -> Iterator[Event]:
    """Count the bytes of messages that are posted and not there yet; lost ones never will be."""
    changes: dict[int, int] = defaultdict(int)
    for m in trace.messages:
        if m.arrived_s is not None:
            changes[_ns(m.posted_s)] += m.n_bytes
            changes[_ns(m.arrived_s)] -= m.n_bytes
    if not changes:
        return
    pid, now = trace.size + 1, 0
    yield _name(pid, "process", "between ranks")
    for at in sorted(changes):
        now += changes[at]
        yield {
            "ph": "C", "pid": pid, "name": "bytes on their way", "ts": _time(at),
            "args": {"bytes": now},
        }  # fmt: skip
