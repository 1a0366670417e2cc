"""How many epochs a batch size needs, and a picture of it."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Model
from course_lib.training import Plan
from course_lib.viz import Chart, chart

__all__ = ["epochs_chart", "epochs_to"]


def epochs_to(
    model: Model, X: NDArray[np.float64], y: NDArray[np.int64], plan: Plan, target: float
) -> int | None:
    """Train until the mean loss of an epoch is below a target; return the number of epochs.

    Parameters
    ----------
    model : Model
        What is trained.
    X : numpy.ndarray, shape (n_examples, n_features)
        The examples.
    y : numpy.ndarray, shape (n_examples,)
        Their classes.
    plan : Plan
        How; its ``epochs`` are the most that are tried.
    target : float
        The loss to reach.

    Returns
    -------
    int or None
        Epochs, from 1; None if the target was not reached, or the training diverged or had not
        begun to learn after a quarter of the epochs.
    """
    w, of_epoch, epoch = model.initial(plan.seed), [], 0
    start = None
    for step, (batch, _) in enumerate(plan.shares(len(y)), start=1):
        loss, grad = model.gradient(w, (X[batch], y[batch]))
        w = w - plan.learning_rate * grad
        start = loss if start is None else start
        if not loss < 4 * start:
            return None
        of_epoch.append(loss)
        if step % plan.steps_per_epoch(len(y)) == 0:
            epoch += 1
            mean, of_epoch = float(np.mean(of_epoch)), []
            if mean < target:
                return epoch
            if 4 * epoch > plan.epochs and mean > 0.99 * start:
                return None
    return None


def epochs_chart(tuned: Mapping[int, Sequence[int]], rule: Mapping[int, Sequence[int]]) -> Chart:
    """Draw epochs over the batch size: the median of the seeds, and each of them.

    Parameters
    ----------
    tuned, rule : mapping of int to sequence of int
        Epochs by batch size, one number a seed: each at its best rate, and by the scaling rule.

    Returns
    -------
    Chart
        Two curves, thin ones behind them, both axes logarithmic.
    """
    named = {"each batch at its best rate": tuned, "a rate of 0.1 at 32, scaled": rule}
    median = {
        name: [(float(B), float(np.median(of_seeds))) for B, of_seeds in found.items()]
        for name, found in named.items()
    }
    seeds = {
        name: [
            [(float(B), float(n)) for B, n in zip(found, one, strict=True)]
            for one in zip(*found.values(), strict=True)
        ]
        for name, found in named.items()
    }
    return chart(
        median, spread=seeds, x_log=True, y_log=True, y_range=(1.5, 60),
        x_label="batch B, in images", y_label="epochs to a loss of 0.5", x_ticks=list(tuned),
    )  # fmt: skip
