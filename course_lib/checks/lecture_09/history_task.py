"""The form of a task whose function reads a history, and lists pairs that it finds there."""

from collections.abc import Sequence
from typing import Any, ClassVar

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask

__all__ = ["HistoryTask"]


class HistoryTask(LocalTask):
    """The learner's function is given records, and returns a list of pairs.

    Attributes
    ----------
    pair : str
        What a pair is made of.
    """

    takes = ("history",)
    enough = "the history is enough"
    empty_results = True
    pair: ClassVar[str]

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the history, a list of its own."""
        return ([tuple(record) for record in case.settings["history"]],)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than pairs."""
        pairs = isinstance(got[0], list) and all(
            isinstance(pair, list | tuple) and len(pair) == 2 for pair in got[0]
        )
        return None if pairs else Hint("pairs", f"return a list of pairs: {self.pair}")
