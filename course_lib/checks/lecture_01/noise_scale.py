"""How noisy one example's gradient is, compared with the gradient itself."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake


class NoiseScale(LocalTask):
    """Mean squared distance from the mean gradient, over the mean gradient's squared length."""

    name = "noise_scale"
    title = "Estimate at which batch size noise and gradient are equally large."
    takes = ("gradients",)
    enough = "NumPy is enough"
    forbidden = ("course_lib.models.landscape",)
    rounding_terms = 256

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with three examples that can be computed by hand."""
        yield Case(1, "3 examples, 2 parameters", alone=True, settings={"shape": (3, 2)})
        yield Case(1, "20 examples, 3 parameters, gradients of about 1e-6", seed=1, alone=True,
                   settings={"shape": (20, 3), "unit": 1e-6})  # fmt: skip
        for number, shape in enumerate([(4, 3), (3, 4), (1, 5), (50, 7), (200, 2), (6, 6)]):
            yield Case(
                1, f"{shape[0]} examples, {shape[1]} parameters", seed=secret + number,
                alone=True, settings={"shape": shape},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make one gradient a row."""
        if case.seed == 0:
            return (np.array([[7.0, 1.0], [1.0, 7.0], [4.0, 1.0]]),)
        rng, (n_examples, n_parameters) = case.rng(rank, call), case.settings["shape"]
        mean = rng.uniform(1, 3, size=n_parameters) * rng.choice([-1, 1], size=n_parameters)
        noise = rng.normal(size=(n_examples, n_parameters)) * (1 + np.arange(n_parameters))
        return ((mean + noise) * case.settings.get("unit", 1.0),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Divide the spread by the squared length."""
        (gradients,) = arguments[0]
        mean = gradients.mean(axis=0)
        return [float(((gradients - mean) ** 2).sum(axis=1).mean() / (mean @ mean))]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number on the way."""
        (gradients,) = arguments[0]
        mean = gradients.mean(axis=0)
        return float((gradients**2).sum(axis=1).max() / (mean @ mean))

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (gradients,) = arguments[0]
        n_examples, n_parameters = gradients.shape
        mean = gradients.mean(axis=0)
        squared, length = ((gradients - mean) ** 2).sum(axis=1), float(mean @ mean)
        if n_examples == 1:  # no noise
            return
        right, spread = float(squared.mean()) / length, float(gradients.std(axis=0).sum())
        of_rows = gradients.mean(axis=1)
        from_rows = ((gradients - of_rows[:, None]) ** 2).sum(axis=0).mean()
        for hint_id, text, value in (
            ("upside-down", "noise is divided by the gradient, not the other way round", 1 / right),
            ("not-squared", "both lengths are squared: at the batch size B the squared noise is "
             "spread / B", float(np.sqrt(squared).mean()) / np.sqrt(length)),
            ("not-squared", "first the squares, then the mean: this is the mean distance, squared",
             float(np.sqrt(squared).mean()) ** 2 / length),
            ("not-squared", "square the length of the mean gradient, too",
             right * np.sqrt(length)),
            ("root", "this is its root: noise and gradient are equal where spread / B is the "
             "gradient's squared length", np.sqrt(right)),
            ("sum-over-examples", "the mean over the examples, not the sum", right * n_examples),
            ("mean-over-parameters", "the sum over the parameters makes the squared length; take "
             "the mean over the examples only", right / n_parameters),
            *(("variance-of-all", "this is the variance of all numbers around one common mean: "
               "each parameter has a mean of its own, and the variances are added up: "
               "var(axis=0).sum()", float(gradients.var()) / squared_mean)
              for squared_mean in (length, float(gradients.mean()) ** 2)),
            *(("standard-deviations", "add up variances, not standard deviations: lengths are "
               "squared one by one", spread**power / length) for power in (1, 2)),
            ("not-centred", "subtract the mean gradient: noise is the distance from it",
             float((gradients**2).sum(axis=1).mean()) / length),
            ("mean-of-lengths", "the mean first, then its length: here the lengths of single "
             "gradients were taken",
             float(squared.mean()) / float((gradients**2).sum(axis=1).mean())),
            *(("small-gradients", "something small is added to the squared length, against a "
               "division by 0: near the end of a training all gradients are as small",
               float(squared.mean()) / (length + 10.0**-n)) for n in range(4, 17)),
            ("spread-only", "this is the spread: divide by the squared length of the mean gradient",
             right * length),
            ("unbiased", "spread / m is subtracted below: the plain squared length is asked for",
             right / (1 - right / n_examples) if right != n_examples else np.inf),
            *(("rounded", "do not round: the exact number is asked for", round(right, n))
              for n in range(6)),
            ("wrong-axis", "a row is an example: the mean gradient is the mean over the rows",
             float(from_rows / (of_rows @ of_rows))),
            ("sample", "divide by the number of examples: these are all there are, not a sample",
             right * n_examples / (n_examples - 1)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [float(value)])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice several numbers."""
        if "a number" in wrong.says:
            return Hint("one-number", "one number for all parameters together, a float")
        return None


TASK = NoiseScale()
