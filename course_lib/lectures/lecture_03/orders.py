"""One gradient, added up in the orders of four all-reduces."""

import numpy as np
from numpy.typing import NDArray

from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Model
from course_lib.training import Plan

__all__ = ["in_all_orders"]


def in_all_orders(
    model: Model, X: NDArray[np.float64], y: NDArray[np.int64], workers: int = 32
) -> tuple[int, float]:
    """Add up the parts of one gradient in the orders of four all-reduces, and compare.

    Parameters
    ----------
    model : Model
        Whose gradient, at its first parameters.
    X : numpy.ndarray, shape (n_examples, n_features)
        The examples of one batch.
    y : numpy.ndarray, shape (n_examples,)
        Their targets.
    workers : int, default: 32
        Into how many equal parts the batch is cut.

    Returns
    -------
    n_results : int
        How many different results there are, 1 to 4.
    spread : float
        The largest difference of two, relative to the largest entry.
    """
    plan = Plan(batch_size=len(y))

    def gradient(comm: Communicator, name: str) -> NDArray[np.float64]:
        examples, weight = next(iter(plan.shares(len(y), comm.rank, comm.size)))
        part = model.gradient(model.initial(), (X[examples], y[examples]))[1]
        total: NDArray[np.float64] = ALLREDUCES[name](comm, weight * part)
        return total

    names = ("central", "tree", "butterfly", "ring")
    runs = [run(gradient, name, workers=workers, backend="simulated") for name in names]
    found = np.array([made.values[0] for made in runs])
    return len({row.tobytes() for row in found}), float(
        np.ptp(found, axis=0).max() / np.abs(found).max()
    )
