"""Which mistake a training run made, from its loss curves and one machine's."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask

ANSWERS = ("fine", "no broadcast", "no all-reduce", "sum for mean", "divided twice")

_RUNS: tuple[tuple[int, str, float, str], ...] = (
    (4, "fine", 0.05, ""),
    (4, "no broadcast", 0.05, "on all ranks"),
    (4, "no all-reduce", 0.05, "on all ranks"),
    (4, "sum for mean", 0.05, ""),
    (4, "divided twice", 0.05, ""),
    (4, "sum for mean", 1.0, "at a rate at which it climbs"),
    (2, "divided twice", 0.01, ""),
    (2, "sum for mean", 0.01, ""),
    (8, "fine", 0.1, "the ranks add in another order than one machine"),
    (3, "no broadcast", 0.05, "on rank 2, by very little"),
    (3, "no all-reduce", 0.05, "on rank 2, in the last step"),
    (1, "fine", 0.05, ""),
)
"""How many ranks, what is wrong, the learning rate, and what is special about it."""


class DiagnoseCurve(LocalTask):
    """The name of the mistake in a run's curves, or ``"fine"``."""

    name = "diagnose_curve"
    title = "Tell from loss curves which mistake a training run made."
    fresh = False
    takes = ("losses", "alone")
    enough = "the two tables are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one run of each kind, then those that are hard to see."""
        for number, (size, wrong, rate, special) in enumerate([*_RUNS, *_RUNS]):
            seed = 0 if number < len(_RUNS) else secret + number
            ranks = "1 rank" if size == 1 else f"{size} ranks"
            told = f": {wrong}{', ' * bool(special)}{special}" * (seed == 0)
            yield Case(
                1, f"a run of {ranks}{told}", seed=seed, calls=1, alone=True,
                settings={"size": size, "wrong": wrong, "rate": rate, "special": special},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Train with the mistake, and on one machine; draw again where it does not show."""
        rng, planted = case.rng(rank, call), case.settings
        while True:
            curves = _curves(rng, **planted)
            if _shows(*curves, planted["wrong"], planted["special"]):
                return curves

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
        if right == "fine":
            return Hint("false-alarm", "the ranks agree with each other, and with one machine but "
                        "for the last digits: sums in another order round otherwise")  # fmt: skip
        if right == "no broadcast":
            return Hint("before-the-first-step", "losses[0] is what the ranks start from: compare "
                        "all of them, and exactly")  # fmt: skip
        if right == "no all-reduce":
            return Hint("later", "the ranks start alike and part later, perhaps one of them and "
                        "late: compare all rows of losses")  # fmt: skip
        if said in ("no broadcast", "no all-reduce"):
            return Hint("ranks-agree", "all ranks have the same losses here: compare one of them "
                        "with one machine")  # fmt: skip
        if said == "fine":
            return Hint("falls-is-no-proof", "the loss falls, and yet this is not the curve of one "
                        "machine: compare the two, step by step")  # fmt: skip
        return Hint(
            "first-step", "before the first step both are at one place; whose first step changes "
            "the loss by more, up or down? P times too long, or P times too short",
        )  # fmt: skip


def _curves(
    rng: np.random.Generator, size: int, wrong: str, rate: float, special: str
) -> tuple[Any, Any]:
    """Fit a plane with ``size`` ranks, 4 examples each, for 6 steps; give all losses."""
    n_steps, n_rows = 6, 4 * size
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 2))])
    y = X @ np.array([3.0, -2.0, 1.0]) + rng.normal(size=n_rows)
    start = rng.normal(size=3)
    w = np.tile(start, (size, 1))
    if wrong == "no broadcast":
        alone_differs = 1e-7 if "little" in special else 1.0
        w[-1 if "rank 2" in special else 1 :] += alone_differs * rng.normal(size=3)
    losses, alone, one = [_losses(w, X, y)], [_losses(start[None], X, y)[0]], start
    long = {"sum for mean": size, "divided twice": 1 / size}.get(wrong, 1.0)
    parts = [slice(4 * rank, 4 * rank + 4) for rank in range(size)]
    for step in range(n_steps):
        grads = np.array([
            X[part].T @ (X[part] @ mine - y[part]) / 4 for part, mine in zip(parts, w, strict=True)
        ])  # fmt: skip
        along = np.tile(long * (sum(grads) / size), (size, 1))
        if wrong == "no all-reduce" and ("last" not in special or step == n_steps - 1):
            own = [-1] if "rank 2" in special else range(size)
            along[own] = grads[own]
        w = w - rate * along
        one = one - rate * X.T @ (X @ one - y) / n_rows
        losses.append(_losses(w, X, y))
        alone.append(_losses(one[None], X, y)[0])
    return np.array(losses), np.array(alone)


def _shows(losses: Any, alone: Any, wrong: str, special: str) -> bool:
    """Tell whether the mistake is to be seen, by far more than rounding."""
    if wrong == "fine":
        return bool(np.allclose(losses, alone[:, None], rtol=1e-12, atol=0))
    if wrong in ("no broadcast", "no all-reduce"):
        apart = np.ptp(losses, axis=1) > 1e-12 * losses[:, 0]
        return bool(apart[-1] and apart[0] == (wrong == "no broadcast"))
    change, right = losses[1, 0] - losses[0, 0], alone[1] - alone[0]
    further = bool(abs(change) > 1.2 * abs(right))
    nearer = bool(abs(right) > 1.2 * abs(change))
    climbs = "climbs" not in special or change > 0
    return (further if wrong == "sum for mean" else nearer) and climbs


def _losses(w: Any, X: Any, y: Any) -> list[float]:
    """Half the mean squared error on all examples, of each rank's parameters."""
    return [float(((X @ mine - y) ** 2).mean() / 2) for mine in w]


TASK = DiagnoseCurve()
