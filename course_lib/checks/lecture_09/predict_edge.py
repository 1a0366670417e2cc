"""What asynchrony does to the rate and to the momentum, predicted and measured."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.costs.asynchrony import mean_square_edge

__all__ = ["TASK"]


class PredictEdge(PredictTask):
    """Mean staleness and largest rate of equal times, momentum of random ones."""

    name = "predict_edge"
    title = "Predict what P replicas do to rate and momentum, then measure it."
    questions = ("n_replicas", "curvature")
    rounding_terms = 2**24  # an edge is found by bisection
    other_number = "work {name} out for 1 and 2 replicas: it is the same as in the lecture's text"

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with the lecture's four replicas."""
        return (4, 1), (1, 1), (2, 5), (3, 2), (8, 4), (6, 10)

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Run four rounds of it, and find the edge and the momentum of what was seen."""
        n_replicas, curvature = numbers
        age = _age(n_replicas)
        return {
            "mean_staleness": age,
            "largest_rate": _edge(age) / curvature,
            "momentum": _momentum(n_replicas),
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        P, curvature = numbers
        angle = math.pi / (4 * P - 2)
        fresh = "this is the rate for fresh gradients"
        summed = "this is the edge of P gradients that are added up; here they come one by one"
        delay = "the delay is P - 1: the angle is pi / (2 (2 (P - 1) + 1))"
        return {
            "mean_staleness": [
                ("counts-itself", "its own update does not come between", P),
                ("own-fetch", "half of that is right where all fetch for themselves at once; here "
                 "a push returns the next parameters", (P - 1) / 2),
                ("fresh", "nobody waits for the others, so they push meanwhile", 0),
            ],
            "largest_rate": [
                ("no-curvature", "divide by the curvature", 2 * math.sin(angle)),
                ("no-curvature", "divide by the curvature, do not multiply",
                 2 * math.sin(angle) * curvature),
                ("fresh", fresh, 2 / curvature),
                ("summed", summed, 2 / P / curvature),
                ("summed", summed, 1 / P / curvature),
                ("approximation", "pi / (2 P) is what it comes near to for many replicas",
                 math.pi / (2 * P) / curvature),
                ("no-two", "twice the sine: the length of a chord", math.sin(angle) / curvature),
                ("degrees", "the sine takes radians: pi is half a turn",
                 2 * math.sin(180 / (4 * P - 2)) / curvature),
                ("delay", delay, 2 * math.sin(math.pi / (4 * P + 2)) / curvature),
                ("delay", delay, 2 * math.sin(math.pi / (4 * P)) / curvature),
                ("random-times", "this is the edge of random times; here all take equally long",
                 mean_square_edge(P) / curvature),
            ],
            "momentum": [
                ("one-minus", "this is how much of a gradient step is taken; the rest of 1 is the "
                 "momentum", 1 / P),
                ("counts-others", "one replica alone has none: 1 - 1 / P", 1 - 1 / (P + 1)),
                ("counts-others", "with two replicas it is a half", (P - 1) / (P + 1)),
                ("no-momentum", "nobody has asked for it, but it is there", 0.0),
            ],
        }  # fmt: skip


@cache
def _age(n_replicas: int) -> int:
    """Run Downpour with equal times; return how old each gradient is once all have pushed."""
    from course_lib.lectures.lecture_09 import RETURNED, ages, on_bowl, pace

    found = ages(on_bowl(RETURNED, n_replicas, 4 * n_replicas, pace(n_replicas)).trace)
    (age,) = set(found[n_replicas:])
    return age


@cache
def _edge(age: int) -> float:
    """Find the rate from which on ``w[t + 1] = w[t] - rate * w[t - age]`` grows, by bisection."""
    stays, leaves = 0.0, 2.5
    while leaves - stays > 1e-13:
        middle = (stays + leaves) / 2
        polynomial = np.zeros(age + 2)
        polynomial[:2] = 1.0, -1.0
        polynomial[-1] += middle
        grows = np.abs(np.roots(polynomial)).max() > 1
        stays, leaves = (stays, middle) if grows else (middle, leaves)
    return stays


@cache
def _momentum(n_replicas: int, rate: float = 0.3) -> float:
    """Find which part of the mean step is the mean step before, where anybody may push next."""
    w, read = [1.0], 0.5  # means: of the parameter, and of what replicas have read
    for _ in range(12):
        w.append(w[-1] - rate * read)
        read += (w[-1] - read) / n_replicas
    steps, places = np.diff(w), np.array(w)[1:-1]
    found = np.linalg.lstsq(np.stack([steps[:-1], places], 1), steps[1:], rcond=None)[0]
    return round(float(found[0]), 12)


TASK = PredictEdge()
