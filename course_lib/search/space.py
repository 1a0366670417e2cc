"""From where the numbers of a trial are drawn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

__all__ = ["Choice", "LogUniform", "Range", "Space", "Uniform"]


class Range(Protocol):
    """What one number is drawn from."""

    def draw(self, rng: np.random.Generator) -> Any:
        """Return a value."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Any number between two, each as likely as the others."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not (-math.inf < self.low <= self.high < math.inf):
            raise ValueError(f"low and high must be finite, in order, got {self.low}, {self.high}")

    def draw(self, rng: np.random.Generator) -> float:
        """Return a number."""
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class LogUniform:
    """Any number between two above 0, each order of magnitude as likely as the others."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not (0 < self.low <= self.high < math.inf):
            raise ValueError(f"low and high must be above 0, in order, got {self.low}, {self.high}")

    def draw(self, rng: np.random.Generator) -> float:
        """Return a number."""
        return float(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: Sequence[Any]

    def __post_init__(self) -> None:
        """Check that there is one."""
        if not isinstance(self.values, Sequence) or isinstance(self.values, str):
            raise TypeError(f"values must be a sequence, such as (16, 32), got {self.values!r}")
        if not self.values:
            raise ValueError("values must hold one at least, got none")

    def draw(self, rng: np.random.Generator) -> Any:
        """Return one of them."""
        return self.values[int(rng.integers(len(self.values)))]


@dataclass(frozen=True)
class Space:
    """What a trial's numbers are drawn from; a trial's are the same whoever draws them, and when.

    Attributes
    ----------
    ranges : mapping of str to Range
        For each number its ``Uniform``, ``LogUniform`` or ``Choice``.
    seed : int, default: 0
        Another one draws other trials.

    Examples
    --------
    >>> space = Space({"width": Choice((16, 32, 64)), "momentum": Uniform(0.0, 0.9)})
    >>> space.draw(5) == space.draw(5) != space.draw(6)
    True
    """

    ranges: Mapping[str, Range] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that there is a range for each name."""
        if not isinstance(self.ranges, Mapping):
            raise TypeError(f"ranges must be a dict of ranges by name, got {self.ranges!r}")
        for name, of in self.ranges.items():
            if not callable(getattr(of, "draw", None)):
                raise TypeError(
                    f"ranges[{name!r}] must be a Uniform, LogUniform or Choice, got {of!r}"
                )

    def draw(self, trial: int) -> dict[str, Any]:
        """Return the numbers of a trial by name."""
        rng = np.random.default_rng([self.seed, trial])
        return {name: of.draw(rng) for name, of in self.ranges.items()}
