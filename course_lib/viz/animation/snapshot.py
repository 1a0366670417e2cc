"""What is where at a time: the one function that the still pictures and the tests ask.

The player's JavaScript does the same few lines of arithmetic on the same table; a test compares the
two. Between two neighbouring ``boundaries`` nothing begins or ends, so there everything moves along
straight lines and the caption stays as it is.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from course_lib.viz.animation.captions import caption, down, tag_words
from course_lib.viz.animation.scene import Doing, Flight, Scene, Span

__all__ = ["Moment", "Token", "Worker", "boundaries", "steps", "telling_moments", "what_is_where"]

_FEW = 3  # moments besides the end that a run with buffers is told in, if it has as many


class Worker(NamedTuple):
    """One rank at a moment.

    ``state``: "compute", "wait", "send", "failed" or "" (idle). ``word``: what stands in its box.
    ``progress``: how much of a compute span is done, 0 to 1. ``doing``: its index, or -1.
    ``cells``: how many contributions it holds in each cell, less than 0 for something wrong.
    ``said``: which of the scene's sayings its last mark is, or -1.
    """

    rank: int
    state: str
    word: str
    progress: float
    doing: int
    cells: tuple[int, ...] = ()
    said: int = -1


class Token(NamedTuple):
    """One message at a moment: ``position`` on its edge is 0 at ``src`` and 1 at ``dst``.

    ``number``: which of the scene's messages. ``state``: "moving", "arrived" (not yet
    received) or "lost" (nobody will receive it). ``load``: how many contributions it carries, in
    words. ``who``: whose.
    """

    number: int
    src: int
    dst: int
    position: float
    state: str
    label: str
    size: str
    load: str = ""
    who: str = ""


class Moment(NamedTuple):
    """Everything at one time."""

    time_s: float
    workers: list[Worker]
    tokens: list[Token]
    caption: str


def what_is_where(scene: Scene, time_s: float) -> Moment:
    """Say what every rank does and where every message is.

    Parameters
    ----------
    scene : Scene
        A trace on a layout.
    time_s : float
        Seconds since the run began; times outside the run mean its beginning or its end.

    Returns
    -------
    Moment
        Workers by rank; tokens in the order the messages were posted; the caption.
    """
    # A millionth of a tick is rounding: 1.0 / 1e-5 falls short of 100,000.
    tick = min(max(round(time_s / scene.tick_s, 6), 0.0), float(scene.end))
    tokens = list(_tokens(scene, tick))
    workers = _workers(scene, tick, {token.src for token in tokens if token.state == "moving"})
    return Moment(tick * scene.tick_s, workers, tokens, caption(scene, tick, workers, tokens))


def boundaries(scene: Scene) -> list[int]:
    """List the ticks at which something begins or ends, in order, with 0 and the end.

    Two that are at most two ticks apart count as one: that is rounding.
    """
    found = {0, scene.end}
    for flight in scene.messages:
        found.update((flight.posted, flight.arrived, flight.received))
    for span in scene.spans:
        found.update((span.start, span.end))
    found.update(fill.tick for fill in scene.fills)
    found.update(tick for _, tick, _ in scene.faults)
    found.update(mark.tick for mark in scene.marks)
    kept = [0]
    for tick in sorted(found - {-1}):
        if tick - kept[-1] > 2:
            kept.append(tick)
    return kept


def steps(scene: Scene) -> list[float]:
    """List the times, in seconds, that the step keys go to: one between any two boundaries."""
    return [(a + b) / 2 * scene.tick_s for a, b in pairwise(boundaries(scene))]


def telling_moments(scene: Scene, count: int = 6) -> list[float]:
    """Choose a few times that tell what a run is about.

    Again and again that time is taken at which the most goes on that has not been seen yet, until
    every kind of message and every computation has been seen; of these times ``count`` are kept,
    evenly. The end of a run that went wrong, or in which buffers were watched, is one of them.

    Parameters
    ----------
    scene : Scene
        A trace on a layout.
    count : int, default: 6
        How many times at most.

    Returns
    -------
    list of float
        Times in seconds, in order; the end for a run in which nothing happened.
    """
    runs = _runs(scene)
    unseen: set[tuple[int, ...]] = set().union(*(keys for _, _, keys in runs))
    telling = []
    while unseen:
        start, end, keys = max(
            runs, key=lambda run: (len(run[2] & unseen), run[1] - run[0], -run[0])
        )
        telling.append((start + end) / 2 * scene.tick_s)
        unseen -= keys
    if scene.goals:
        _add_evenly(telling, [(a + b) / 2 * scene.tick_s for a, b, _ in runs], min(_FEW, count - 1))
    telling.sort()
    lost = any(message.arrived < 0 for message in scene.messages)
    if not telling or scene.faults or scene.goals or lost:
        telling.append(scene.end_s)  # how it ended is what has to be told
    if len(telling) > count:
        last = len(telling) - 1
        telling = [telling[round(k * last / max(count - 1, 1))] for k in range(count)]
    return telling


def _add_evenly(telling: list[float], others: list[float], count: int) -> None:
    """Add times, each as far from those before as there is, until there are ``count``."""
    while telling and len(telling) < count:
        gap, farthest = max((min(abs(t - told) for told in telling), t) for t in others)
        if gap == 0:
            return
        telling.append(farthest)


def _runs(scene: Scene) -> list[tuple[int, int, frozenset[tuple[int, ...]]]]:
    """List the stretches in which the same moves and is computed: first tick, last tick, what."""
    runs: list[tuple[int, int, frozenset[tuple[int, ...]]]] = []
    for (start, end), keys in zip(
        pairwise(boundaries(scene)), _going_on(scene, steps(scene)), strict=True
    ):
        if runs and runs[-1][2] == keys:
            start = runs.pop()[0]
        runs.append((start, end, keys))
    return runs


def _going_on(scene: Scene, times: list[float]) -> list[frozenset[tuple[int, ...]]]:
    """List what moves and what is computed at each time."""
    found: list[set[tuple[int, ...]]] = [set() for _ in times]
    ticks = [time_s / scene.tick_s for time_s in times]
    events: list[tuple[int, int, tuple[int, ...]]]
    events = [
        (f.posted, f.arrived, (f.src, f.dst, f.label, f.size, f.load)) for f in scene.messages
    ]
    events += [
        (s.start, s.end, (s.rank, s.doing))
        for s in scene.spans
        if scene.doings[s.doing].kind == "compute"
    ]
    until = dict.fromkeys(range(scene.size), scene.end)
    for mark in reversed(scene.marks):
        if mark.saying >= 0:
            events.append((mark.tick, until[mark.rank], (mark.rank, mark.saying, -1)))
        until[mark.rank] = mark.tick
    for start, end, key in events:
        for index in range(bisect_left(ticks, start), bisect_left(ticks, end)):
            found[index].add(key)
    return [frozenset(keys) for keys in found]


def _tokens(scene: Scene, tick: float) -> Iterator[Token]:
    for index, flight in enumerate(scene.messages):
        if flight.posted > tick:
            return
        if flight.arrived < 0:
            yield _token(scene, index, flight, 0.5, "lost")
        elif tick < flight.arrived:
            position = (tick - flight.posted) / (flight.arrived - flight.posted)
            yield _token(scene, index, flight, position, "moving")
        elif tick < flight.received:
            yield _token(scene, index, flight, 1.0, "arrived")


def _token(scene: Scene, index: int, flight: Flight, position: float, state: str) -> Token:
    label = tag_words(scene.labels[flight.label].tag, scene.called)
    load, who = scene.loads[flight.load] if flight.load >= 0 else ("", "")
    size = scene.sizes[flight.size][0]
    return Token(index, flight.src, flight.dst, position, state, label, size, load, who)


def _workers(scene: Scene, tick: float, sending: set[int]) -> list[Worker]:
    workers = [
        Worker(rank, *(("send", "sends") if rank in sending else ("", "")), 0.0, -1)
        for rank in range(scene.size)
    ]
    for span in scene.spans:
        if span.start > tick:
            break
        if tick < span.end and workers[span.rank].state != "compute":
            workers[span.rank] = _busy(span, scene.doings[span.doing], tick)
    for rank in down(scene, tick):
        workers[rank] = Worker(rank, "failed", "failed", 0.0, -1)
    said = {mark.rank: mark.saying for mark in scene.marks if mark.tick <= tick}
    workers = [worker._replace(said=said.get(worker.rank, -1)) for worker in workers]
    if not scene.goals:
        return workers
    held = [list(levels) for levels in scene.held]
    for fill in scene.fills:
        if fill.tick > tick:
            break
        held[fill.rank][fill.cell] = fill.level
    return [worker._replace(cells=tuple(held[worker.rank])) for worker in workers]


def _busy(span: Span, doing: Doing, tick: float) -> Worker:
    progress = (tick - span.start) / (span.end - span.start) if doing.kind == "compute" else 0.0
    return Worker(span.rank, doing.kind, doing.word, progress, span.doing)
