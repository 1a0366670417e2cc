"""The fewest micro-batches with which a bubble is small enough."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.lecture_06.answers import ChoiceTask, Wrong
from course_lib.pipelines import one_f_one_b


class FewestMicrobatches(ChoiceTask):
    """A number that divides the batch, and what rank 0 then holds with 1F1B."""

    name = "fewest_microbatches"
    title = "Choose the fewest micro-batches with which the bubble is small enough."
    questions = ("ranks", "batch", "most_idle_percent")
    other_number = (
        "write down the divisors of the batch, and for each the bubble (P - 1)/(M + P - 1); {name} "
        "belongs to the first that is small enough"
    )

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin where the usual mistakes all differ, then where a bubble is just small enough."""
        return ((3, 960, 8), (5, 60, 25), (4, 48, 60), (4, 64, 20), (8, 7, 50), (1, 16, 5),
                (2, 60, 33))  # fmt: skip

    def _unforeseen(self, secret: int) -> Iterator[tuple[int, ...]]:
        rng = np.random.default_rng([secret, 74])
        for _ in range(4):
            batch = int(rng.choice([96, 120, 144, 256, 360]))
            yield int(rng.integers(2, 9)), batch, int(rng.integers(8, 40))

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Go through the divisors of the batch, and read the schedule's own bubble."""
        ranks, batch, percent = numbers

        def is_enough(M: int) -> bool:
            times = one_f_one_b(ranks, M).times()
            return 100 * times.idle(0) <= percent * times.makespan

        return _answer(ranks, batch, next(M for M in _divisors(batch) if is_enough(M)))

    def wrong_answers(self, *numbers: int) -> Sequence[Wrong]:
        """Know the usual mistakes."""
        P, batch, percent = numbers

        def first(fits: Callable[[int], bool], all_numbers: bool = False) -> int:
            tried = range(1, batch + 1) if all_numbers else _divisors(batch)
            return next((M for M in tried if fits(M)), batch)

        def small_enough(M: int) -> bool:
            return percent * (M + P - 1) >= 100 * (P - 1)

        M = first(small_enough)
        right = _answer(P, batch, M)
        over_m = first(lambda M: percent * M >= 100 * (P - 1))
        strict = first(lambda M: percent * (M + P - 1) > 100 * (P - 1))
        whole = first(small_enough, all_numbers=True)
        with_p = first(lambda M: percent * (M + P) >= 100 * P)
        powers = first(lambda M: small_enough(M) and M & (M - 1) == 0)
        known: list[Wrong] = [
            ("no-divisor", "the parts must be equally large: the number of micro-batches divides "
             "the batch", {"microbatches": whole, "held": min(P, whole) * (batch // whole)}),
            ("no-divisor", "the parts must be equally large: the number of micro-batches divides "
             "the batch", {"microbatches": whole, "held": min(P, whole) * -(-batch // whole)}),
            ("at-most", "at most: just as much is allowed", _answer(P, batch, strict)),
            ("over-computing", "the bubble is a part of the whole step, M + P - 1 passes, not of "
             "the computing", _answer(P, batch, over_m)),
            *(("rounded", "at most is asked for, and 33.3 % is more than 33 %: do not round",
               _answer(P, batch, first(fits))) for fits in (
                lambda M: percent >= 100 * (P - 1) // (M + P - 1),
                lambda M: round(100 * (P - 1) / (M + P - 1)) <= percent,
                lambda M: int((P - 1) * (100 / percent - 1)) <= M,
                lambda M: round((P - 1) * (100 / percent - 1)) <= M)),
            ("one-rank-more", "P ranks are idle for P - 1 passes", _answer(P, batch, with_p)),
            ("largest", "that is the largest number; the fewest are asked for, because small "
             "micro-batches use a GPU badly", _answer(P, batch, batch)),
            ("largest", "that is the largest number; the fewest are asked for",
             _answer(P, batch, max(_divisors(batch)[:-1], default=1))),
            ("powers-of-two", "divisors that are no powers of two are divisors, too",
             _answer(P, batch, powers)),
            *_wrongly_held(P, batch, M),
        ]  # fmt: skip
        return [wrong for wrong in known if wrong[2] != right]


def _wrongly_held(P: int, batch: int, M: int) -> list[Wrong]:
    return [
        ("microbatches-held", "examples are asked for: micro-batches held, times the examples "
         "of one", {"microbatches": M, "held": min(P, M)}),
        ("as-gpipe", "1F1B does not hold the whole batch: P micro-batches on rank 0",
         {"microbatches": M, "held": batch}),
        ("never-more-than-all", "no more than all M are held",
         {"microbatches": M, "held": P * (batch // M)}),
        ("one-part", "that is one micro-batch; rank 0 holds P of them at most",
         {"microbatches": M, "held": batch // M}),
    ]  # fmt: skip


def _divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]


def _answer(ranks: int, batch: int, M: int) -> dict[str, int]:
    return {"microbatches": M, "held": min(ranks, M) * (batch // M)}


TASK = FewestMicrobatches()
