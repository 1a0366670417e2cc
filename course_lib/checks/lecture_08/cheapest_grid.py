"""Replicas times splits: the grid of ranks that sends least."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.lecture_06.answers import ChoiceTask, Wrong
from course_lib.planning.sized_bytes import equal_layers, grids, pairs_bytes, ring_bytes
from course_lib.planning.sized_steps import SizedStep

Sent = Callable[[int], float]
"""From splits, k, to what a rank sends."""


class CheapestGrid(ChoiceTask):
    """Four layers in two pairs, on P ranks."""

    name = "cheapest_grid"
    title = "Choose the grid, replicas times splits, with which a rank sends least."
    questions = ("ranks", "width", "examples")
    forbidden = (*ChoiceTask.forbidden, "course_lib.lectures", "course_lib.planning")
    rounding_terms = 1 << 6
    other_number = (
        "write both sums down for 1 split, for P splits and for one between; {name} belongs to the "
        "smallest total"
    )

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin where a grid between the two extremes is best."""
        return ((16, 256, 2048), (8, 512, 256), (8, 256, 4096), (12, 1024, 6144), (1, 64, 32),
                (4, 128, 768))  # fmt: skip

    def _unforeseen(self, secret: int) -> Iterator[tuple[int, ...]]:
        rng = np.random.default_rng([secret, 85])
        for _ in range(4):
            P = int(rng.choice([4, 6, 8, 12, 16]))
            yield P, int(rng.integers(32, 1024)), P * int(rng.integers(4, 400))

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Try every grid."""
        P, width, examples = numbers
        step = SizedStep(equal_layers(width), examples)
        return _least(P, lambda k: sum(pairs_bytes(step, P // k, k).values()))

    def given(self, choice: int, *numbers: int) -> dict[str, Any] | None:
        """Take any grid that sends as little as the best."""
        P, width, examples = numbers
        if choice < 1 or P % choice:
            return None
        step, best = SizedStep(equal_layers(width), examples), self.measure(*numbers)
        n_bytes = sum(pairs_bytes(step, P // choice, choice).values())
        is_best = n_bytes <= best["n_bytes"] * (1 + 1e-12)
        return {"splits": choice, "n_bytes": n_bytes} if is_best else None

    def wrong_answers(self, *numbers: int) -> Sequence[Wrong]:
        """Know the usual mistakes."""
        P, w, examples = numbers

        def sent(k: int, m: float | None = None, of: float | None = None, exchanges: int = 3,
                 biases: int = 1, gradients: float = 1.0) -> float:  # fmt: skip
            replicas = P // k
            n = 4 * (w * w + biases * w) / (k if of is None else of)
            own = examples / replicas if m is None else m
            return 4 * (gradients * ring_bytes(replicas, n) + exchanges * ring_bytes(k, own * w))

        right: Sent = sent
        answer = self.measure(*numbers)
        known: list[Wrong] = [
            *_extremes(P, right, answer["splits"]),
            ("per-rank-examples", "ranks of one replica all take its examples: examples / "
             "replicas, not / ranks", _least(P, lambda k: sent(k, m=examples / P))),
            ("first-slope", "nobody needs the slope in the examples: the first pair has none to "
             "add up", _least(P, lambda k: sent(k, exchanges=4))),
            ("forward-only", "slopes are added up, too, on the way back to the first pair",
             _least(P, lambda k: sent(k, exchanges=2))),
            ("no-biases", "biases are parameters, too: width * width + width a layer",
             _least(P, lambda k: sent(k, biases=0))),
            ("one-half", "a ring all-reduce has two halves", _least(P, lambda k: sent(k) / 2)),
            ("numbers", "bytes are asked for: 4 for each number", _least(P, lambda k: sent(k) / 4)),
            ("eight-bytes", "these numbers have 4 bytes", _least(P, lambda k: sent(k) * 2)),
            ("no-activations", "activations cost, too, where a replica has several ranks",
             _least(P, lambda k: sent(k, exchanges=0))),
            ("replicas", "that is the number of replicas: splits are asked for",
             _replicas(P, right)),
        ]  # fmt: skip
        return [wrong for wrong in known if wrong[2] != answer] or known  # one rank: all alike


def _extremes(P: int, sent: Sent, best: int) -> Sequence[Wrong]:
    """List data parallelism and one replica, as far as they are not the cheapest."""
    between = (
        "a grid between data parallelism and one replica sends less: try every k that divides "
        "P, with a k-th of the gradients on a rank, and a part of the examples in a replica"
    )
    if 1 < best < P:
        return [("extremes-only", between, _at(k, sent)) for k in (1, P)]
    return [
        ("data-always", "data parallelism is the cheapest only where there are many examples",
         _at(1, sent)),
        ("split-always", "one replica is the cheapest only where there are few examples",
         _at(P, sent)),
    ]  # fmt: skip


def _at(k: int, sent: Sent) -> dict[str, Any]:
    return {"splits": k, "n_bytes": float(sent(k))}


def _least(P: int, sent: Sent, among: Sequence[int] = ()) -> dict[str, Any]:
    return _at(min(among or [k for _, k in grids(P)], key=sent), sent)


def _replicas(P: int, sent: Sent) -> dict[str, Any]:
    best = _least(P, sent)
    return {"splits": P // best["splits"], "n_bytes": best["n_bytes"]}


TASK = CheapestGrid()
