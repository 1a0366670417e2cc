"""What is wrong with a split layer, told from its bytes and its values."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask

Array = NDArray[np.float64]

NAMES = ("right", "bias of every rank", "no bias", "other values", "too many bytes")
"""What an answer may be."""


class SplitFault(LocalTask):
    """Name the fault of a layer split by rows."""

    name = "split_fault"
    title = "Find the bug: say what is wrong with a split layer, by its bytes and its values."
    takes = ("ranks", "sent", "budget", "split", "whole", "bias")
    enough = "comparing arrays is enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with the bias of every rank; every fault is tried with biases that are 0, too."""
        kinds = ("bias of every rank", "right", "no bias", "too many bytes", "other values")
        for number, kind in enumerate(kinds):
            yield _case(4, kind, f"run {number + 1}")
        more = ("not summed", "first bias 0", "all biases 0", "one wrong number", "mean",
                "nearly no bias", "nearly all", "wrong, and too many bytes",
                "errors that cancel", "a bias more each", "8 bytes too many",
                "fewer bytes")  # fmt: skip
        for number, kind in enumerate((*kinds, *more)):
            P = 2 + (secret + number) % 3
            yield _case(P, kind, f"{P} ranks, random run {number + 1}", secret + number)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make outputs whose sum was added up in another order, with the fault in them."""
        kind, P, rng = case.settings["kind"], case.settings["ranks"], case.rng(rank, call)
        bias = np.round(rng.normal(size=5), 2) + 0.25
        bias[0] *= kind != "first bias 0"
        bias *= kind != "all biases 0"
        parts = [rng.normal(size=(3, 5)) for _ in range(P)]
        whole: Array = np.sum(parts, axis=0) + bias
        split: Array = sum(parts[::-1]) + bias  # the same but for rounding
        if kind in ("bias of every rank", "first bias 0", "nearly all"):
            split = np.sum([part + bias for part in parts], axis=0)
            split[-1, -1] += 1e-3 * (kind == "nearly all")
        elif kind in ("no bias", "nearly no bias"):
            split = np.sum(parts[::-1], axis=0)
            split[-1, -1] += 1e-3 * (kind == "nearly no bias")
        elif kind == "a bias more each":
            split = split + P * bias
        elif kind == "not summed":
            split = parts[0] + bias
        elif kind == "mean":
            split = np.mean(parts, axis=0) + bias
        elif kind in _WRONG:
            split = split.copy()
            split[-1, -1] += 1e-3 if kind == "one wrong number" else 0.5
            split[0, -1] -= 0.5 * (kind == "errors that cancel")
        budget = 2 * (P - 1) * 240 // P
        sent = 0 if kind == "not summed" else 3 * budget if "too many" in kind else budget
        sent = {"8 bytes too many": budget + 8, "fewer bytes": budget // 2}.get(kind, sent)
        return P, sent, budget, split, whole, bias

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Know which fault was put in."""
        known = {"first bias 0": "bias of every rank", "all biases 0": "right",
                 "8 bytes too many": "too many bytes", "fewer bytes": "right"}  # fmt: skip
        kind = case.settings["kind"]
        return [kind if kind in NAMES else known.get(kind, "other values")]

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say what a wrong name overlooks."""
        said, right = got[0], self.expected(case, arguments)[0]
        if not isinstance(said, str) or said not in NAMES:
            return Hint("wrong-name", f"return one of {', '.join(map(repr, NAMES))}, nothing else")
        return next(
            (Hint(hint_id, text) for wanted, saids, hint_id, text in _OVERLOOKED
             if right == wanted and said in saids),
            Hint("other-fault", f"a run in which {right!r} is the answer: subtract whole from "
                 "split, and compare with the bias"),
        )  # fmt: skip


_WRONG = ("other values", "one wrong number", "wrong, and too many bytes", "errors that cancel")
_WRONG_VALUES = ("bias of every rank", "no bias", "other values")
_OVERLOOKED = (
    ("bias of every rank", ("right", "too many bytes"), "looks-at-bytes-only", "the bytes are as "
     "they should be, and the values are not: compare split with whole"),
    ("bias of every rank", ("other values",), "how-many-biases", "whole has the bias once: split "
     "has ranks - 1 biases more, and some biases may be 0"),
    ("bias of every rank", ("no bias",), "sign", "a bias too few makes split smaller by one bias, "
     "ranks - 1 too many make it larger"),
    ("no bias", ("bias of every rank",), "sign", "a bias too few makes split smaller by one bias, "
     "ranks - 1 too many make it larger"),
    ("no bias", ("right", "too many bytes"), "looks-at-bytes-only", "the bytes are as they should "
     "be, and the values are not: compare split with whole"),
    ("no bias", ("other values",), "one-bias-too-few", "split is whole less one bias here: that "
     "has a name of its own"),
    ("right", _WRONG_VALUES, "rounding", "sums in another order differ in their last bits: compare "
     "with a tolerance (np.allclose); biases may all be 0"),
    ("too many bytes", _WRONG_VALUES, "rounding", "sums in another order differ in their last "
     "bits: compare with a tolerance (np.allclose)"),
    ("too many bytes", ("right",), "ignores-bytes", "the values are right, but more than the "
     "budget was sent"),
    ("right", ("too many bytes",), "budget-allowed", "as much as the budget may be sent"),
    ("other values", ("right",), "one-number-only", "all numbers count, each by itself: one "
     "or two of them are wrong here"),
    ("other values", ("too many bytes",), "looks-at-bytes-only", "look at the values first: they "
     "are wrong"),
    ("other values", ("bias of every rank", "no bias"), "not-the-bias", "the difference must be "
     "-1 or ranks - 1 times the bias, in *every* number of every row, to be charged to the bias"),
)  # fmt: skip


def _case(ranks: int, kind: str, label: str, seed: int = 0) -> Case:
    return Case(1, label, seed, 1, alone=True, settings={"ranks": ranks, "kind": kind})


TASK = SplitFault()
