"""The form of a task "predict, then measure": numbers on paper against the trace of a run."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from course_lib.checks.comparator import Difference
from course_lib.checks.mistakes import FLOAT
from course_lib.checks.plain import plain_number
from course_lib.checks.task import Case, Given, Hint, LocalTask

__all__ = ["Alternative", "PredictTask", "is_number", "short"]

Alternative = tuple[str, str, float]
"""A hint's id and text, and the number that calls for it."""


class PredictTask(LocalTask):
    """The learner's function returns a dict of numbers; a simulated run has the last word.

    Attributes
    ----------
    questions : tuple of str
        The names of the arguments of the learner's function.
    other_number : str
        What to say to a wrong number that no usual mistake gives; ``{name}`` stands for its name.
    """

    enough = "arithmetic is enough"
    nested_run_hint = (
        "this check wants arithmetic: compute the numbers from the arguments; the cell after the "
        "hints measures them"
    )
    questions: ClassVar[tuple[str, ...]]
    other_number: ClassVar[str] = "draw the run for 3 workers, and count {name} in the drawing"

    @abstractmethod
    def tried(self) -> Sequence[tuple[int, ...]]:
        """List the arguments to try, in the order of ``questions``."""

    @abstractmethod
    def measure(self, *numbers: int) -> dict[str, Any]:
        """Run the program and read the numbers off its trace."""

    @abstractmethod
    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """List, for each predicted number, what usual mistakes give."""

    def cases(self, secret: int) -> Iterator[Case]:
        """Make one case of each set of numbers, and of some that nobody can foresee."""
        for numbers in [*self.tried(), *self._unforeseen(secret)]:
            yield Case(1, self.told(numbers), calls=1, alone=True, settings={"numbers": numbers})

    def told(self, numbers: tuple[Any, ...]) -> str:
        """Write one set of numbers for the report."""
        return ", ".join(f"{n}={v:,}" for n, v in zip(self.questions, numbers, strict=True))

    def _unforeseen(self, secret: int) -> Iterator[tuple[int, ...]]:
        rng = Case(1, "", seed=secret).rng(0, 0)
        columns = list(zip(*self.tried(), strict=True))
        for _ in range(3):
            yield tuple(int(rng.integers(min(seen), max(seen) + 1)) for seen in columns)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Ask for these numbers."""
        return tuple(case.settings["numbers"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Measure."""
        return [_measured(self, *arguments[0])]

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Compare the first wrong number with what usual mistakes give."""
        if not isinstance(got[0], dict):
            return Hint("not-a-dict", "return a dict with the names that the docstring lists")
        right = self.expected(case, arguments)[0]
        for name, alternatives in self.alternatives(*arguments[0]).items():
            if wrong.where != repr(name):
                continue
            given = plain_number(got[0].get(name))
            if not isinstance(given, int | float):
                return Hint("not-a-number", f"one number for {name}, neither text nor list")
            if isinstance(given, float) and isinstance(right[name], int) and given == right[name]:
                return Hint("float", FLOAT)
            exact = right[name]
            if isinstance(exact, float) and given != exact and given in _rounded(exact):
                return Hint("rounded", f"this is {name} rounded: the exact number is asked for")
            for hint_id, text, number in alternatives:
                if is_number(given, number):
                    return Hint(hint_id, text)
            if given in [round(exact, n) for n in range(1, 10)]:
                return Hint("rounded", f"this is {name} rounded: the exact number is asked for")
            if isinstance(exact, float) and 0 < abs(given - exact) <= 0.03 * abs(exact):
                return Hint("nearly", f"{name} is nearly right: was something rounded on the way, "
                            "or one small part left out, or counted twice?")  # fmt: skip
            return Hint("other-number", self.other_number.format(name=name))
        return Hint("wrong-names", "the names of the numbers are those of the docstring, no others")


def short(number: float) -> float:
    """Keep three digits, so that a case can be computed again from what is printed of it."""
    return float(f"{number:.3g}")


def _rounded(number: float) -> tuple[float, ...]:
    return tuple(f(number) for f in (math.floor, math.ceil)) if abs(number) >= 2 else ()


def is_number(got: Any, number: float) -> bool:
    """Say whether an answer is a number that is meant to be this one."""
    got = plain_number(got)
    return isinstance(got, int | float) and math.isclose(got, number, rel_tol=1e-9)


@cache
def _measured(task: PredictTask, *numbers: int) -> dict[str, Any]:
    return task.measure(*numbers)
