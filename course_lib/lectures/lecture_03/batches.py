"""How many steps a batch size needs at a learning rate, and pictures of it."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Model
from course_lib.training import Plan
from course_lib.viz import Chart, chart

__all__ = ["rates_chart", "steps_chart", "steps_to"]

Examples = tuple[NDArray[np.float64], NDArray[np.int64]]
Found = Mapping[int, Mapping[float, Sequence[float]]]


def steps_to(
    model: Model, train: Examples, test: Examples, plan: Plan, target: float, most: int
) -> float:
    """Train until the loss on test examples is below a target; return the number of steps.

    Parameters
    ----------
    model : Model
        What is trained.
    train, test : (numpy.ndarray of shape (n, n_features), numpy.ndarray of shape (n,))
        Examples and their classes: those of the steps, and those of the loss.
    plan : Plan
        Rate, batch size and seed.
    target : float
        The loss to reach. It is looked at after each step, with small batches after each 64
        examples.
    most : int
        After so many steps the training is given up.

    Returns
    -------
    float
        Steps, from 1; infinity if the target was not reached, or the loss rose to four times its
        first value.
    """
    w = model.initial(plan.seed)
    first, every = model.loss(w, test), max(1, 64 // plan.batch_size)
    many = Plan(plan.learning_rate, plan.batch_size, epochs=most, seed=plan.seed)
    for step, (batch, _) in enumerate(many.shares(len(train[1])), start=1):
        _, grad = model.gradient(w, (train[0][batch], train[1][batch]))
        w = w - plan.learning_rate * grad
        if step % every == 0:
            loss = model.loss(w, test)
            if loss < target:
                return float(step)
            if not loss < 4 * first:
                break
        if step >= most:
            break
    return float("inf")


def rates_chart(of_rate: Mapping[float, Sequence[float]], batch_size: int) -> Chart:
    """Draw steps over the learning rate for one batch size, the best rate named.

    Parameters
    ----------
    of_rate : mapping of float to sequence of float
        Steps by rate, one number a seed; infinity where the target was not reached.
    batch_size : int
        Named below the picture.

    Returns
    -------
    Chart
        The median of the seeds where all of them reached the target.
    """
    median = {eta: float(np.median(steps)) for eta, steps in of_rate.items()}
    best = min(median, key=lambda eta: median[eta])
    failed = [f"{eta:.2g}" for eta, steps in median.items() if not np.isfinite(steps)]
    return chart(
        {"steps": [(eta, steps) for eta, steps in median.items() if np.isfinite(steps)]},
        points={f"best: {best:.2g}": (best, median[best])},
        x_log=True, y_log=True, x_range=(0.09, 3.6), y_range=(20, 300), x_ticks=list(of_rate),
        x_label="learning rate", y_label="steps to the target",
        said=f"Batch {batch_size:,}: {median[best]:.0f} steps at its best rate, {best:.2g}; "
        + (f"most seeds never get there at {', '.join(failed)}." if failed else "all rates do."),
    )  # fmt: skip


def steps_chart(tuned: Mapping[int, Sequence[float]], rule: Mapping[int, Sequence[float]]) -> Chart:
    """Draw steps over the batch size: the median of the seeds, each of them, and perfect scaling.

    Parameters
    ----------
    tuned, rule : mapping of int to sequence of float
        Steps by batch size, one number a seed: each at its best rate, and by the scaling rule
        where it reached the target.

    Returns
    -------
    Chart
        Two curves with thin ones behind them, and a line on which twice the batch takes half of
        the steps; both axes logarithmic.
    """
    named = {"each batch at its best rate": tuned, "the rule, from 0.1 at a batch of 32": rule}
    median = {
        name: [(float(B), float(np.median(of_seeds))) for B, of_seeds in found.items()]
        for name, found in named.items()
    }
    seeds = {
        name: [
            [(float(B), n) for B, n in zip(found, one, strict=True)]
            for one in zip(*found.values(), strict=True)
        ]
        for name, found in named.items()
    }
    first, steps = median["each batch at its best rate"][0]
    perfect = "twice the batch, half of the steps"
    median[perfect] = [(float(B), steps * first / B) for B in tuned if steps * first / B > 15]
    return chart(
        median, spread=seeds, reference=perfect, x_log=True, y_log=True, y_range=(15, 400),
        x_ticks=list(tuned), x_label="batch B, in images", y_label="steps to the target",
        x_range=(min(tuned) / 1.15, max(tuned) * 1.15),
    )  # fmt: skip
