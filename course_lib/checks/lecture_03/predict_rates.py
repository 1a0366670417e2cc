"""The learning rate after the number of workers has changed, predicted and measured."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.plain import plain_number
from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.checks.task import Case, Given, Hint
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run


class PredictRates(PredictTask):
    """By what to multiply the learning rate, so that an epoch goes as far as before."""

    name = "predict_rates"
    title = "Predict the learning rate for another number of workers, then measure it."
    questions = ("n_before", "n_after")
    other_number = (
        "how far does an epoch go if all examples have the gradient 1: steps x length of a step? "
        "{name} is the distance before, divided by the distance after"
    )

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with twice as many workers."""
        return (2, 4), (1, 5), (8, 2), (3, 5), (12, 1), (8, 3)

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Walk an epoch along a gradient of 1, with either number of workers."""
        n_before, n_after = numbers
        n_rows = 4 * n_before * n_after

        def factor(how: str, before: int, after: int) -> float:
            ways = [
                run(_way, n_rows // batch, how, workers=n, backend="simulated").values[0]
                for n, batch in ((n_before, before), (n_after, after))
            ]
            return float(ways[0] / ways[1])

        same, own = (n_before * n_after,) * 2, (2 * n_before, 2 * n_after)
        return {
            "same_batch_mean": factor("mean", *same),
            "same_batch_sum": factor("sum", *same),
            "own_batch_mean": factor("mean", *own),
            "own_batch_sum": factor("sum", *own),
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        before, after = numbers
        more = after / before
        same = "the batch is the same, and so is its mean: the number of workers is not seen at all"
        grown = (
            f"an epoch has {before} steps now where it had {after}: to go as far, each has to be "
            f"{after}/{before} times as long, a factor above 1 or below"
        )
        summed = (
            f"{after} workers add up {after} means, where {before} added up {before}: the step is "
            f"{after}/{before} times as long already; factors may lie above 1 or below"
        )
        cancel = (
            f"the sum makes a step {after}/{before} times as long, and an epoch has {before} steps "
            f"where it had {after}: the two cancel"
        )
        turned = "turned round: is the rate to grow or to shrink when workers are added?"
        root = "the square root is another rule; here an epoch is to go exactly as far as before"
        return {
            "same_batch_mean": [("batch-stays", same, more), ("batch-stays", same, 1 / more)],
            "same_batch_sum": [
                ("turned-round", turned, more), ("sum-grows", summed, 1.0),
                ("square-root", root, math.sqrt(1 / more)),
            ],
            "own_batch_mean": [
                ("turned-round", turned, 1 / more), ("fewer-steps", grown, 1.0),
                ("square-root", root, math.sqrt(more)),
            ],
            "own_batch_sum": [
                ("sum-grows", cancel, more), ("sum-grows", cancel, 1 / more),
                ("square-root", root, math.sqrt(more)),
            ],
        }  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a factor without its fraction."""
        hint = super().explain(case, arguments, got, wrong)
        if hint is None or hint.id not in ("other-number", "nearly"):
            return hint
        found = plain_number(got[0][wrong.where.strip("'")])
        before, after = case.settings["numbers"]
        if found in (before // after, after // before):
            return Hint("floor", "// throws the fraction away: divide with /")
        return hint


def _way(comm: Communicator, n_steps: int, how: str) -> float:
    """How far ``n_steps`` steps go, each along every rank's mean gradient of 1, at rate 1."""
    from course_lib.collectives import allreduce_ring

    way = np.zeros(1)
    for _ in range(n_steps):
        summed = allreduce_ring(comm, np.ones(1))
        way += summed / comm.size if how == "mean" else summed
    return float(way[0])


TASK = PredictRates()
