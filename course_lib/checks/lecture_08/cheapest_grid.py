"""Replicas times splits: the grid of ranks that sends least."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.lecture_06.answers import ChoiceTask, Wrong
from course_lib.planning.sized_bytes import equal_layers, grids, pairs_bytes, ring_bytes
from course_lib.planning.sized_steps import SizedStep

Sent = Callable[[int], float]
"""From splits, k, to what a rank sends."""

_EVERY = (
    "every K that divides P makes a grid, not only powers of two or even ones: of 24 ranks also 3, "
    "6 and 12, of 15 also 5"
)


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
        """Begin where a grid between the two extremes is best.

        From the seventh on the best K is no power of two: 6, 3, 9, 5, 10, 24 and 3. The sum falls
        until K**2 = 4 (width + 1) P / (3 examples), and rises from there: the divisor below that
        root is not always the best, nor the one above, nor the nearest.
        """
        return (
            (16, 256, 2048), (8, 512, 256), (8, 256, 4096), (12, 1024, 6144), (1, 64, 32),
            (4, 128, 768), (24, 1024, 816), (9, 256, 144), (18, 1024, 306), (15, 512, 210),
            (20, 799, 400), (24, 918, 96), (6, 96, 84),
        )  # fmt: skip

    def _unforeseen(self, secret: int) -> Iterator[tuple[int, ...]]:
        """Draw some; then the best K first, no power of two, and examples that make it so."""
        rng = np.random.default_rng([secret, 85])
        for _ in range(2):
            P = int(rng.choice([4, 6, 8, 12, 16]))
            yield P, int(rng.integers(32, 1024)), P * int(rng.integers(4, 400))
        for _ in range(4):
            P = int(rng.choice([6, 9, 10, 12, 15, 18, 20, 24]))
            best = int(rng.choice([k for _, k in grids(P) if k & (k - 1)]))
            width = int(rng.integers(1024, 2048))
            yield P, width, P * round(4 * (width + 1) / (3 * best * best))

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
            *_not_all_tried(P, right, math.sqrt(4 * (w + 1) * P / (3 * examples))),
            ("no-divisor", "K divides P: there are no replicas of unequal size",
             _least(P, sent, range(1, P + 1))),
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


def _not_all_tried(P: int, sent: Sent, root: float) -> Sequence[Wrong]:
    """Choose the best of some divisors, or one by its distance from the root of the slope."""
    divisors = [k for _, k in grids(P)]
    below = max(k for k in divisors if k <= max(root, 1))
    above = min(k for k in divisors if k >= min(root, P))
    nearer = min(divisors, key=lambda k: abs(k - root))
    some: Sequence[tuple[str, str, Callable[[int], bool]]] = (
        ("every-divisor", _EVERY, lambda k: k & (k - 1) == 0),
        ("every-divisor", _EVERY, lambda k: k % 2 == 0 or k == 1),
        ("every-divisor", _EVERY, lambda k: k % 2 == 0),
        ("every-divisor", _EVERY, lambda k: (P // k) & (P // k - 1) == 0),
        ("up-to-the-root", "K goes up to P, not to the square root of P: 6, 8, 12 or 24 of 24 "
         "ranks can share a replica, too", lambda k: k * k <= P),
        ("ends-too", "1 and P divide P, too: these are grids like the others", lambda k: k > 1),
        ("ends-too", "1 and P divide P, too: these are grids like the others", lambda k: k < P),
    )  # fmt: skip
    return [
        *((hint_id, text, _least(P, sent, [k for k in divisors if fits(k)]))
          for hint_id, text, fits in some if any(map(fits, divisors))),
        *(("nearest", "of the two divisors around the root of the slope the nearer one, or always "
           "the one below, need not be the better: compare the sums", _at(k, sent))
          for k in (below, above, nearer)),
    ]  # fmt: skip


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
