"""Schedules of faults: what goes wrong in a simulated run, and when, in virtual time.

A schedule is a list of faults, written down or drawn from a seed; the same schedule gives the same
run to the byte. ``run(..., backend="simulated", faults=Faults([Crash(rank=2, at_s=0.1)]))``. An
error of such a run ends with what had gone wrong and the schedule, to be pasted into the next run.

=============  ========================================================================
fault          what happens
=============  ========================================================================
``Crash``      a rank ends in the middle of what it does; it may be started again later
``Drop``       a message leaves its sender and never arrives
``Duplicate``  a message arrives twice, the second time as soon as the links allow
``Delay``      a message is held up on its way
``SlowLink``   one direction between two ranks is slower, for a while or for good
``Partition``  between one group of ranks and the others nothing passes for a while
=============  ========================================================================

**Messages are never reordered.** Between two ranks they arrive first in, first out: what is held up
holds up what comes behind it. So a scheme need not sort, but it may have to count.

**A crash ends the run**, as the death of a real worker does, with ``WorkerKilled``. With
``restart_at_s`` it does not: the rank's function is called again from its start, with the arguments
it had at first. In a run with ``survive=True`` a crash is the loss of a rank, as ``run`` describes
it, ``restart_at_s`` says when that rank is started again, and what follows here does not hold.

**What is lost in a crash** is what was in the rank's memory: what had not been received, and large
messages that still waited for their receive. What had left the rank arrives. While it is down small
messages to it are lost; a large one waits at its sender, until the rank is back and receives it. A
rank that is back may send, receive and meet the others in barriers; ``split`` and ``start`` belong
to its former life and are refused.
"""

import math
import random
from collections.abc import Iterable
from typing import Any

from course_lib.comm.simulated.fault_events import (
    Crash,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Partition,
)
from course_lib.comm.simulated.topologies import SlowLink, number
from course_lib.words.whole import whole

__all__ = ["Crash", "Delay", "Drop", "Duplicate", "Faults", "Partition", "SlowLink", "schedule"]

_MOST_EVENTS = 100_000  # of a kind that are drawn


class Faults:
    """A schedule of faults.

    Parameters
    ----------
    events : iterable of Crash, Drop, Duplicate, Delay, SlowLink or Partition
        What goes wrong; the order does not matter.

    Attributes
    ----------
    events : tuple
        What goes wrong.

    Examples
    --------
    >>> Faults([Crash(rank=2, at_s=0.1)])
    Faults([Crash(rank=2, at_s=0.1, restart_at_s=None)])
    """

    def __init__(self, events: Iterable[Fault]) -> None:
        if not isinstance(events, Iterable):
            raise TypeError(
                f"events must be a list of faults, got {events!r} ({type(events).__name__})"
            )
        self.events = tuple(events)
        for event in self.events:
            if not isinstance(event, Fault):
                raise TypeError(
                    "events must be Crash, Drop, Duplicate, Delay, SlowLink or Partition, "
                    f"got {event!r} ({type(event).__name__})"
                )
        self._check_lives()

    def _check_lives(self) -> None:
        """Refuse a crash of a rank that is already down."""
        crashes = [event for event in self.events if isinstance(event, Crash)]
        for first in crashes:
            back_s = math.inf if first.restart_at_s is None else first.restart_at_s
            for second in crashes:
                if (
                    second is not first
                    and second.rank == first.rank
                    and (first.at_s <= second.at_s < back_s)
                ):
                    raise ValueError(f"events must not have {second} while {first} has it down")

    def check(self, workers: int) -> None:
        """Refuse ranks that a run does not have.

        Parameters
        ----------
        workers : int
            How many ranks it has.

        Raises
        ------
        ValueError
            Naming the event.
        """
        for event in self.events:
            if isinstance(event, Partition):
                ranks = event.group
            else:
                ranks = (event.rank,) if isinstance(event, Crash) else (event.src, event.dst)
            if max(ranks) >= workers:
                raise ValueError(
                    f"faults has {event}, but workers={workers}: there is no rank {max(ranks)}"
                )

    def __eq__(self, other: object) -> bool:
        """Compare the events."""
        return self.events == other.events if isinstance(other, Faults) else NotImplemented

    def __hash__(self) -> int:
        """Agree with ``==``."""
        return hash(self.events)

    def __repr__(self) -> str:
        """Write it as it can be pasted into a program."""
        return f"Faults([{', '.join(map(repr, self.events))}])"


def schedule(
    seed: int,
    workers: int,
    *,
    within_s: float,
    first: int = 10,
    crash: int = 0,
    restart: int = 0,
    slow_link: int = 0,
    drop: int = 0,
    duplicate: int = 0,
    delay: int = 0,
    partition: int = 0,
) -> Faults:
    """Draw a schedule of faults; the same arguments give the same one, everywhere.

    Parameters
    ----------
    seed : int
        Of the drawing.
    workers : int
        How many ranks the run has.
    within_s : float
        Times are drawn from 0 to this; take about what the run lasts without faults.
    first : int, default: 10
        Messages are drawn from the first so many between two ranks.
    crash, restart : int, default: 0
        How many ranks crash for good, and how many come back; each another rank.
    slow_link, drop, duplicate, delay, partition : int, default: 0
        How many of each.

    Returns
    -------
    Faults
        With as many events as were asked for.

    Raises
    ------
    TypeError, ValueError
        If an argument is unusable, or there are not as many ranks as shall crash.

    Examples
    --------
    >>> schedule(seed=7, workers=4, within_s=1.0, drop=1)
    Faults([Drop(src=1, dst=0, nth=7)])
    """
    counts = {
        "crash": crash, "restart": restart, "slow_link": slow_link, "drop": drop,
        "duplicate": duplicate, "delay": delay, "partition": partition,
    }  # fmt: skip
    whole("seed", seed, least=0)
    for name, count in counts.items():
        whole(name, count, 0, _MOST_EVENTS)
    whole("first", first, least=1)
    whole("workers", workers, least=1)
    if not (number("within_s", within_s) > 0 and math.isfinite(within_s)):
        raise ValueError(f"within_s must be above 0 and finite, got {within_s!r}")
    if crash + restart > workers:
        raise ValueError(f"crash and restart must be at most workers={workers} together")
    if workers < 2 and sum(counts.values()) > crash + restart:
        raise ValueError("workers must be 2 or more for faults between two ranks")
    draw = _Drawing(seed, workers, within_s, first)
    victims = draw.some(workers, crash + restart)
    events: list[Any] = [Crash(rank, draw.interval()[0]) for rank in victims[:crash]]
    events += [Crash(rank, *draw.interval()) for rank in victims[crash:]]
    events += [
        SlowLink(*draw.pair(), float(2 + draw.below(19)), *draw.interval())
        for _ in range(slow_link)
    ]
    events += [Drop(*draw.pair(), draw.nth()) for _ in range(drop)]
    events += [Duplicate(*draw.pair(), draw.nth()) for _ in range(duplicate)]
    events += [Delay(*draw.pair(), draw.nth(), draw.interval()[1]) for _ in range(delay)]
    events += [Partition(draw.group(), *draw.interval()) for _ in range(partition)]
    return Faults(events)


class _Drawing:
    """What is drawn from a seed, by ``random()`` alone.

    Of its generator Python promises no more than that this method stays the same.
    """

    def __init__(self, seed: int, workers: int, within_s: float, first: int) -> None:
        self._random = random.Random(seed)
        self._workers = workers
        self._within_s = within_s
        self._first = first

    def below(self, limit: int) -> int:
        """Draw a number from 0 to below the limit."""
        return int(self._random.random() * limit)

    def some(self, limit: int, count: int) -> list[int]:
        """Draw so many different numbers below the limit."""
        left = list(range(limit))
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def interval(self) -> tuple[float, float]:
        """Draw two times, of three digits so that a schedule can be read."""
        begin, end = sorted(self.some(999, 2))
        return (begin + 1) * self._within_s / 1000, (end + 1) * self._within_s / 1000

    def pair(self) -> tuple[int, int]:
        """Draw two different ranks."""
        src, dst = self.some(self._workers, 2)
        return src, dst

    def nth(self) -> int:
        """Draw which message."""
        return 1 + self.below(self._first)

    def group(self) -> tuple[int, ...]:
        """Draw some ranks, not all."""
        return tuple(sorted(self.some(self._workers, 1 + self.below(self._workers - 1))))
