"""Tune before you compare: every batch size at its own best learning rate."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, difference
from course_lib.checks.prediction import is_number
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

_BY_HAND = np.array([
    [[310, 300, 280], [200, 180, 240], [np.inf, 150, np.inf], [np.inf] * 3],
    [[240, 250, 230], [130, 140, 120], [60, 70, 400], [80, 90, 106]],
    [[220, 225, 215], [115, 120, 110], [60, 62, 58], [40, 45, 38]],
])  # fmt: skip
"""Steps to a loss: 4, 32 and 256 examples; rates 0.1, 0.2, 0.4, 0.8; three seeds."""

_F = np.inf
_TABLES: tuple[tuple[str, Any, tuple[int, ...], tuple[float, ...]], ...] = (
    ("three of five seeds never got there", [
        [[50, 60, 70, 55, 65], [40, 45, 50, 42, 48], [90, 90, 95, 91, 92]],
        [[30, 35, 40, 33, 38], [_F, _F, _F, 1, 3], [60, 50, 70, 55, 65]],
    ], (8, 64), (0.1, 0.2, 0.4)),
    ("the last rate best", [
        [[80, 90, 85], [60, 65, 62], [50, 52, 90]], [[70, 75, 72], [40, 42, 41], [20, 22, 40]],
    ], (4, 16), (0.1, 0.2, 0.4)),
    ("the first rate best", [
        [[50, 52, 90], [60, 65, 62], [80, 90, 85]], [[20, 22, 40], [40, 42, 41], [70, 75, 72]],
    ], (4, 16), (0.1, 0.2, 0.4)),
    ("the first rate best for another size only", [
        [[50, 52, 90], [60, 65, 62], [80, 90, 85]], [[40, 42, 41], [20, 22, 40], [70, 75, 72]],
    ], (4, 16), (0.1, 0.2, 0.4)),
    ("five seeds", [
        [[50, 60, 90, 10, 70], [40, 48, 80, 20, 60], [70, 80, 90, 60, 85]],
        [[30, 50, 90, 20, 45], [20, 30, 60, 10, 50], [50, 60, 70, 40, 65]],
    ], (8, 16), (0.1, 0.2, 0.4)),
    ("four seeds", [
        [[80, 90, 70, 85], [30, 44, 34, 52], [70, 80, 90, 60]],
        [[70, 60, 75, 66], [20, 24, 60, 70], [50, 60, 70, 40]],
    ], (8, 16), (0.1, 0.2, 0.4)),
)  # fmt: skip
"""What is special, steps, sizes and rates; a step takes 100 + 1 per example microseconds."""

_EDGE = (
    "is the best rate of the best batch size (of no other) the first or the last of rates? The "
    "last one's place is len(rates) - 1; True or False, nothing else"
)
_DRAWS = 12


class TunedBatch(LocalTask):
    """The batch size with the shortest time, each at the rate that needs the fewest steps."""

    name = "tuned_batch"
    title = "Find the bug in a comparison: tune before you compare."
    units: ClassVar[Mapping[str, str]] = {"best_size": "examples", "time_us": "µs"}
    fresh = False
    takes = ("steps", "sizes", "rates", "step_us", "example_us")
    enough = "NumPy is enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with a table that can be worked out by hand."""
        yield Case(1, "4, 32 and 256 examples at 4 rates, 3 seeds; 200 and 2 microseconds",
                   calls=1, alone=True, settings={"shape": (3, 4, 3)})  # fmt: skip
        for number, (special, *_) in enumerate(_TABLES):
            yield Case(1, f"2 batch sizes at 3 rates, {special}", calls=1, alone=True,
                       settings={"table": number})  # fmt: skip
        # Always the same draws: no verdict may depend on luck.
        for number, (shape, edge) in enumerate([
            ((4, 5, 3), ""), ((3, 5, 3), "last"), ((3, 5, 3), "first"), ((2, 3, 5), ""),
            ((6, 5, 3), ""), ((5, 4, 7), ""), ((1, 3, 3), ""),
        ]):  # fmt: skip
            sizes = "1 batch size" if shape[0] == 1 else f"{shape[0]} batch sizes"
            label = f"{sizes}, several rates, {shape[2]} seeds"
            label += f", the {edge} rate best" * bool(edge)
            yield Case(1, label, seed=1 + number, calls=1, alone=True,
                       settings={"shape": shape, "edge": edge})  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make a table, of several that in which fewest mistakes give the right answer."""
        if "table" in case.settings:
            _, steps, of_sizes, of_rates = _TABLES[case.settings["table"]]
            return np.array(steps, dtype=float), np.array(of_sizes), np.array(of_rates), 100, 1
        if case.seed == 0:
            sizes, rates = np.array([4, 32, 256]), np.array([0.1, 0.2, 0.4, 0.8])
            return _BY_HAND.copy(), sizes, rates, 200, 2
        rng, shape = case.rng(rank, call), case.settings["shape"]
        drawn = min((_drawn(rng, shape) for _ in range(_DRAWS)), key=_right_by_luck)
        return _cut(drawn, case.settings["edge"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Take the median over seeds, the best rate of each size, and the fastest size."""
        return [_answer(*arguments[0])]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        for hint_id, text, value in _wrong(*arguments[0]):
            yield Mistake(hint_id, text, [value])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Look at the numbers one by one."""
        right = self.expected(case, arguments)[0]
        if not isinstance(got[0], dict) or set(got[0]) != set(right):
            return Hint("wrong-names", "return a dict with the names that the docstring lists")
        if wrong.where == "'rate_at_edge'":
            return Hint("edge", _EDGE)
        if wrong.where == "'time_us'" and is_number(got[0]["time_us"], right["time_us"] / 1e6):
            return Hint("seconds", "in microseconds, please")
        for name, given in zip(self.takes[1:3], arguments[0][1:3], strict=True):
            found = got[0][f"best_{name[:-1]}"]
            if any(difference(index, found) is None for index in range(len(given))):
                return Hint("index", f"this is a place in the table: look it up in {name}")
        return Hint("by-hand", "for each size: the median of the seeds at each rate, the smallest "
                    "of these, times the time of a step; then the smallest of all")  # fmt: skip


def _answer(steps: Any, sizes: Any, rates: Any, step_us: int, example_us: int) -> dict[str, Any]:
    return _best(np.median(steps, axis=2), sizes, rates, step_us, example_us)


def _best(needed: Any, sizes: Any, rates: Any, step_us: int, example_us: int) -> dict[str, Any]:
    """Choose from ``needed[size, rate]`` steps; the rates are in ascending order."""
    at = needed.argmin(axis=1)
    times_us = needed[np.arange(len(sizes)), at] * (step_us + example_us * sizes)
    best = int(times_us.argmin())
    return _told(best, int(at[best]), float(times_us[best]), sizes, rates)


def _told(size: int, rate: int, time_us: float, sizes: Any, rates: Any) -> dict[str, Any]:
    return {
        "best_size": int(sizes[size]),
        "best_rate": float(rates[rate]),
        "time_us": time_us,
        "rate_at_edge": rate in (0, len(rates) - 1),
    }


def _wrong(
    steps: Any, sizes: Any, rates: Any, step_us: int, example_us: int
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a hint's id and text, and the answer that calls for it."""
    given = sizes, rates, step_us, example_us
    needed, each_us = np.median(steps, axis=2), (step_us + example_us * sizes)[:, None]
    for rate in range(len(rates)):
        one = np.full_like(needed, np.inf)
        one[:, rate] = needed[:, rate]
        yield ("one-rate", f"all sizes were compared at the rate {rates[rate]:g}, which suits one "
               "of them: take the best rate of each", _best(one, *given))  # fmt: skip
    yield "mean", "one bad seed spoils a mean: take the median", _best(steps.mean(axis=2), *given)
    for name, value in (("min", steps.min(axis=2)), ("max", steps.max(axis=2))):
        yield (f"{name}-of-seeds", "the luckiest seed (or the unluckiest) is no comparison: take "
               "the median", _best(value, *given))  # fmt: skip
    finite = np.where(np.isinf(steps), np.nan, steps)
    if not np.isnan(finite).all(axis=2).any():
        yield ("inf-counts", "inf counts: a seed that never got there needed more steps than any "
               "other", _best(np.nanmedian(finite, axis=2), *given))  # fmt: skip
    ordered, n_seeds = np.sort(steps, axis=2), steps.shape[2]
    for place in {1 % n_seeds} - {n_seeds // 2} if n_seeds % 2 else ():
        yield ("middle-seed", "of three the second is the median, of five the third",
               _best(ordered[:, :, place], *given))  # fmt: skip
    at = needed.argmin(axis=1)
    bare = needed[range(len(sizes)), at] * step_us + example_us * sizes
    first = int(bare.argmin())
    yield ("brackets", "each step has the examples of its batch: steps * (step_us + example_us * "
           "size)", _told(first, int(at[first]), float(bare[first]), sizes, rates))  # fmt: skip
    fewest, its_rate = map(int, np.unravel_index(int(needed.argmin()), needed.shape))
    time_us = float(needed[fewest, its_rate] * each_us[fewest, 0])
    yield ("fewest-steps", "these are the fewest steps; a step with more examples takes longer: "
           "compare times", _told(fewest, its_rate, time_us, sizes, rates))  # fmt: skip
    yield ("no-overhead", "each step has its overhead, step_us, too",
           _best(needed, sizes, rates, 0, example_us))  # fmt: skip
    yield ("no-examples", "a step takes example_us for each of its examples, too",
           _best(needed, sizes, rates, step_us, 0))  # fmt: skip
    right = _best(needed, *given)
    yield "edge", _EDGE, {**right, "rate_at_edge": not right["rate_at_edge"]}
    if (step_us, example_us) != (200, 2):
        yield ("fixed-times", "a step costs step_us and example_us here, not 200 and 2",
               _best(needed, sizes, rates, 200, 2))  # fmt: skip
    middle = n_seeds // 2
    for place in {middle, middle - 1} if n_seeds % 2 == 0 else ():
        yield ("middle-seed", "of an even number of seeds two are in the middle: the median is "
               "their mean", _best(ordered[:, :, place], *given))  # fmt: skip


def _right_by_luck(given: tuple[Any, ...]) -> int:
    """Count the usual mistakes that would give the right answer."""
    right = _answer(*given)
    return sum(value == right for _, _, value in _wrong(*given))


def _cut(drawn: tuple[Any, ...], edge: str) -> tuple[Any, ...]:
    """Leave out the rates beyond the best one, so that it is the first or the last."""
    steps, sizes, rates, step_us, example_us = drawn
    best = rates.tolist().index(_answer(steps, sizes, rates, step_us, example_us)["best_rate"])
    kept = {"first": slice(best, None), "last": slice(best + 1), "": slice(None)}[edge]
    return steps[:, kept].copy(), sizes, rates[kept].copy(), step_us, example_us


def _drawn(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[Any, ...]:
    """Draw a table in which larger batches need fewer steps and want larger rates."""
    n_sizes, n_rates, _ = shape
    sizes = 2 ** np.sort(rng.choice(10, size=n_sizes, replace=False))
    rates = 0.05 * 2.0 ** np.arange(n_rates)
    favourite = rng.uniform(0, n_rates - 1) + 0.4 * np.arange(n_sizes) - 0.2 * n_sizes
    far = np.arange(n_rates) - favourite[:, None]
    fewest = rng.integers(20, 80) * (1 + rng.integers(20, 200) / sizes)
    steps = fewest[:, None] * 2.0 ** np.abs(far) * np.where(far > 1.5, np.inf, 1.0)
    luck = np.exp(rng.normal(size=shape) * 0.3)
    table = np.ceil(steps[:, :, None] * luck)
    table[rng.random(shape) < 0.05] = np.inf
    return table, sizes, rates, int(rng.integers(50, 900)), int(rng.integers(1, 20))


TASK = TunedBatch()
