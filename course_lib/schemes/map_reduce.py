"""MapReduce: four machines compute one gradient.

Every worker keeps its share of the examples and sums the gradient over them (map). A combiner, here
rank 0, which is a worker as well, adds the partial sums (reduce), updates the parameters and sends
the new model to all.
"""

from course_lib.comm.communicator import Communicator
from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.schemes.serial import check_training
from course_lib.training.shards import split_evenly

__all__ = ["combine", "map_reduce"]

COMBINER = 0


def map_reduce(
    comm: Communicator, X: Vector, y: Vector, learning_rate: float = 0.1, steps: int = 100
) -> Vector:
    """Fit a linear regression by batch gradient descent on all ranks together.

    The gradient of the whole data set is a sum over examples, so it does not matter who adds up
    which part. Sums are sent, not means: shards of unequal size then weigh what they should.

    Parameters
    ----------
    learning_rate : float, default: 0.1
        How far to go against the mean gradient; the same on every rank.
    steps : int, default: 100
        How many steps to take; the same on every rank.

    Notes
    -----
    Cost of one step: 2 rounds; P - 1 partial sums in and P - 1 models out, each of 8 (d + 1) bytes,
    P ranks; the combiner's card carries all of them.

    Invariant: at the start of every step all ranks hold the same parameters.

    The loss of step s is the sum over ranks of the notes ``"loss_partial"`` of that step: each is
    the rank's share of the mean loss over all examples.

    References
    ----------
    C.-T. Chu, S. K. Kim, Y.-A. Lin, Y. Yu, G. Bradski, A. Y. Ng and K. Olukotun, "Map-Reduce for
    Machine Learning on Multicore", Advances in Neural Information Processing Systems 19, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> X, y = np.arange(8.0).reshape(8, 1), 3 * np.arange(8.0) + 1
    >>> values = run(map_reduce, X, y, 0.05, 500, workers=4, backend="simulated").values
    >>> values[3].round(3)
    array([1., 3.])
    """
    X, y = check_examples(X, y)
    check_training(learning_rate, steps)
    rows = split_evenly(len(y), comm.size)[comm.rank]
    shard = X[rows], y[rows]
    model = LinearRegression(n_features=X.shape[1])
    w = model.initial()
    for _ in range(steps):
        with comm.compute("map", flops=model.flops(shard)):
            loss_sum, grad_partial = model.gradient_sum(w, shard)
        comm.note("loss_partial", loss_sum / len(y))
        w = combine(comm, grad_partial, w, learning_rate / len(y))
    return w


def combine(comm: Communicator, grad_partial: Vector, w: Vector, step_size: float) -> Vector:
    """Reduce the partial sums on the combiner, update there, and send the new model to all.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    grad_partial : numpy.ndarray, shape (d + 1,)
        This rank's sum of gradients.
    w : numpy.ndarray, shape (d + 1,)
        The parameters, the same on every rank.
    step_size : float
        What the sum of all gradients is multiplied by: the learning rate over the number of
        examples.

    Returns
    -------
    numpy.ndarray, shape (d + 1,)
        The new parameters, the same on every rank.
    """
    if comm.rank != COMBINER:
        comm.send(grad_partial, dst=COMBINER, tag="temp")
        model: Vector = comm.recv(src=COMBINER, tag="model")
        return model

    total = grad_partial.copy()
    for src in range(1, comm.size):  # in rank order, so that every run rounds alike
        comm.recv(src, out=total, op="sum", tag="temp")
    with comm.compute("update", flops=2 * w.size):
        w = w - step_size * total
    for dst in range(1, comm.size):
        comm.send(w, dst, tag="model")
    return w
