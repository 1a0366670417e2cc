"""The best rate and momentum of a grid that grows where its best lies at an end."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["MOMENTA", "RATES", "Grid", "middle", "place", "searched"]

RATES = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
MOMENTA = (-0.5, 0.0, 0.5, 0.9)
MOST_WIDENINGS = 6

Point = tuple[float, float]


@dataclass(frozen=True)
class Grid:
    """What was found at each rate and momentum, and where it is best.

    ``is_inside``: the best has neighbours on both sides.
    """

    points: dict[Point, dict[str, Any]]
    best: Point
    is_inside: bool


def place(found: dict[str, Any]) -> tuple[float, float]:
    """Order findings: seconds to the target; else the loss at the end; what diverged comes last."""
    loss = math.inf if found["is_diverged"] else found["loss"]
    return found.get("seconds", math.inf), loss


def middle(found: Sequence[dict[str, Any]], n_seeds: int) -> dict[str, Any]:
    """Return the finding in the middle of all seeds; those that were not tried count as last."""
    return sorted(found, key=place)[n_seeds // 2]


def searched(
    measure: Callable[[float, float], dict[str, Any]],
    rates: tuple[float, ...] = RATES,
    momenta: tuple[float, ...] = MOMENTA,
    most_widenings: int = MOST_WIDENINGS,
) -> Grid:
    """Measure a grid; while its best is at an end, go on there: twice or half the rate, or half as
    far from a momentum of 1, or of -1.
    """
    points: dict[Point, dict[str, Any]] = {}
    for _ in range(1 + most_widenings):
        for point in ((rate, momentum) for momentum in momenta for rate in rates):
            if point not in points:
                points[point] = measure(*point)
        best = min(points, key=lambda point: place(points[point]))
        rate, momentum = best
        known = rates, momenta
        if rate == max(rates):
            rates = (*rates, 2 * rate)
        elif rate == min(rates):
            rates = (rate / 2, *rates)
        if momentum == max(momenta):
            momenta = (*momenta, (1 + momentum) / 2)
        elif momentum == min(momenta):
            momenta = ((momentum - 1) / 2, *momenta)
        if (rates, momenta) == known:
            return Grid(points, best, is_inside=True)
    return Grid(points, best, is_inside=False)
