"""Which batch size reaches a loss in the shortest time, predicted."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, first_difference
from course_lib.checks.plain import plain_number
from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.checks.task import Case, Given, Hint


class PredictBatchSize(PredictTask):
    """The minimum of (a + b B) times S (1 + C / B) over whole batch sizes B, by trying them all."""

    name = "predict_batch_size"
    title = "Predict the batch size with the shortest time to a loss, then measure."
    units: ClassVar[Mapping[str, str]] = {
        "best_size": "examples",
        "steps": "steps",
        "time_us": "µs",
    }
    questions = ("step_us", "example_us", "fewest_steps", "critical_size")
    other_number = "write down time = steps x time of a step as a function of B, for {name}"

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with numbers like those of the lecture, whose root is not whole.

        In two of them the whole number next to the root is not the best: with 44, 50 and 7
        the root is 2.48, and 3 is faster than 2. Then one example is best. In the last three
        the number below the root is best, and in the last two it is a large one.
        """
        return (
            (210, 20, 40, 125), (1000, 10, 100, 64), (50, 50, 10, 9), (300, 2, 500, 150),
            (44, 50, 30, 7), (10, 23, 20, 5), (10, 60, 20, 3),
            (302, 30, 40, 90), (6010, 3, 80, 120), (12_000, 4, 40, 3_105),
        )  # fmt: skip

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Try every batch size."""
        return _told(int(_times_us(*numbers).argmin()) + 1, *numbers)

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take either of two neighbours that need the same time, but for rounding."""
        numbers = case.settings["numbers"]
        size, times = _size_in(got[0]), _times_us(*numbers)
        if 1 <= size <= len(times) and times[size - 1] <= times.min() * (1 + 1e-13):
            return first_difference([_told(size, *numbers)], got, n_terms=self.rounding_terms)
        return super().compare(case, arguments, got)

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        step, example, fewest, critical = numbers
        best = self.measure(*numbers)["best_size"]
        step_us = step + example * best
        squared, upside_down = step * critical / example, example * critical / step
        whole = "examples come whole: compare the times of the two neighbours"
        return {
            "best_size": [
                ("critical", "at the critical size the steps are twice the fewest; how long a step "
                 "takes counts as well, and the best may lie above or below", critical),
                ("balance", "here half of a step is overhead; how many steps there are counts as "
                 "well", round(step / example)),
                ("no-root", "time is a + b B + ...: its slope is 0 where b = a C / B², a square",
                 round(squared)),
                ("one", "with one example a step, nearly all of the time is overhead", 1),
                ("upside-down", "an expensive start of a step makes batches larger, not smaller",
                 max(1, round(np.sqrt(upside_down)))),
                ("neighbour", whole, best - 1), ("neighbour", whole, best + 1),
                ("powers-of-two", "any whole number may be best, not powers of two only",
                 _best_power(_times_us(*numbers), best)),
                ("not-whole", whole, float(np.sqrt(squared))),
                ("whole-division", "// throws the fraction away: C / B, so that a larger batch "
                 "needs fewer steps at any size", _best_with_whole_ratio(*numbers)),
            ],
            "steps": [
                ("fewest", "that many steps are needed with huge batches only: times 1 + C / B",
                 fewest),
                ("ratio", "it is C / B, not B / C", fewest * (1 + best / critical)),
                ("whole-division", "// throws the fraction away: C / B",
                 fewest * (1 + critical // best)),
                ("one-missing", "1 + C / B: even without noise the fewest steps are needed",
                 fewest * critical / best),
            ],
            "time_us": [
                ("one-step", "this is one step: multiply with the steps", step_us),
                ("no-overhead", "every step has its overhead, step_us, as well",
                 fewest * (1 + critical / best) * example * best),
                ("one-example", "a step takes example_us for each of its examples",
                 fewest * (1 + critical / best) * (step + example)),
                ("fewest", "with the steps of this batch size, not the fewest", fewest * step_us),
                ("seconds", "in microseconds, please",
                 fewest * (1 + critical / best) * step_us / 1e6),
            ],
        }  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a search that ends too early."""
        hint = super().explain(case, arguments, got, wrong)
        if hint is None or hint.id != "other-number" or wrong.where != "'best_size'":
            return hint
        size, times = _size_in(got[0]), _times_us(*case.settings["numbers"])
        if 1 <= size < len(times) and times[size] < times[size - 1]:
            return Hint("ends-early", f"{size + 1} examples are faster than {size} by your formula "
                        "as well, if it is right: does the search go far enough?")  # fmt: skip
        return hint

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice another language's power."""
        if "for ^" in text:
            return Hint("power", "a power is ** in Python: B ** 2, x ** 0.5")
        return None


def _size_in(answer: Any) -> int:
    """Read the size that was predicted; 0 where there is none."""
    size = plain_number(answer.get("best_size")) if isinstance(answer, dict) else None
    return size if isinstance(size, int) else 0


def _told(size: int, step: int, example: int, fewest: int, critical: int) -> dict[str, Any]:
    steps = fewest * (1 + critical / size)
    return {"best_size": size, "steps": steps, "time_us": steps * (step + example * size)}


def _best_with_whole_ratio(step: int, example: int, fewest: int, critical: int) -> int:
    sizes = np.arange(1, critical + 2)
    return 1 + int((fewest * (1 + critical // sizes) * (step + example * sizes)).argmin())


def _best_power(times_us: Any, best: int) -> int:
    powers = 2 ** np.arange(int(np.log2(2 * best)) + 1)
    powers = powers[powers <= len(times_us)]
    return int(powers[times_us[powers - 1].argmin()])


def _times_us(step: int, example: int, fewest: int, critical: int) -> Any:
    sizes = np.arange(1, 2 + 4 * int(np.sqrt(step * critical / example) + 1))
    return fewest * (1 + critical / sizes) * (step + example * sizes)


TASK = PredictBatchSize()
