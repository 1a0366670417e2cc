"""How rarely two sites must average, from latency and bandwidth."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.prediction import short
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK"]

Numbers = tuple[float, float, int, float, float]


class StepsBetween(LocalTask):
    """The smallest H with which enough of the time is computing."""

    name = "steps_between"
    title = "Find how many steps must lie between two averages, from latency and bandwidth."
    takes = ("latency_s", "seconds_per_byte", "n_bytes", "step_s", "efficiency")
    forbidden = (
        "course_lib.collectives", "course_lib.schemes", "course_lib.lectures", "course_lib.costs",
    )  # fmt: skip
    enough = "arithmetic is enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with numbers that can be worked out by hand, then every border."""
        for label, *numbers in _FIXED:
            yield Case(1, label, calls=1, alone=True, settings={"numbers": tuple(numbers)})
        for number in range(6):
            rng = Case(1, "", seed=secret).rng(number, 0)
            while True:
                latency_s, step_s = (
                    short(float(10 ** rng.uniform(*ends))) for ends in ((-4, -0.5), (-3, 0.5))
                )
                beta, n_bytes = float(10.0 ** rng.integers(-9, -6)), int(10 ** rng.uniform(3, 9))
                part = float(rng.choice([0.5, 0.6, 0.8, 0.9, 0.95]))
                drawn = latency_s, beta, n_bytes, step_s, part
                if 0.02 < _exact(*drawn) % 1 < 0.98 and 1 < _exact(*drawn) < 1e6:
                    break
            yield Case(1, "random numbers", calls=1, alone=True, settings={"numbers": drawn})

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Ask for these numbers."""
        return tuple(case.settings["numbers"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Round up what the condition gives, 1 at least."""
        return [_up(_exact(*arguments[0]))]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        latency_s, beta, n_bytes, step_s, part = arguments[0]
        exact, odds = _exact(*arguments[0]), part / (1 - part)
        whole = (2 * latency_s + n_bytes * beta) / step_s
        both = "an average is two messages, one after the other, of half the model each"
        for hint_id, text, value in (
            ("at-least-one", "H is 1 at least: more often than after every step nobody averages",
             math.ceil(exact) if exact < 1 else -1),
            ("round-up", "fewer steps than that are not enough: round up", math.floor(exact)),
            ("round-up", "round up, not to the nearest: with fewer steps too little of the time is "
             "computing", round(exact)),
            ("exactly", "exactly as much is enough: one more is not needed", _up(exact) + 1),
            ("exactly", "exactly as much is enough: one more is not needed",
             max(1, math.floor(exact) + 1)),
            ("two-messages", f"{both}: the latency is paid twice",
             _up(odds * (latency_s + n_bytes * beta) / step_s)),
            ("two-messages", f"{both}: each takes a latency and n/2 bytes, and both are waited for",
             _up(odds * (latency_s + n_bytes * beta / 2) / step_s)),
            ("half-each", f"{both}: n bytes in all",
             _up(odds * 2 * (latency_s + n_bytes * beta) / step_s)),
            ("latency-too", "a message takes its latency, too",
             _up(odds * n_bytes * beta / step_s)),
            ("bytes-too", "a message takes its bytes, too", _up(odds * 2 * latency_s / step_s)),
            ("part-of-all", "the part is that of all the time, steps and average together: "
             "H step >= e (H step + average)", _up(part * whole)),
            ("part-of-all", "the part is that of all the time, steps and average together: "
             "H step >= e (H step + average)", _up(whole / (1 - part))),
            ("part-of-all", "this makes computing and averaging equally long: efficiency 0.5",
             _up(whole)),
            ("which-part", "the efficiency is the computing's part; this is H for the other one",
             _up(whole / odds)),
            ("seconds", "this is how many seconds of computing there must be; in steps of step_s?",
             _up(exact * step_s)),
            *(("far-enough", "so many steps are not enough here: does the search end too early?",
               most) for n in range(3, 6) for most in (10**n - 1, 10**n) if most < _up(exact)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [value])
        yield Mistake("whole-number", "a whole number of steps: round up", [exact])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than a whole number."""
        if not isinstance(got[0], int):
            return Hint("whole-number", "return one whole number, an int")
        if _exact(*arguments[0]) < 1:
            return Hint("at-least-one", "H is 1 at least")
        return None


def _exact(latency_s: float, beta: float, n_bytes: int, step_s: float, part: float) -> float:
    return part / (1 - part) * (2 * latency_s + n_bytes * beta) / step_s


def _up(exact: float) -> int:
    return max(1, math.ceil(exact * (1 - 1e-12)))


_FIXED: tuple[tuple[Any, ...], ...] = (
    ("100 ms and 13 MB, three quarters of the time", 0.1, 1e-8, 13_000_000, 0.007, 0.75),
    ("three quarters, exactly", 0.25, 2.0**-20, 2**20, 0.5, 0.75),
    ("latency only", 0.125, 0.0, 1_000_000, 0.0625, 0.75),
    ("bytes only", 0.0, 2.0**-20, 2**22, 0.7, 0.5),
    ("a fast network: after every step", 1e-5, 1e-9, 1000, 0.1, 0.9),
    ("a slow link between short steps", 0.5, 1e-7, 100_000_000, 0.00037, 0.9),
    ("nothing to wait for", 0.0, 0.0, 1000, 0.1, 0.9),
    ("the lecture's: a third of a millisecond", 0.1, 8e-9, 19_280, 0.00033, 0.9),
)

TASK = StepsBetween()
