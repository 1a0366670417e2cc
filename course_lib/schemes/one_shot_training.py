"""One-shot averaging of any model: train on a shard to the end, then average the parameters."""

from course_lib.collectives import allreduce_central
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.schemes.serial import train
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.shards import split_evenly

__all__ = ["one_shot_training"]


def one_shot_training(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train any model on each rank's rows alone, all from the same start, and average once.

    Where the loss is a bowl, the mean of the ranks' models lies between them, no higher than the
    highest. The loss of a network with a hidden layer has many valleys: ranks that see other
    examples end in other ones, and the mean of two valleys may lie on the hill between them.

    The plan's batches are of one rank's examples; the losses are those over them, times the rank's
    share of all examples.

    Notes
    -----
    Cost: 2 rounds in all, whatever the number of steps; P - 1 models in and P - 1 sums out, each
    of n bytes. With equal shards and a single batch,
    step and epoch it is one step of ``data_parallel``.

    References
    ----------
    M. Zinkevich, M. Weimer, L. Li and A. J. Smola, "Parallelized Stochastic Gradient Descent",
    Advances in Neural Information Processing Systems 23, 2010.
    """
    check_training(model, X, y, optimizer=optimizer)
    if len(y) < comm.size:  # a rank without rows would have no model
        raise ValueError(f"X must have a row for each of the {comm.size} ranks, got {len(y)}")
    rows = split_evenly(len(y), comm.size)[comm.rank]
    X_local, y_local = X[rows], y[rows]
    w, losses = train(model, X_local, y_local, plan, optimizer, comm.compute)
    share = len(y_local) / len(y)
    return Training(allreduce_central(comm, w) / comm.size, [share * loss for loss in losses])
