"""Predictions of two numbers that belong together: a choice, and what it gives."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.prediction import Alternative, PredictTask, is_number
from course_lib.checks.task import Given, Hint

__all__ = ["ChoiceTask", "Wrong"]

Wrong = tuple[str, str, Mapping[str, float]]
"""A hint's id and text, and the whole answer that calls for it."""


class ChoiceTask(PredictTask):
    """Several mistakes may lead to the same choice; together with the time they are told apart."""

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
        for hint_id, text, found in self.wrong_answers(*arguments[0]):
            if isinstance(got[0], dict) and _alike(got[0], found):
                return Hint(hint_id, text)
        return super().explain(case, arguments, got, wrong)


def _alike(got: Mapping[str, Any], found: Mapping[str, float]) -> bool:
    return set(got) == set(found) and all(
        is_number(got[name], value) for name, value in found.items()
    )
