"""How much of a step's exchange is hidden: the two lanes of a picture, compared."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

Spans = Sequence[tuple[float, float]]


class HiddenSeconds(LocalTask):
    """For how long one rank computes while one of its exchanges is on its way."""

    name = "hidden_seconds"
    title = "Find the bug: tell from the times of a step how much of its exchange is hidden."
    units: ClassVar[Mapping[str, str]] = {"": "s"}
    fresh = False
    takes = ("computing", "exchanging")
    enough = "comparing numbers is enough"
    rounding_terms = 1 << 10

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with the three layers of the lecture: hidden, and not."""
        back = [(3.0, 5.0), (5.0, 7.0), (7.0, 9.0)]
        for label, computing, exchanging in (
            ("three exchanges, one after the other", back, [(4.5, 8.0), (8.0, 8.8), (8.9, 14.0)]),
            ("three layers, one after the other on the network", back,
             [(5.0, 8.0), (8.0, 11.0), (11.0, 14.0)]),
            ("three layers, each waited for at once", [(3.0, 5.0), (8.0, 10.0), (13.0, 15.0)],
             [(5.0, 8.0), (10.0, 13.0), (15.0, 18.0)]),
            ("two exchanges side by side", back, [(5.0, 8.5), (7.0, 12.5), (9.0, 14.0)]),
            ("an exchange within one computation", [(0.0, 9.0)], [(2.0, 4.0)]),
            ("a computation within one exchange", [(2.0, 4.0)], [(0.0, 9.0)]),
            ("two exchanges at the same time", [(0.0, 4.0)], [(1.0, 3.0), (1.0, 3.0)]),
            ("three exchanges at the same time", [(0.0, 10.0)],
             [(1.0, 8.0), (2.0, 9.0), (3.0, 7.0)]),
            ("one exchange within another", [(0.0, 10.0)], [(1.0, 9.0), (2.0, 4.0), (5.0, 6.0)]),
            ("an exchange that is over before the second computation", [(0.0, 2.0), (6.0, 9.0)],
             [(3.0, 5.0), (7.0, 8.0)]),
            ("nothing is exchanged", back, []),
            ("nothing is computed", [], [(1.0, 2.0)]),
        ):  # fmt: skip
            yield _case(label, computing, exchanging)
        rng = np.random.default_rng([secret, 63])
        for n_spans in (1, 3, 6, 12):
            yield _case(f"{n_spans} random spans of each", *_drawn(rng, n_spans))

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the spans."""
        return list(case.settings["computing"]), list(case.settings["exchanging"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Add up the pieces of time in which both go on."""
        return [_both(*arguments[0])]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the latest time: differences of times are rounded like these."""
        return max(end for spans in arguments[0] for _, end in spans)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        computing, exchanging = arguments[0]
        whole = sum(end - start for start, end in exchanging)
        both = _both(computing, exchanging)
        pairs = [min(c[1], e[1]) - max(c[0], e[0]) for c in computing for e in exchanging]
        computed = sum(end - start for start, end in computing)
        union = _both(exchanging, exchanging)
        span = max((e for _, e in [*computing, *exchanging]), default=0.0) - min(
            (s for s, _ in [*computing, *exchanging]), default=0.0
        )
        by_exchange = [
            max(0.0, *(min(c[1], e[1]) - max(c[0], e[0]) for c in computing), 0.0)
            for e in exchanging
        ]
        ends = [end for _, end in computing] + [end for _, end in exchanging]
        starts = [start for start, _ in computing] + [start for start, _ in exchanging]
        for hint_id, text, value in (
            *(("first-only", "only what comes first counts here: does a return or break end a loop "
               "too early?", first)
              for first in (_both(computing[:1], exchanging), _both(computing, exchanging[:1]))),
            ("one-each", "an exchange may go on under two computations, and both count: "
             "the one from 4.5 to 8 is hidden under three", sum(by_exchange)),
            ("span", "computing + exchange - the whole span is right only where nobody is ever "
             "idle, and exchanges side by side count once",
             computed + whole - span),
            ("span", "computing + exchange - the whole span is right only where nobody is ever "
             "idle", computed + union - span),
            ("none", "by this count nothing is hidden: compare each computation with each "
             "exchange, not the first with the first", 0.0),
            ("counted-twice", "where two exchanges are on their way at the same time, that time "
             "counts once", sum(max(0.0, pair) for pair in pairs)),
            ("below-zero", "two spans that do not meet have nothing in common: 0, not less",
             sum(pairs)),
            ("all-exchange", "this is all of the exchange, hidden or not", whole),
            ("all-computing", "this is all of the computing",
             sum(end - start for start, end in computing)),
            ("exposed", "this is the part that is not hidden", whole - both),
            ("whole-span", "this is the time from the first start to the last end",
             max(ends, default=0.0) - min(starts, default=0.0)),
            ("gives-up", "an exchange that goes on into the next computation hides there as well: "
             "the one from 4.5 to 8 under three", sum(
                 next((pair for c in computing if (pair := min(c[1], e[1]) - max(c[0], e[0])) > 0),
                      0.0) for e in exchanging)),
            ("merged-end", "an exchange may be over before an earlier one: where two are merged, "
             "the end is the later of the two", _both(computing, _merged_wrongly(exchanging))),
            ("one-by-one", "an exchange may be on its way under several computations: compare "
             "each with each, not the first with the first",
             sum(max(0.0, min(c[1], e[1]) - max(c[0], e[0]))
                 for c, e in zip(computing, exchanging, strict=False))),
            ("fraction", "seconds are asked for, not a part of the exchange",
             both / whole if whole else 0.0),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [float(value)])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say how to find out."""
        if "a number" in wrong.says:
            return Hint("one-number", "return one number, in seconds")
        right = self.expected(case, arguments)[0]
        if isinstance(got[0], float) and abs(got[0] - right) < 0.01 * right:
            return Hint("nearly", "nearly right: is time rounded, or counted in small steps?")
        return Hint("draw-lanes", "draw the two lanes of this case under each other, and mark "
                    "where both have a bar")  # fmt: skip


def _case(label: str, computing: Spans, exchanging: Spans) -> Case:
    spans = f"{label}: computing {list(computing)}, exchanging {list(exchanging)}"
    told = spans if len(computing) + len(exchanging) <= 6 else label
    return Case(
        1, told, calls=1, alone=True,
        settings={"computing": tuple(computing), "exchanging": tuple(exchanging)},
    )  # fmt: skip


def _drawn(rng: np.random.Generator, n_spans: int) -> tuple[Spans, Spans]:
    """Draw computations that follow each other, and exchanges that may overlap each other.

    Few are printed, so they are whole tenths; many have digits that rounding would lose.
    """
    unit = 10 if n_spans <= 3 else 100_000
    times = np.cumsum(rng.integers(unit // 10, 2 * unit, size=2 * n_spans))
    computing = [(float(a) / unit, float(b) / unit) for a, b in times.reshape(-1, 2)]
    starts = rng.integers(0, times[-1], size=n_spans)
    lengths = rng.integers(unit // 10, 4 * unit, size=n_spans)
    pairs = zip(starts, lengths, strict=True)
    return computing, sorted((float(a) / unit, float(a + length) / unit) for a, length in pairs)


def _merged_wrongly(spans: Spans) -> Spans:
    merged: list[tuple[float, float]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            start = merged.pop()[0]
        merged.append((start, end))
    return merged


def _both(computing: Spans, exchanging: Spans) -> float:
    edges = sorted({time for spans in (computing, exchanging) for span in spans for time in span})
    total = 0.0
    for start, end in pairwise(edges):
        middle = (start + end) / 2
        if all(any(a < middle < b for a, b in spans) for spans in (computing, exchanging)):
            total += end - start
    return total


TASK = HiddenSeconds()
