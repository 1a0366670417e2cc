"""Which steps a host takes that dies, and goes on from what it has saved."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference, as_list
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK"]


class StepsDone(LocalTask):
    """The numbers of all steps in the order in which they are taken, those done again too."""

    name = "steps_done"
    title = "List the steps that a training takes, with those that are done again."
    takes = ("n_steps", "every", "deaths")
    forbidden = ("course_lib.lectures", "course_lib.train")
    enough = "a loop is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with no death, then one at each place of an interval, then several."""
        for label, *numbers in _FIXED:
            yield _case(label, *numbers)
        rng = np.random.default_rng([secret, 122])
        for _ in range(4):
            n_steps, every = int(rng.integers(6, 20)), int(rng.integers(1, 6))
            deaths = tuple(int(k) for k in rng.integers(0, 9, int(rng.integers(1, 5))))
            yield _case("drawn at random", n_steps, every, deaths)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the numbers."""
        return tuple(case.settings["numbers"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Play it."""
        return [_played(*arguments[0])]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take an array for a list."""
        return super().compare(case, arguments, [as_list(value) for value in got])

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        n_steps, every, deaths = arguments[0]
        right = _played(n_steps, every, deaths)
        for hint_id, text, steps in (
            ("not-from-the-start", "what was saved need not be done again: go on from there",
             _played(n_steps, n_steps + 1, deaths)),
            ("since-the-last-save", "what was done since the last checkpoint is lost: it is done "
             "again, and stands in the list twice", list(range(1, n_steps + 1))),
            ("next-one", "a checkpoint after step k has it: the next step is k + 1",
             _played(n_steps, every, deaths, back=1)),
            ("next-one", "a checkpoint after step k has it, and not yet k + 1",
             _played(n_steps, every, deaths, back=-1)),
            ("number-of-the-step", "it saves after the steps whose numbers are multiples of every, "
             "however many it has taken since it started", _by_count(n_steps, every, deaths)),
            ("every-death", "it dies more than once", _played(n_steps, every, deaths[:1])),
            ("since-it-started", "a death counts the steps since the start before it, not since "
             "the beginning", _from_the_beginning(n_steps, every, deaths)),
            ("step-that-ends", "the step after which it dies was taken",
             _played(n_steps, every, tuple(max(k - 1, 0) for k in deaths))),
            ("saved-before-it-dies", "if it dies after a step that is saved, that one is saved",
             _played(n_steps, every, deaths, late=True)),
            ("at-the-end", "it ends as soon as the last step is taken: it does not die then, and "
             "does nothing again", right + list(range(n_steps // every * every + 1, n_steps + 1))),
            ("order", "in the order in which they are taken", sorted(right)),
            ("first-is-1", "the first step has the number 1", [step - 1 for step in right]),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [steps])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a number in place of the list."""
        if isinstance(got[0], int):
            return Hint("a-list", "the numbers of the steps are asked for, not how many there are")
        return None


def _played(
    n_steps: int, every: int, deaths: Sequence[int], back: int = 0, late: bool = False
) -> list[int]:
    """Play a training; ``back`` and ``late`` are mistakes in where it goes on."""
    steps: list[int] = []
    saved = 0
    for after in (*deaths, None):
        step = min(max(saved - back, 0), n_steps) if saved else 0
        taken = 0
        while step < n_steps and taken != after and taken < 1000:
            step, taken = step + 1, taken + 1
            steps.append(step)
            if step % every == 0 and not (late and taken == after):
                saved = step
        if step == n_steps:
            break
    return steps


def _by_count(n_steps: int, every: int, deaths: Sequence[int]) -> list[int]:
    steps: list[int] = []
    saved = 0
    for after in (*deaths, None):
        step, taken = saved, 0
        while step < n_steps and taken != after:
            step, taken = step + 1, taken + 1
            steps.append(step)
            if len(steps) % every == 0:
                saved = step
        if step == n_steps:
            break
    return steps


def _from_the_beginning(n_steps: int, every: int, deaths: Sequence[int]) -> list[int]:
    steps: list[int] = []
    saved = 0
    for after in (*deaths, None):
        step = saved
        while step < n_steps and (after is None or len(steps) < after):
            step += 1
            steps.append(step)
            if step % every == 0:
                saved = step
        if step == n_steps:
            break
    return steps


def _case(label: str, *numbers: Any) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"numbers": numbers})


_FIXED: tuple[tuple[str, int, int, tuple[int, ...]], ...] = (
    ("nobody dies", 6, 2, ()),
    ("it dies between two checkpoints", 8, 3, (5,)),
    ("it dies right after a checkpoint", 6, 2, (4,)),
    ("it would die a second time after the end", 12, 5, (7, 9)),
    ("it dies twice", 8, 3, (5, 2)),
    ("it dies before it has saved", 5, 4, (3,)),
    ("it dies again in what it does again", 9, 4, (6, 1, 3)),
    ("it dies before the first step", 4, 2, (0, 3)),
    ("it would die after the end", 5, 2, (7,)),
    ("it dies after the last step", 4, 2, (4, 1)),
    ("it dies after the last step, which is not saved", 7, 3, (7, 2)),
)

TASK = StepsDone()
