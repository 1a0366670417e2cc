"""How ranks are connected when not all alike: a ring, a torus, hosts, and parts that are slow.

These are descriptions, made once and never changed; ``routes`` builds the links that they describe.
"""

import math
from dataclasses import dataclass
from typing import Any

from course_lib.words.whole import whole

__all__ = ["Ring", "SlowLink", "SlowNic", "Straggler", "Torus", "TwoLevel"]


@dataclass(frozen=True)
class Ring:
    """Only neighbours are connected, rank r with r - 1 and r + 1 (modulo P).

    A message to a rank farther away travels the shorter way round, to the right where both are
    equally long, and occupies every link on its way.
    """


@dataclass(frozen=True)
class Torus:
    """A grid whose rows and columns are rings; rank r stands in row r // columns.

    A message goes along its row first, then along the column, each the shorter way round (to the
    right, or down, where both are equally long), and occupies every link on its way.

    Attributes
    ----------
    rows, columns : int
        How many ranks stand below and beside each other. Where it is 2, the two have one link in
        each direction, not two.

    Raises
    ------
    TypeError, ValueError
        If one of them is no whole number of 1 or more, naming it.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        """Check every number once."""
        whole("rows", self.rows, least=1)
        whole("columns", self.columns, least=1)

    @property
    def size(self) -> int:
        """How many ranks it is for."""
        return self.rows * self.columns


@dataclass(frozen=True)
class TwoLevel:
    """Hosts of ``ranks_per_host`` ranks each; rank r lives on host r // ranks_per_host.

    Inside a host any two ranks are connected alike. What leaves or enters a host goes through its
    uplink, which all its ranks share; an uplink carries both directions at the same time.

    Attributes
    ----------
    ranks_per_host : int
        How many ranks share a host; the last host may have fewer.
    latency_s : float
        Between two hosts, from one rank to another, in seconds.
    bandwidth_bytes_per_s : float
        Of each uplink and direction.

    Raises
    ------
    TypeError, ValueError
        If a number is missing its meaning, naming the argument.
    """

    ranks_per_host: int
    latency_s: float
    bandwidth_bytes_per_s: float

    def __post_init__(self) -> None:
        """Check every number once."""
        whole("ranks_per_host", self.ranks_per_host, least=1)
        duration("latency_s", self.latency_s)
        positive("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s)


@dataclass(frozen=True)
class Straggler:
    """A rank that computes ``factor`` times as long as its ``flops_per_s`` says.

    Attributes
    ----------
    rank : int
        Which.
    factor : float
        Above 0; 2.0 is half as fast.
    """

    rank: int
    factor: float

    def __post_init__(self) -> None:
        """Check every number once."""
        whole("rank", self.rank, least=0)
        finite_factor(self.factor)


@dataclass(frozen=True)
class SlowNic:
    """A rank whose NIC takes ``factor`` times as long for a byte, and for the latency.

    Attributes
    ----------
    rank : int
        Which.
    factor : float
        1 or more.
    """

    rank: int
    factor: float

    def __post_init__(self) -> None:
        """Check every number once."""
        whole("rank", self.rank, least=0)
        finite_factor(self.factor, least=1.0)


@dataclass(frozen=True)
class SlowLink:
    """One direction between two ranks that takes ``factor`` times as long, always or for a while.

    Attributes
    ----------
    src, dst : int
        From which rank to which.
    factor : float
        1 or more.
    from_s, until_s : float
        Messages that leave in this part of virtual time are slow; without an end if infinite.
    """

    src: int
    dst: int
    factor: float
    from_s: float = 0.0
    until_s: float = math.inf

    def __post_init__(self) -> None:
        """Check every number once."""
        pair(self.src, self.dst)
        finite_factor(self.factor, least=1.0)
        interval(self.from_s, self.until_s)

    def is_slow_at(self, time_s: float) -> bool:
        """Say whether a message that leaves at this time is slow."""
        return self.from_s <= time_s < self.until_s


def number(argument: str, value: Any) -> float:
    """Return a number, or raise ``TypeError`` naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{argument} must be a number, got {value!r} ({type(value).__name__})")
    return value


def duration(argument: str, value: Any) -> None:
    """Refuse what is no time of 0 or more."""
    if not (number(argument, value) >= 0 and math.isfinite(value)):
        raise ValueError(f"{argument} must be 0 or more and finite, got {value!r}")


def positive(argument: str, value: Any) -> None:
    """Refuse what is not above 0."""
    if not number(argument, value) > 0:
        raise ValueError(f"{argument} must be above 0, got {value!r}")


def finite_factor(value: Any, least: float = 0.0) -> None:
    """Refuse what is no finite factor: above 0, or at least ``least``."""
    if not (number("factor", value) >= least and value > 0 and math.isfinite(value)):
        bound = f"{least:g} or more" if least else "above 0"
        raise ValueError(f"factor must be {bound} and finite, got {value!r}")


def pair(src: Any, dst: Any) -> None:
    """Refuse what are not two different ranks."""
    whole("src", src, least=0)
    whole("dst", dst, least=0)
    if src == dst:
        raise ValueError(f"dst must be another rank than src, got {dst} for both")


def interval(from_s: Any, until_s: Any) -> None:
    """Refuse what is no interval of time."""
    duration("from_s", from_s)
    if not number("until_s", until_s) > from_s:
        raise ValueError(f"until_s must be above from_s={from_s!r}, got {until_s!r}")
