"""A training that diverges is told when it is seen, and before where that can be known."""

import math
import warnings

import numpy as np

from course_lib.models.linear_regression import LinearRegression
from course_lib.models.model import Array, Model
from course_lib.training.plan import Plan

__all__ = ["check_finite", "check_parameters", "warn_past_edge"]


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
            f"the training has diverged: the loss over batch {step} is {loss}. With gradients of "
            f"old parameters learning_rate must be smaller than with fresh ones; it is "
            f"{learning_rate:g}"
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


def warn_past_edge(model: Model, X: Array, plan: Plan, replicas: int) -> None:
    """Warn of a rate with which a bowl is left where gradients are as old as there are replicas.

    Only the curvature of a linear regression is known beforehand, and the edge only of SGD without
    momentum. Where times differ, or replicas fetch late, a little more may be stable.

    Parameters
    ----------
    model : Model
        What is to be trained.
    X : array, shape (m, d)
        All examples.
    plan : Plan
        How.
    replicas : int
        How many compute.
    """
    if not isinstance(model, LinearRegression) or plan.momentum:
        return
    rows = np.column_stack([np.ones(len(X)), X])
    curvature = float(np.linalg.eigvalsh(rows.T @ rows / len(X))[-1])
    edge = 2 * math.sin(math.pi / (4 * replicas - 2)) / curvature
    if plan.learning_rate > edge:
        warnings.warn(
            f"learning_rate {plan.learning_rate:g} is past {edge:.3g}, from which on training with "
            f"{replicas} replicas diverges if all take equally long: 2 sin(pi / (4 P - 2)) over "
            f"the largest curvature, {curvature:.3g}",
            RuntimeWarning,
            stacklevel=2,
        )
