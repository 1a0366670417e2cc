"""Reduce, update, and send the new model to all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, differing_bits
from course_lib.checks.lecture_02.routes import all_to_all
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace import fingerprint
from course_lib.trace.trace import Trace


class Combine(Task):
    """``w - step_size * (sum of all grad_partial)`` on every rank."""

    name = "combine"
    title = "Add the partial sums on rank 0, update the model there, and send it to all."
    takes = ("grad_partial", "w", "step_size")
    layout, roles = "star", {0: "combiner"}
    deadlock_hint = (
        "rank 0 receives P - 1 partial sums and then sends P - 1 models; any other rank sends one "
        "and then receives one"
    )
    rounding_terms = 32
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "each rank sends its partial sum to rank 0 only, and rank 0 the model "
        "to each: P - 1 messages in, P - 1 out, in a step",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with partial sums whose total can be decoded."""
        for size in ALL_SIZES:
            yield Case(size, "3 parameters", calls=1, settings={"n": 3})
        for number, size in enumerate(ALL_SIZES):
            for n in (1, 11, 3000):
                yield Case(
                    size, f"{n:,} parameters, random", seed=secret + number,
                    rendezvous=n == 11, stagger=n == 1, settings={"n": n},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's partial sum, and the w and step size that all share."""
        n = case.settings["n"]
        if case.seed == 0:
            grad_partial = np.full(n, float(fingerprint.weight(rank, case.workers)))
            return grad_partial, np.arange(1.0, n + 1), 0.75
        shared = case.rng(case.workers, call)  # no rank has this number: the same for all
        w, step_size = shared.normal(size=n), float(shared.uniform(0.01, 0.5))
        return case.rng(rank, call).normal(size=n), w, step_size

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Sum over ranks, step once."""
        _, w, step_size = arguments[0]
        total = np.sum([grad_partial for grad_partial, _, _ in arguments], axis=0)
        return [w - step_size * total] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number on the way."""
        largest = max(float(np.abs(grad_partial).max()) for grad_partial, _, _ in arguments)
        return float(np.abs(arguments[0][1]).max()) + arguments[0][2] * largest

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with the right model, and the ranks' models with each other: to the last bit."""
        return super().compare(case, arguments, got) or differing_bits(got, "models")

    def price(self, case: Case) -> Price:
        """Send P - 1 partial sums in and P - 1 models out, all over rank 0's NIC."""
        n, others = case.settings["n"], case.workers - 1
        if not others:
            return Price(0, 0, 0)
        update_s = 2 * n / DEFAULT.speeds(case.workers)[0]
        seconds = 2 * (DEFAULT.latency_s + others * 8 * n * DEFAULT.beta_s_per_byte) + update_s
        return Price(2 * others, 2 * others * 8 * n, others * 8 * n, seconds)

    def budget(self, case: Case) -> Price:
        """Leave room in time for other orders and for trees."""
        price = self.price(case)
        return price._replace(seconds=price.seconds and case.workers * price.seconds)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        size = case.workers
        parts = [grad_partial for grad_partial, _, _ in arguments]
        _, w, step = arguments[0]
        total = np.sum(parts, axis=0)
        right = w - step * total
        for hint_id, text, of_rank_0, of_others in (
            ("sum-returned", "this is the sum of the gradients; return the model", total, total),
            ("wrong-sign", "this climbs: the new model is w minus step_size times the sum",
             w + step * total, w + step * total),
            ("divides-by-ranks", "divided by the number of ranks: step_size has the division in it",
             w - step * total / size, w - step * total / size),
            ("no-step-size", "the sum is to be multiplied by step_size", w - total, w - total),
            ("no-step-size", "multiply the sum by step_size, not w", *[step * (w - total)] * 2),
            ("old-model-sent", "the others have the old model: update, then send it; and they keep "
             "what arrives, w = comm.recv(...)", right, w),
            ("step-size-twice", "step_size is in it twice: multiply the sum by it once",
             *[w - step**2 * total] * 2),
            ("not-updated", "the model is the old one: where is the update?", w, w),
            ("sum-sent", "the others get the sum of the gradients; send the model", right, total),
            ("updates-twice", "the update was made twice: on rank 0, and again by the receivers",
             right, right - step * total),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [of_rank_0, *[of_others] * (size - 1)])
        so_far = [np.sum(parts[: rank + 1], axis=0) for rank in range(size)]
        for others in ([w - step * part for part in so_far], so_far):
            yield Mistake(
                "answers-early",
                "rank 0 answers each rank inside its receiving loop, when the partial sums of the "
                "later ones are not in yet: receive all, update, and only then send",
                [right, *others[1:]],
            )
        yield Mistake(
            "own-gradient-only",
            "every rank steps by its own partial sum: nothing is combined",
            [w - step * part for part in parts],
        )

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Decode whose partial sums are in the first wrong model."""
        if wrong.where == "bits":
            return Hint(
                "last-bits", "each rank adds in another order: let one rank compute, and send its w"
            )
        rank = wrong.rank
        if case.seed != 0 or rank is None or "should be" not in wrong.says:
            return None
        _, w, step_size = arguments[0]
        total = float((w[0] - got[rank][0]) / step_size)
        found = fingerprint.counts(total, case.workers)
        right = [1] * case.workers
        if found is None or found == right:
            return None
        if not all(np.array_equal(other, got[rank]) for other in got):
            return None  # some ranks have another model: that says more than the sum
        told = fingerprint.describe(found, right, "partial sums")
        return Hint("wrong-sum", f"on every rank {told}")

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Notice partial sums that go to everybody."""
        return all_to_all(case.workers, case.calls, trace)


TASK = Combine()
