"""One-shot averaging: every machine fits its own shard to the end, then the models are averaged."""

from typing import Any

from course_lib.collectives import allreduce_central
from course_lib.comm.communicator import Communicator
from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.models.model import Array, Model
from course_lib.schemes.serial import train
from course_lib.schemes.timed import TimedModel
from course_lib.training import SGD, Optimizer, Plan, Training
from course_lib.training.shards import split_evenly

__all__ = ["one_shot_averaging", "one_shot_training"]


def one_shot_averaging(comm: Communicator, X: Vector, y: Vector) -> Vector:
    """Fit a linear regression on each rank's rows alone and average the parameters.

    Nothing is sent while the ranks work; at the end each sends its model once. The mean of the
    shards' best models is that of all rows if equal shards have the same matrix of second moments
    of the features, or if a model fits all rows exactly; in general it is not, and with few rows in
    a shard it can be far off.

    Notes
    -----
    Cost: 2 rounds in all, whatever the number of steps; P - 1 models in and P - 1 sums out, each
    of 8 (d + 1) bytes.

    References
    ----------
    M. Zinkevich, M. Weimer, L. Li and A. J. Smola, "Parallelized Stochastic Gradient Descent",
    Advances in Neural Information Processing Systems 23, 2010.

    Y. Zhang, J. C. Duchi and M. J. Wainwright, "Communication-Efficient Algorithms for Statistical
    Optimization", Advances in Neural Information Processing Systems 25, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> X, y = np.arange(8.0).reshape(8, 1), 3 * np.arange(8.0) + 1
    >>> run(one_shot_averaging, X, y, workers=4, backend="simulated").values[3].round(3)
    array([1., 3.])
    """
    X, y = check_examples(X, y)
    rows = _own_rows(comm, len(y))
    model = LinearRegression(n_features=X.shape[1])
    with comm.compute("solve", flops=2 * X[rows].size * model.n_parameters):
        w = model.optimum((X[rows], y[rows]))
    mean: Vector = allreduce_central(comm, w) / comm.size
    return mean


def one_shot_training(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train any model on each rank's rows alone, all from the same start, and average once.

    Where the loss is a bowl, the mean of the ranks' models lies between them, no higher than the
    highest. The loss of a network with a hidden layer has many valleys: ranks that see other
    examples end in other ones, and the mean of two valleys may lie on the hill between them.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    model : Model
        What is trained.
    X : array, shape (m, ...)
        The examples, the same on every rank; each rank uses its own rows only.
    y : array, shape (m,)
        Their targets.
    plan : Plan
        How every rank trains, the same on every rank; its batches are of one rank's examples.

    Returns
    -------
    Training
        The mean of the ranks' models, the same on every rank, and for each step of this rank the
        loss over its batch, times its share of all examples.

    Raises
    ------
    ValueError
        If there are fewer examples than ranks.

    Notes
    -----
    Cost: 2 rounds in all, whatever the number of steps; P - 1 models in and P - 1 sums out, each
    of n bytes, P ranks and n the bytes of the parameters. With equal shards and a single batch,
    step and epoch it is one step of ``data_parallel``.

    References
    ----------
    M. Zinkevich, M. Weimer, L. Li and A. J. Smola, "Parallelized Stochastic Gradient Descent",
    Advances in Neural Information Processing Systems 23, 2010.
    """
    rows = _own_rows(comm, len(y))
    X_local, y_local = X[rows], y[rows]
    timed: Any = TimedModel(comm, model)
    w, losses = train(timed, X_local, y_local, plan, optimizer)
    share = len(y_local) / len(y)
    return Training(allreduce_central(comm, w) / comm.size, [share * loss for loss in losses])


def _own_rows(comm: Communicator, n_rows: int) -> slice:
    """Say which rows are this rank's; a rank without rows would have no model."""
    if n_rows < comm.size:
        raise ValueError(f"X must have a row for each of the {comm.size} ranks, got {n_rows}")
    return split_evenly(n_rows, comm.size)[comm.rank]
