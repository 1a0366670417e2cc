"""One-shot averaging: every machine fits its own shard to the end, then the models are averaged."""

from course_lib.collectives import allreduce_central
from course_lib.comm.communicator import Communicator
from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.training.shards import split_evenly

__all__ = ["one_shot_averaging"]


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
    if len(y) < comm.size:
        raise ValueError(f"X must have a row for each of the {comm.size} ranks, got {len(y)}")
    rows = split_evenly(len(y), comm.size)[comm.rank]
    model = LinearRegression(n_features=X.shape[1])
    with comm.compute("solve", flops=2 * X[rows].size * model.n_parameters):
        w = model.optimum((X[rows], y[rows]))
    mean: Vector = allreduce_central(comm, w) / comm.size
    return mean
