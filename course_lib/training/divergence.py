"""A training that diverges is told when it is seen, and before where that can be known."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.models.linear_regression import LinearRegression
from course_lib.models.model import Array, Model
from course_lib.training.plan import Plan

__all__ = ["EDGES", "check_finite", "check_parameters", "past_edge", "warn_past_edge"]


def check_finite(loss: float, step: int, learning_rate: float) -> float:
    """Return a loss, or raise if it is no finite number.

    Parameters
    ----------
    loss : float
        Over a batch.
    step : int
        The batch's number, for the error.
    learning_rate : float
        The plan's, for the error.

    Returns
    -------
    float
        The loss.

    Raises
    ------
    FloatingPointError
        If it is infinite or not a number.
    """
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the training has diverged: the loss over batch {step} is {loss}. A learning_rate "
            f"below {learning_rate:g} may help; gradients of old parameters, and models that are "
            "averaged rarely, bear less than fresh ones. A nan or an inf in X or y does the same"
        )
    return loss


def check_parameters(w: Array, plan: Plan) -> None:
    """Say that a training has diverged, if it has.

    Parameters
    ----------
    w : numpy.ndarray, shape (n_parameters,)
        The parameters.
    plan : Plan
        How they were trained.

    Raises
    ------
    FloatingPointError
        If a parameter is infinite or not a number.
    """
    if not np.isfinite(w).all():
        raise FloatingPointError(
            "the training has diverged: parameters are no longer finite; a learning_rate below "
            f"{plan.learning_rate:g} may help, or fewer ranks, whose gradients are less stale"
        )


EDGES: dict[str, tuple[str, Callable[[int], float]]] = {
    "stale": ("2 sin(pi / (4 P - 2))", lambda P: 2 * math.sin(math.pi / (4 * P - 2))),
    "together": ("2 / P", lambda P: 2 / P),
    "by staleness": (
        "(P - 1) 2 sin(pi / (4 P - 2))",
        lambda P: 2 * max(P - 1, 1) * math.sin(math.pi / (4 * P - 2)),
    ),
}
"""From which rate times curvature on P replicas leave a bowl, if all take equally long.

Every gradient is as old as there are others; or all P are of the same parameters; or the older one
is, the shorter its step.
"""


_MOST_TURNS = 100


def past_edge(model: Model, X: Array, plan: Plan, replicas: int, edge: str = "stale") -> str:
    """Say that with this rate a bowl is left, if it is.

    Only the curvature of a linear regression is known beforehand, and the edge only of SGD without
    momentum. Where times differ, or replicas fetch late, a little more may be stable.

    Parameters
    ----------
    model : Model
        What is to be trained.
    X : array, shape (m, d)
        All examples.
    plan : Plan
        How, by SGD.
    replicas : int
        How many compute.
    edge : str, default: "stale"
        Which of ``EDGES``.

    Returns
    -------
    str
        A sentence that says where the edge is; nothing if the rate is not past it.
    """
    if type(model) is not LinearRegression or plan.momentum:
        return ""
    curvature = _largest_curvature(np.column_stack([np.ones(len(X)), X]))
    formula, of = EDGES[edge]
    most = of(replicas) / curvature
    if not plan.learning_rate > most:  # nor if X is no number somewhere
        return ""
    return (
        f"learning_rate {plan.learning_rate:g} is past {most:.3g}, from which on training with "
        f"{replicas} replicas diverges if all take equally long: {formula} over the largest "
        f"curvature, {curvature:.3g}"
    )


def _largest_curvature(rows: NDArray[Any]) -> float:
    """Return the largest eigenvalue of ``rows^T rows / m`` by the power method, without the matrix.

    What is returned is never more than it, and less than a thousandth of it away on usual data.
    """
    direction = np.random.default_rng(0).normal(size=(rows.shape[1],))
    found = 0.0
    for _ in range(_MOST_TURNS):
        direction /= float(np.linalg.norm(direction))
        product = rows.T @ (rows @ direction) / len(rows)
        before, found = found, float(direction @ product)
        if not before < found * (1 - 1e-6):
            break
        direction = product
    return found


def warn_past_edge(model: Model, X: Array, plan: Plan, replicas: int, edge: str = "stale") -> None:
    """Warn of it; the parameters are those of ``past_edge``."""
    if told := past_edge(model, X, plan, replicas, edge):
        warnings.warn(told, RuntimeWarning, stacklevel=3)
