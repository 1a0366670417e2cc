"""Predictions of two numbers that belong together: a choice, and what it gives."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.checks.comparator import Difference, first_difference
from course_lib.checks.mistakes import FLOAT
from course_lib.checks.plain import plain_number
from course_lib.checks.prediction import Alternative, PredictTask, is_number
from course_lib.checks.task import Case, Given, Hint

__all__ = ["ChoiceTask", "Wrong", "is_in_order"]

Wrong = tuple[str, str, Mapping[str, float]]
"""A hint's id and text, and the whole answer that calls for it."""


class ChoiceTask(PredictTask):
    """Several mistakes may lead to the same choice; together with the time they are told apart.

    Where several choices take equally long, but for rounding, each of them is right.
    """

    def given(self, choice: int, *numbers: Any) -> dict[str, Any] | None:
        """Return the answer with this choice if none is better, but for rounding.

        None, as here, where there is one answer.
        """
        return None

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with the answer that has the same choice, where that is as good as the best."""
        numbers, right = arguments[0], self.expected(case, arguments)[0]
        name = next(iter(right))
        choice = plain_number(got[0].get(name)) if isinstance(got[0], dict) else None
        other = self.given(choice, *numbers) if isinstance(choice, int) else None
        return first_difference([other or right], got, n_terms=self.rounding_terms)

    @abstractmethod
    def wrong_answers(self, *numbers: Any) -> Sequence[Wrong]:
        """List what usual mistakes give."""

    def alternatives(self, *numbers: Any) -> Mapping[str, Sequence[Alternative]]:
        """Take the mistakes apart, number by number."""
        wrong = self.wrong_answers(*numbers)
        names = wrong[0][2]
        return {
            name: [(hint_id, text, found[name]) for hint_id, text, found in wrong] for name in names
        }

    def explain(self, case: Any, arguments: Given, got: Sequence[Any], wrong: Difference) -> Any:
        """Look for a mistake that gives the whole answer first, then for one that gives a part."""
        if isinstance(got[0], dict) and (hint := _is_float(got[0], self.expected(case, arguments))):
            return hint
        for hint_id, text, found in self.wrong_answers(*arguments[0]):
            if isinstance(got[0], dict) and _alike(got[0], found):
                return Hint(hint_id, text)
        return super().explain(case, arguments, got, wrong)


def _is_float(got: Mapping[str, Any], expected: Sequence[Any]) -> Hint | None:
    """Notice a choice that is right but for its type."""
    for name, right in expected[0].items():
        given = plain_number(got.get(name))
        if isinstance(right, int) and isinstance(given, float) and given == right:
            return Hint("float", FLOAT)
    return None


def is_in_order(order: Any, n_layers: int) -> bool:
    """Tell whether a list has every layer's number once."""
    return (
        isinstance(order, list)
        and sorted(item for item in order if isinstance(item, int) and not isinstance(item, bool))
        == list(range(n_layers))
        and len(order) == n_layers
    )


def _alike(got: Mapping[str, Any], found: Mapping[str, float]) -> bool:
    return set(got) == set(found) and all(
        is_number(got[name], value) for name, value in found.items()
    )
