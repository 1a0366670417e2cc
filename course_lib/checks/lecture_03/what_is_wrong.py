"""Which mistake a training run made, from its log: parameters and examples of every rank."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask

ANSWERS = ("fine", "no broadcast", "no all-reduce", "other shuffles")

_LOGS: tuple[tuple[int, str, str], ...] = (
    (4, "fine", ""),
    (4, "no broadcast", "all ranks"),
    (4, "no all-reduce", "all ranks"),
    (4, "other shuffles", "all ranks"),
    (4, "no broadcast", "rank 3"),
    (4, "no all-reduce", "rank 2"),
    (3, "other shuffles", "rank 2"),
    (2, "no broadcast", "rank 1"),
    (2, "fine", ""),
    (1, "fine", ""),
    (3, "no broadcast", "ranks 1 and 2, which differ by as much"),
    (3, "no all-reduce", "rank 1, in the last step"),
    (4, "other shuffles", "one example twice on rank 2"),
    (4, "other shuffles", "one example on ranks 1 and 3, in one step"),
    (4, "other shuffles", "one example in the first and in the last step"),
    (4, "other shuffles", "two examples twice, with the same sum"),
    (4, "no all-reduce", "rank 2, and alike again at the end"),
    (4, "no broadcast", "all ranks, and other shuffles as well"),
    (4, "no broadcast", "rank 1, by the last bit of a small number"),
    (4, "no all-reduce", "rank 1 at the end, by the last bit of its first number"),
    (4, "no all-reduce", "rank 1 at the end, by the last bit of its second number"),
    (4, "fine", "an example left out, and another number in its place"),
)
"""How many ranks, what is wrong, and with whom."""


class WhatIsWrong(LocalTask):
    """The name of the mistake in a log, or ``"fine"``."""

    name = "what_is_wrong"
    title = "Find the bug: tell from a log which mistake a training run made."
    fresh = False
    takes = ("weights", "rows")
    enough = "the log is enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with logs in which all ranks make the mistake; then only one does."""
        for number, (size, wrong, who) in enumerate([*_LOGS, *_LOGS]):
            seed = 0 if number < len(_LOGS) else secret + number
            label = "a log of 1 rank" if size == 1 else f"a log of {size} ranks"
            told = f"{wrong}, {who}" if who else "nothing is wrong"
            told = told.replace("fine", "nothing is wrong")
            yield Case(
                1, label if seed else f"{label}: {told}", seed=seed, calls=1, alone=True,
                settings={"size": size, "wrong": wrong, "who": who},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Train on a few numbers, with the mistake, and keep the log."""
        return _log(case.rng(rank, call), **case.settings)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Name what was planted."""
        return [case.settings["wrong"]]

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say where to look, from what was said and what it should be."""
        right, said = case.settings["wrong"], got[0]
        if not isinstance(said, str) or said not in ANSWERS:
            return Hint("wrong-name", f"return one of {', '.join(map(repr, ANSWERS))}")
        if right in ("fine", "other shuffles") and said in ("no broadcast", "no all-reduce"):
            return Hint(
                "false-alarm", "all ranks hold the very same numbers here, and your test says that "
                "they differ: axis 0 is the step, axis 1 the rank; compare number with number "
                "(!=), because a mean or a std of equal numbers is rounded",
            )  # fmt: skip
        if right == "fine":
            return Hint(
                "false-alarm", "here all ranks hold the same after every step, and every example "
                "was taken once at most: what does your test see?",
            )  # fmt: skip
        if right == "other shuffles":
            return Hint(
                "rows", "the parameters are alike all the time; now look at rows: was each example "
                "taken once, over all ranks and steps?",
            )  # fmt: skip
        if said == "fine":
            return Hint(
                "some-rank-differs", "some number of some rank is not rank 0's: compare all "
                "steps, all ranks and all numbers, and exactly, because copies do not round",
            )  # fmt: skip
        if said == "other shuffles":
            return Hint("asked-too-early", "the spec has an order: the broadcast first, then the "
                        "all-reduce, and the shuffles last; here the ranks differ in weights"
                        )  # fmt: skip
        if right == "no broadcast":
            return Hint(
                "before-the-first-step", "the ranks differ before the first step: ask this first, "
                "of weights[0], number by number (other numbers may have the same sum)",
            )  # fmt: skip
        return Hint(
            "later", "before the first step all ranks are alike: weights[0] is the start, "
            "weights[-1] the end",
        )  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice arrays in a set."""
        if "unhashable type: 'numpy.ndarray'" in text:
            return Hint("three-axes", "rows has three axes, so its items are arrays: take "
                        "np.unique(rows), or the numbers of rows.ravel()")  # fmt: skip
        return None


def _log(rng: np.random.Generator, size: int, wrong: str, who: str) -> tuple[Any, Any]:
    """Fit a line with ``size`` ranks for an epoch of 3 steps, 2 examples a rank and step."""
    n_rows, n_steps = 6 * size, 3
    X, y = rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)
    rows = rng.permutation(n_rows).reshape(n_steps, size, 2)
    w = np.tile(rng.normal(size=2), (size, 1))
    ranks = (
        range(size)
        if who.startswith("all ranks")
        else [int(digit) for digit in re.findall(r"\d", who)]
    )
    if wrong == "other shuffles":
        _shuffle(rows, who, ranks)
    if wrong == "no broadcast":
        _move_apart(w, ranks)
    weights = [w.copy()]
    for step in range(n_steps):
        taken = rows[step]
        errors = np.einsum("pbi,pi->pb", X[taken], w) - y[taken]
        grads = np.einsum("pb,pbi->pi", errors, X[taken]) / 2
        along = np.tile(grads.mean(axis=0), (size, 1))
        if wrong == "no all-reduce" and ("last step" not in who or step == n_steps - 1):
            along[list(ranks)] = grads[list(ranks)]
        w = w - 0.1 * along
        weights.append(w.copy())
    return _retouched(np.array(weights), rows, who)


def _retouched(weights: Any, rows: Any, who: str) -> tuple[Any, Any]:
    """Change a log where no run would be so clear."""
    if "alike again" in who:
        weights[-1] = weights[-1, 0]
    elif "as well" in who:
        rows[1, 2] = rows[0, 2]
    elif "last bit of its" in who:
        weights[:] = weights[:, :1]
        number = int("second" in who)
        weights[-1, 1, number] = np.nextafter(weights[-1, 1, number], 1)
    elif "last bit" in who:
        weights[:] = 1e-3 * weights[:, :1]
        weights[0, 1, 1] = np.nextafter(weights[0, 1, 1], 1)
    elif "left out" in who:
        rows[rows == rows.size - 1] = 2 * rows.size
    return weights, rows


def _shuffle(rows: Any, who: str, ranks: Sequence[int]) -> None:
    """Let examples be taken twice, and as many not at all."""
    flat = rows.reshape(-1)
    if "twice on" in who:
        rows[1, ranks[0], 1] = rows[1, ranks[0], 0]
    elif "in one step" in who:
        rows[1, ranks[1], 0] = rows[1, ranks[0], 0]
    elif "in the last step" in who:
        rows[-1, -1, 1] = rows[0, 0, 0]
    elif "same sum" in who:  # 1 and 4 become 2 and 3
        flat[flat == 1], flat[flat == 4] = 2, 3
    else:
        order = flat.copy()
        for rank in ranks:
            own = np.roll(order, 1 + 2 * rank).reshape(rows.shape)
            rows[:, rank] = own[:, rank]


def _move_apart(w: Any, ranks: Sequence[int]) -> None:
    """Change starts by so little that a tolerance would miss it."""
    if len(ranks) == 2:  # neither the mean over ranks nor the sum of parameters shows it
        w[ranks[0]] += (1e-9, -1e-9)
        w[ranks[1]] += (-1e-9, 1e-9)
        return
    for rank in ranks:
        w[rank, 1] += 1e-9 * (1 + rank)


TASK = WhatIsWrong()
