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

_SLOW, _FAST = (1.0, 0.9, 0.8, 0.7, 0.6), (1.0, 0.7, 0.6, 0.55, 0.5)
_BY_HAND: tuple[tuple[str, str, tuple[float, ...], tuple[float, ...], float], ...] = (
    ("sum for mean", "faster at first, higher at the end", (52.0, 15.7, 9.0, 6.0, 4.0),
     (52.0, 39.0, 20.0, 5.0, 0.3), 1),
    ("sum for mean", "only the first step is longer", (1.0, 0.5, 0.9, 0.9, 0.9), _SLOW, 1),
    ("sum for mean", "the second step is the longest", _FAST, (1.0, 0.9, 0.4, 0.35, 0.3), 1),
    ("divided twice", "the second step is the longest", (1.0, 0.9, 0.4, 0.35, 0.3), _FAST, 1),
    ("sum for mean", "the curves meet at the end", (1.0, 0.7, 0.65, 0.62, 0.6), _SLOW, 1),
    ("sum for mean", "other by 3e-7", (1.0, 0.9 - 3e-7, 0.8, 0.7, 0.6), _SLOW, 1),
    ("sum for mean", "losses of 1e-9", _FAST, _SLOW, 1e-9),
    ("fine", "losses of a million", tuple(v * (1 + 1e-12) for v in _SLOW), _SLOW, 1e6),
    ("no broadcast", "rank 1 of 4 alone, by the last bit", _SLOW, _SLOW, 1),
    ("no all-reduce", "rank 1 of 4 alone, by the last bit", _SLOW, _SLOW, 1),
    ("no all-reduce", "apart in the middle, alike at the end", _SLOW, _SLOW, 1),
)  # fmt: skip
"""What is wrong, what is special about it, rank 0's curve, one machine's, and their unit."""


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
        for wrong, special, mine, alone, unit in _BY_HAND:
            yield Case(
                1, f"a run of 4 ranks: {wrong}, {special}", calls=1, alone=True,
                settings={"wrong": wrong, "special": special, "by_hand": (mine, alone, unit)},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Train with the mistake, and on one machine; draw again where it does not show."""
        rng, planted = case.rng(rank, call), case.settings
        if "by_hand" in planted:
            return _by_hand(planted["wrong"], planted["special"], *planted["by_hand"])
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
                        "all of them, and exactly, before you ask anything else")  # fmt: skip
        if right == "no all-reduce":
            return Hint("later", "the ranks start alike and part later, perhaps one of them and "
                        "late: compare all rows of losses, and before you compare with one machine"
                        )  # fmt: skip
        if said in ("no broadcast", "no all-reduce"):
            return Hint("ranks-agree", "all ranks have the same losses here: compare one of them "
                        "with one machine")  # fmt: skip
        if said == "fine":
            return Hint("falls-is-no-proof", "this is not one machine's curve, so it is not fine: "
                        "compare all steps, relative to the loss (1e-9), with no other threshold; "
                        "then the first step alone says which mistake it is, however much "
                        "it differs")  # fmt: skip
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


def _by_hand(
    wrong: str, special: str, mine: Sequence[float], alone: Sequence[float], unit: float
) -> tuple[Any, Any]:
    """Give four ranks the same curve, and let rank 1 leave it where ranks differ."""
    losses = np.tile(np.array(mine)[:, None] * unit, (1, 4))
    steps = {"no broadcast": slice(None), "no all-reduce": slice(1, None)}.get(wrong, slice(0))
    steps = slice(2, 3) if "middle" in special else steps
    losses[steps, 1] = np.nextafter(losses[steps, 1], np.inf)
    return losses, np.array(alone) * unit


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
