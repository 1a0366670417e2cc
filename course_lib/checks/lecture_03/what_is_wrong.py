"""Which mistake a training run made, from its log: parameters and examples of every rank."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, Price, Task

ANSWERS = ("fine", "no broadcast", "no all-reduce", "other shuffles")

_LOGS = (
    (4, "fine", range(4)),
    (4, "no broadcast", range(4)),
    (4, "no all-reduce", range(4)),
    (4, "other shuffles", range(4)),
    (4, "no broadcast", (3,)),
    (4, "no all-reduce", (2,)),
    (3, "other shuffles", (2,)),
    (2, "no broadcast", (1,)),
    (2, "fine", ()),
)
"""How many ranks, what is wrong, and with which of them."""


class WhatIsWrong(Task):
    """The name of the mistake in a log, or ``"fine"``."""

    name = "what_is_wrong"
    title = "Find the bug: tell from a log which mistake a training run made."
    talks = False
    fresh = False
    takes = ("weights", "rows")
    enough = "the log is enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with logs in which all ranks make the mistake; then only one does."""
        for number, (size, wrong, ranks) in enumerate([*_LOGS, *_LOGS]):
            seed = 0 if number < len(_LOGS) else secret + number
            who = "all ranks" if len(ranks) == size else f"rank {ranks[0]}" if ranks else "nobody"
            label = f"a log of {size} ranks"
            yield Case(
                1, label if seed else f"{label}: {_told(wrong, who)}", seed=seed, calls=1,
                alone=True, settings={"size": size, "wrong": wrong, "ranks": tuple(ranks)},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Train on a few numbers, with the mistake, and keep the log."""
        return _log(case.rng(rank, call), **case.settings)

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Call the function: it needs no communicator."""
        return fn(*arguments)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Name what was planted."""
        return [case.settings["wrong"]]

    def price(self, case: Case) -> Price:
        """Cost nothing."""
        return Price(0, 0, 0)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say where to look, from what was said and what it should be."""
        right, said = case.settings["wrong"], got[0]
        if not isinstance(said, str) or said not in ANSWERS:
            return Hint("wrong-name", f"return one of {', '.join(map(repr, ANSWERS))}")
        if right == "fine":
            return Hint(
                "false-alarm", "here all ranks hold the same after every step, and every example "
                "was taken once: what does your test see?",
            )  # fmt: skip
        if right == "other shuffles":
            return Hint(
                "rows", "the parameters are alike all the time; now look at rows: was each example "
                "taken once, over all ranks and steps?",
            )  # fmt: skip
        if said in ("fine", "other shuffles"):
            return Hint(
                "some-rank-differs", "some number of some rank is not rank 0's: compare all ranks "
                "and all numbers, and exactly, because copies do not round",
            )  # fmt: skip
        if right == "no broadcast":
            return Hint(
                "before-the-first-step", "the ranks differ before the first step: see weights[0]"
            )
        return Hint(
            "later", "before the first step all ranks are alike: weights[0] is the start, "
            "weights[-1] the end",
        )  # fmt: skip


def _told(wrong: str, who: str) -> str:
    return "nothing is wrong" if wrong == "fine" else f"{wrong}, {who}"


def _log(rng: np.random.Generator, size: int, wrong: str, ranks: Sequence[int]) -> tuple[Any, Any]:
    """Fit a line with ``size`` ranks for an epoch of 3 steps, 2 examples a rank and step."""
    n_rows, n_steps = 6 * size, 3
    X, y = rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)
    orders = np.tile(rng.permutation(n_rows), (size, 1))
    w = np.tile(rng.normal(size=2), (size, 1))
    for rank in ranks:
        if wrong == "other shuffles":
            orders[rank] = np.roll(orders[rank], 1 + 2 * rank)
        if wrong == "no broadcast":
            w[rank, 1] += 1e-9 * (1 + rank)  # small enough to be missed by a tolerance
    rows = np.array([order.reshape(n_steps, size, 2)[:, rank] for rank, order in enumerate(orders)])
    weights = [w.copy()]
    for step in range(n_steps):
        taken = rows[:, step]
        errors = np.einsum("pbi,pi->pb", X[taken], w) - y[taken]
        grads = np.einsum("pb,pbi->pi", errors, X[taken]) / 2
        along = np.tile(grads.mean(axis=0), (size, 1))
        if wrong == "no all-reduce":
            along[list(ranks)] = grads[list(ranks)]
        w = w - 0.1 * along
        weights.append(w.copy())
    return np.array(weights), rows.swapaxes(0, 1)


TASK = WhatIsWrong()
