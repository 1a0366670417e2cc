"""What was measured: one number of seconds per round, and how far the rounds lie apart."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Key", "Samples", "Spread"]


@dataclass(frozen=True)
class Spread:
    """A median over rounds, with the lowest and the highest round."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, rounds: Iterable[float]) -> "Spread":
        rounds = list(rounds)
        return cls(statistics.median(rounds), min(rounds), max(rounds))

    def as_dict(self) -> dict[str, float]:
        return {name: float(f"{value:.4g}") for name, value in vars(self).items()}


@dataclass(frozen=True, order=True)
class Key:
    """What a number of seconds is about; ``what`` is a number of bytes, "ping" and the like."""

    what: str
    processes: int
    engine: str


class Samples:
    """Seconds by key, one per round; engines of one round belong together.

    ``peak_bytes`` says of some how much memory they took.
    """

    def __init__(self) -> None:
        self.rounds: dict[Key, list[float]] = defaultdict(list)
        self.peak_bytes: dict[Key, list[float]] = defaultdict(list)

    def add(self, key: Key, seconds: Iterable[float]) -> None:
        """Add a round: the median of what was measured in it."""
        self.rounds[key].append(statistics.median(seconds))

    def add_all(self, engine: str, processes: int, measured: Mapping[str, list[float]]) -> None:
        for what, seconds in measured.items():
            self.add(Key(what, processes, engine), seconds)

    def ratio(self, pairs: list[tuple[Key, Key]]) -> Spread:
        """Return first / second of the pairs, the geometric mean if there are several.

        Each round gives one number, so that its median lies between the lowest and the highest.
        """
        n_rounds = min(len(self.rounds[key]) for pair in pairs for key in pair)
        return Spread.of(
            statistics.geometric_mean(
                self.rounds[first][round_] / self.rounds[second][round_] for first, second in pairs
            )
            for round_ in range(n_rounds)
        )

    def as_list(self) -> list[dict[str, Any]]:
        return [vars(key) | Spread.of(self.rounds[key]).as_dict() for key in self.rounds]
