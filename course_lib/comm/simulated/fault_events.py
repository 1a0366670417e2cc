"""The single faults that a schedule is made of; ``faults`` says what they do."""

import math
from dataclasses import dataclass

from course_lib.comm.simulated.topologies import SlowLink, duration, interval, pair
from course_lib.words.whole import whole

__all__ = ["Crash", "Delay", "Drop", "Duplicate", "Fault", "Partition"]


@dataclass(frozen=True)
class Crash:
    """A rank ends at a moment, wherever it is then; one that has returned is not harmed.

    Attributes
    ----------
    rank : int
        Which.
    at_s : float
        When.
    restart_at_s : float or None
        When it is started anew; None for never.
    """

    rank: int
    at_s: float
    restart_at_s: float | None = None

    def __post_init__(self) -> None:
        """Check every number once."""
        whole("rank", self.rank, least=0)
        duration("at_s", self.at_s)
        if self.restart_at_s is not None:
            duration("restart_at_s", self.restart_at_s)
            if self.restart_at_s <= self.at_s:
                raise ValueError(
                    f"restart_at_s must be above at_s={self.at_s!r}, got {self.restart_at_s!r}"
                )


@dataclass(frozen=True)
class Drop:
    """A message that never arrives; its sender does not learn of it, however large it is.

    Attributes
    ----------
    src, dst : int
        From which rank to which.
    nth : int
        Which of their messages, counted from 1 in the order in which they are sent.
    """

    src: int
    dst: int
    nth: int

    def __post_init__(self) -> None:
        """Check every number once."""
        pair(self.src, self.dst)
        whole("nth", self.nth, least=1)


@dataclass(frozen=True)
class Duplicate:
    """A message that arrives twice, one right after the other.

    Attributes
    ----------
    src, dst : int
        From which rank to which.
    nth : int
        Which of their messages, counted from 1 in the order in which they are sent.
    """

    src: int
    dst: int
    nth: int

    def __post_init__(self) -> None:
        """Check every number once."""
        pair(self.src, self.dst)
        whole("nth", self.nth, least=1)


@dataclass(frozen=True)
class Delay:
    """A message that is held up, and with it what comes behind it from the same rank.

    Attributes
    ----------
    src, dst : int
        From which rank to which.
    nth : int
        Which of their messages, counted from 1 in the order in which they are sent.
    by_s : float
        For how long.
    """

    src: int
    dst: int
    nth: int
    by_s: float

    def __post_init__(self) -> None:
        """Check every number once."""
        pair(self.src, self.dst)
        whole("nth", self.nth, least=1)
        duration("by_s", self.by_s)


@dataclass(frozen=True)
class Partition:
    """Nothing passes between a group of ranks and all others, in either direction.

    Messages that leave in this time are held back until it is over, as by a network that tries
    again. With ``drops=True`` those that are sent in this time are lost.

    Attributes
    ----------
    group : tuple of int
        The ranks on one side.
    from_s, until_s : float
        From when to when.
    drops : bool
        Whether messages are lost.
    """

    group: tuple[int, ...]
    from_s: float
    until_s: float
    drops: bool = False

    def __post_init__(self) -> None:
        """Check every number once."""
        if not isinstance(self.group, tuple) or not self.group:
            raise TypeError(f"group must be a tuple of at least one rank, got {self.group!r}")
        for rank in self.group:
            whole("group", rank, least=0)
        interval(self.from_s, self.until_s)
        if math.isinf(self.until_s) and not self.drops:
            raise ValueError("until_s must be finite for messages that are to arrive after it")

    def is_between(self, src: int, dst: int, time_s: float) -> bool:
        """Say whether it parts these two ranks at this time."""
        return self.from_s <= time_s < self.until_s and (src in self.group) != (dst in self.group)


Fault = Crash | Drop | Duplicate | Delay | SlowLink | Partition
"""Any of them."""
