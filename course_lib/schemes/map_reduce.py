"""MapReduce: four machines compute one gradient."""

from course_lib.comm.communicator import Communicator
from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.training import Plan, Training, check_plan
from course_lib.training.shards import split_evenly

__all__ = ["combine", "map_reduce"]

COMBINER = 0


def map_reduce(comm: Communicator, X: Vector, y: Vector, plan: Plan) -> Training:
    """Fit a linear regression by batch gradient descent on all ranks together.

    Every worker keeps its share of the examples and sums the gradient over them (map). A combiner,
    rank 0, a worker as well, adds the partial sums (reduce), updates the parameters and sends them
    to all. Sums are sent, not means: shards of unequal size then weigh what they should.

    Parameters
    ----------
    plan : Plan
        With a learning rate and its schedule only. An epoch is one step, whatever the batch size.

    Notes
    -----
    Cost of one step: 2 rounds; P - 1 partial sums in and P - 1 models out, each of 8 (d + 1) bytes;
    the combiner's NIC carries all of them.

    Invariant: at the start of every step all ranks hold the same parameters.

    References
    ----------
    C.-T. Chu, S. K. Kim, Y.-A. Lin, Y. Yu, G. Bradski, A. Y. Ng and K. Olukotun, "Map-Reduce for
    Machine Learning on Multicore", Advances in Neural Information Processing Systems 19, 2006.
    """
    check_plan(plan, "map_reduce", "momentum", "weight_decay", "clip", "accumulate", "on_epoch")
    X, y = check_examples(X, y)
    rows = split_evenly(len(y), comm.size)[comm.rank]
    shard = X[rows], y[rows]
    model = LinearRegression(n_features=X.shape[1])
    w = model.initial()
    losses = []
    for step in range(plan.epochs):
        with comm.compute("map", flops=model.flops(shard)):
            loss_sum, grad_partial = model.gradient_sum(w, shard)
        losses.append(loss_sum / len(y))
        comm.note("loss_partial", losses[-1])
        w = combine(comm, grad_partial, w, plan.rate(step) / len(y))
    return Training(w, losses)


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
