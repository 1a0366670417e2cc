"""Which collective each rank is in, and what is said when ranks are in different ones.

All ranks of a communicator must call its collectives in the same order. Each counts them, and every
message carries a stamp: the number of the collective that it belongs to, a check sum of the
collective's name and of what all ranks must agree on, and at which of the sender's places it was
called; 0 outside of collectives. A receiver compares one number with its own, so that two
collectives never mix unnoticed, also where their messages would fit. Ranks that wait for each other
because they are in different collectives tell so too: each knows in which it is.

The stamp is one field of the header and one comparison, which cannot be measured in an exchange of
10 microseconds; to make it takes 0.4 microseconds a collective.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from threading import Lock
from types import CodeType, FrameType
from typing import Any, NamedTuple
from zlib import crc32

from course_lib.comm.errors import CollectiveMismatchError
from course_lib.comm.frames import Frame, frames_of_stack, place, user_frame
from course_lib.comm.wait_graph import MOST_LINES, listed, quoted

__all__ = [
    "CHECK_SUM",
    "LAST",
    "NUMBER_AT",
    "ONE",
    "Entered",
    "Site",
    "Sites",
    "apart",
    "differ",
    "entered_with",
    "mismatch",
    "number_of",
    "out_of_step",
    "site_of",
]

NUMBER_AT, _SUM_AT = 40, 16  # bits: 24 for the number, 24 for the check sum, 16 for the place
ONE, LAST = 1 << NUMBER_AT, (1 << 64) - (1 << NUMBER_AT)
_FULL_24 = (1 << 24) - 1
CHECK_SUM = _FULL_24 << _SUM_AT
"""The part of a stamp in which two of different collectives differ, wherever they were called.

The numbers are told, not compared: a rank may have called one more that was refused."""
_UNKNOWN = (1 << _SUM_AT) - 1
_MOST_SITES = 4096


class Site(NamedTuple):
    """A call of a collective in somebody's code."""

    name: str
    agreed: tuple[str, ...]
    """What must be the same on all ranks: ``"op='sum'"``, ``"shape (6,)"``."""
    frame: Frame | None
    """Where it is called."""


class Sites:
    """The places at which a rank has called collectives; messages carry their numbers.

    Attributes
    ----------
    known : list of Site
        By number.
    marks : dict of int
        What the stamps of each have in common: the check sum and the number of the place.
    """

    def __init__(self) -> None:
        self.known: list[Site] = []
        self.marks: dict[tuple[Any, ...], int] = {}
        self._adding = Lock()
        self._codes: list[CodeType] = []  # kept, because the keys are made of their identities

    def add(
        self, key: tuple[Any, ...], name: str, agreed: Iterable[tuple[str, Any]], caller: FrameType
    ) -> int:
        """Note one more place, unless there are too many (shapes without end); return its mark.

        Parameters
        ----------
        key : tuple
            To find the mark in ``marks`` the next time.
        name : str
            The collective.
        agreed : iterable of (str, Any)
            What all ranks must agree on.
        caller : frame
            Where it is called.

        Returns
        -------
        int
            What its stamps have in common.
        """
        said = tuple(_written(*option) for option in agreed)
        check_sum = crc32("|".join((name, *said)).encode()) & _FULL_24 | 1  # a stamp is never 0
        with self._adding:
            if len(self.known) == _MOST_SITES:
                return check_sum << _SUM_AT | _UNKNOWN
            mark = check_sum << _SUM_AT | len(self.known)
            self.known.append(Site(name, said, user_frame(frames_of_stack(caller))))
            self._codes.append(caller.f_code)
            with suppress(TypeError):  # an option that cannot be looked up: a list, for one
                self.marks[key] = mark
            return mark


def _written(name: str, value: Any) -> str:
    if name == "shape":
        return f"shape {tuple(value)}"
    if name == "dtype":
        return f"dtype {str(value).removeprefix('torch.')}"
    return f"{name}={value!r}" if isinstance(value, str) else f"{name}={value}"


def site_of(known: Sequence[Site], stamp: int) -> Site | None:
    """Find the place that a stamp came from among those of its rank."""
    index = stamp & _UNKNOWN
    return known[index] if stamp and index < len(known) else None


def number_of(stamp: int) -> int:
    """Return the number of the collective that a stamp belongs to."""
    return stamp >> NUMBER_AT


def differ(stamp: int, other: int) -> bool:
    """Tell whether two stamps belong to different collectives, wherever they were called."""
    return (stamp ^ other) & CHECK_SUM != 0


class Entered(NamedTuple):
    """The collective that a rank is in, or what it does instead."""

    rank: int
    """In the whole run."""
    comm: str
    number: int | None = None
    """Which of the communicator's collectives it is, from 0; None outside of all."""
    site: Site | None = None
    """None also where nobody knows it any more."""
    instead: str = "no collective"
    """What it does outside of collectives."""
    frame: Frame | None = None
    """Where."""

    @property
    def what(self) -> tuple[Any, ...]:
        """What must be the same on all ranks."""
        if self.number is None:
            return (self.instead,)
        return self.comm, self.number, self.site and self.site[:2]

    def told(self) -> str:
        """Name it: ``broadcast_tree #4``."""
        if self.number is None:
            return self.instead
        on = "" if self.comm == "world" else f" on {quoted(self.comm)}"
        if self.site is None:  # of what it must agree on, too, only the check sum is known
            return f"another collective, or in one with other options, #{self.number}{on}"
        return f"{self.site.name} #{self.number}{on}"

    def line(self) -> str | None:
        """Say where it was called, or None if nobody knows."""
        frame = self.frame if self.site is None else self.site.frame
        if frame is None:
            return None
        what = f"is in {self.told()}" if self.site is None else f"called {self.site.name}"
        return f"  rank {self.rank} {what}, at {place(frame)}"


def entered_with(stamp: int, rank: int, comm: str, known: Sequence[Site]) -> Entered:
    """Say in which collective of ``comm`` a rank is, or was, from a stamp and its places."""
    if not stamp:
        return Entered(rank, comm)
    return Entered(rank, comm, number_of(stamp), site_of(known, stamp))


def apart(entered: Sequence[Entered]) -> bool:
    """Tell whether somebody is in a collective in which not all others are."""
    return any(one.number is not None for one in entered) and len({one.what for one in entered}) > 1


def mismatch(
    entered: Sequence[Entered], *, consequences: Sequence[str] = (), stamp: int = 0
) -> CollectiveMismatchError:
    """Return the error for ranks that are in different collectives.

    Parameters
    ----------
    entered : sequence of Entered
        The ranks, not all of them in the same.
    consequences : sequence of str, default: ()
        A line for every other rank.
    stamp : int, default: 0
        What the message carried that gave it away.

    Returns
    -------
    CollectiveMismatchError
        With each collective, the ranks that are in it, and the lines that called it.
    """
    groups = _groups(entered)
    said = _said(groups, ("is", "are"))
    lines = [line for group in groups for one in group if (line := one.line())]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"  and {len(lines) - MOST_LINES} more ranks"]
    return CollectiveMismatchError(
        "\n".join(
            [
                f"the collectives do not match: {said}" + ":" * bool(lines),
                *lines,
                "all ranks of a communicator must call its collectives in the same order and with "
                "the same options; none may leave one out",
            ]
        ),
        rank=groups[0][0].rank,
        consequences=consequences,
        entered=entered,
        stamp=stamp,
    )


def out_of_step(entered: Sequence[Entered]) -> str:
    """Say in which collective of a communicator each rank was last; nothing if in the same."""
    return _said(_groups(entered), ("was last", "were last")) if apart(entered) else ""


def _groups(entered: Iterable[Entered]) -> list[list[Entered]]:
    """Put those together who are in the same, by rank."""
    groups: dict[tuple[Any, ...], list[Entered]] = {}
    for one in sorted(entered, key=attrgetter("rank")):
        groups.setdefault(one.what, []).append(one)
    return list(groups.values())


def _said(groups: list[list[Entered]], verbs: tuple[str, str]) -> str:
    firsts = [group[0] for group in groups]
    told: list[str] = []
    for group in groups:
        ranks = [one.rank for one in group]
        who = listed(ranks) if len(ranks) > 1 else f"rank {ranks[0]}"
        verb = "" if told else f" {verbs[len(ranks) > 1]}"
        told.append(f"{who}{verb} in {_told(group[0], firsts)}")
    return ", ".join(told)


def _told(one: Entered, firsts: Sequence[Entered]) -> str:
    """Name a collective, with what of its options is not the same in all, if only those differ.

    Where only the other rank knows in which it is, that may be so: then with all of them.
    """
    unknown = any(other.site is None and other.number is not None for other in firsts)
    if one.site is None or (not unknown and len({each.told() for each in firsts}) == len(firsts)):
        return one.told()
    sites = [other.site for other in firsts if other.site]
    shared = set.intersection(*(set(site.agreed) for site in sites)) if not unknown else set()
    own = [option for option in one.site.agreed if option not in shared]
    return f"{one.told()} with {' and '.join(own)}" if own else one.told()
