"""What ranks have noted: a gradient that was old, an update that was lost, the sum they hold."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from course_lib.viz.animation.subsample import pick

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Mark", "Saying", "ages_of", "make_marks", "telling_first"]


class Saying(NamedTuple):
    """What a mark says: ``short`` beside a rank's box, ``long`` in the caption."""

    short: str
    long: str


class Mark(NamedTuple):
    """From ``tick`` on a rank's last note is ``saying``, an index; -1 where it is nothing special.

    A saying is an index into ``Scene.sayings``.
    """

    rank: int
    tick: int
    saying: int


_SAYINGS = {
    "staleness": ("{:g} old", "has taken a gradient {:g} update{} old"),
    "lost_update": ("{:g} lost", "has overwritten {:g} update{} of a parameter"),
    "lost_updates": ("{:g} lost", "has lost {:g} update{} in all"),
    "dropped": ("{:g} dropped", "has left out {:g} gradient{}"),
    "holds": ("{:g}", "holds {:g}"),
}

_TELLING = re.compile(r"(\d+) (?:old|lost|dropped)")


def make_marks(trace: "Trace", tick_s: float, most: int) -> tuple[list[Mark], list[Saying]]:
    """Make marks of those notes whose names and numbers have a meaning that all schemes share.

    Parameters
    ----------
    trace : Trace
        What happened.
    tick_s : float
        The length of a tick, in seconds.
    most : int
        How many marks at most.

    Returns
    -------
    marks : list of Mark
        In order of time; none for a rank that has nothing to say, and none twice.
    sayings : list of Saying
        What they say.
    """
    said: dict[tuple[int, int], list[Saying]] = {}
    for note in trace.notes:
        if note.name in _SAYINGS and isinstance(note.value, int | float):
            told = said.setdefault((round(note.time_s / tick_s), note.rank), [])
            if note.value >= 1 or note.name == "holds":
                short, long = _SAYINGS[note.name]
                s = "" if note.value == 1 else "s"
                told.append(Saying(short.format(note.value), long.format(note.value, s)))
    numbers: dict[Saying, int] = {}
    marks, last = [], dict.fromkeys(range(trace.size), -1)
    for (tick, rank), told in sorted(said.items()):
        joined = Saying(", ".join(t.short for t in told), " and ".join(t.long for t in told))
        number = numbers.setdefault(joined, len(numbers)) if told else -1
        if number >= 0 or last[rank] >= 0:
            marks.append(Mark(rank, tick, number))
        last[rank] = number
    return list(pick(marks, most)), list(numbers)


def telling_first(marks: Sequence[Mark], sayings: Sequence[Saying]) -> list[tuple[int, Mark]]:
    """Order marks by what must be read where names compete: the oldest gradient, the most lost.

    Parameters
    ----------
    marks : sequence of Mark
        In order of time.
    sayings : sequence of Saying
        What they say.

    Returns
    -------
    list of (int, Mark)
        How much each has that is old, lost or dropped, 0 for a sum that is held; the most first,
        of equals the last. Marks that say nothing are left out.
    """
    found = [
        (max(map(int, _TELLING.findall(sayings[mark.saying].short)), default=0), mark)
        for mark in reversed(marks)
        if mark.saying >= 0
    ]
    return sorted(found, key=lambda each: -each[0])


def ages_of(trace: "Trace") -> dict[int, int]:
    """Find the messages whose gradients were old when they were taken.

    Parameters
    ----------
    trace : Trace
        What happened. A note ``"staleness"`` is about what its rank has received last.

    Returns
    -------
    dict of int to int
        How old, 1 or more, by the message's number.
    """
    events = [
        (note.time_s, 1, note.rank, note.value)
        for note in trace.notes_named("staleness")
        if isinstance(note.value, int) and note.value >= 1
    ]
    for number, message in enumerate(trace.messages):
        if message.received_s is not None:
            events.append((message.received_s, 0, message.dst, number))
    last: dict[int, int] = {}
    ages: dict[int, int] = {}
    for _, is_note, rank, number_or_age in sorted(events):
        if not is_note:
            last[rank] = number_or_age
        elif rank in last:
            ages[last[rank]] = number_or_age
    return ages
