"""Model parallelism inside the layers: everybody has all examples, and a part of every layer."""

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain, partial_loss
from course_lib.models.model import Array
from course_lib.split import backward, forward, norm_of_split, split_in_pairs
from course_lib.split.model import Divide
from course_lib.training import SGD, Optimizer, Plan, Training, check_plan, check_training, in_parts

__all__ = ["split_weights"]


def split_weights(
    comm: Communicator, model: Chain, X: Array, y: Array, plan: Plan,
    divide: Divide = split_in_pairs, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train one model whose fully connected layers are split over all ranks.

    Every rank draws and keeps a part of every fully connected layer, and goes through the whole
    batch with it. In pairs the first is cut by its outputs, the second by its inputs: what a rank's
    part of the first makes is all that its part of the second needs, and only the second's outputs
    are added up over the ranks. Gradients of weights stay where the weights are. Other layers are
    whole on every rank, and each computes the same with them.

    Parameters
    ----------
    divide : callable, default: split_in_pairs
        That or ``split_by_units``, of ``course_lib.split``.

    Notes
    -----
    Cost of one step: that of ``divide``, for m = the whole batch. In pairs: for each pair of layers
    an all-reduce of m x n_out numbers (the second's) forward, and one of m x n_in (the first's)
    back unless it begins the model. Weights and their gradients: 0 bytes, also before the first
    step.

    Invariant: every weight is on one rank; what is whole is the same on all, bit for bit. A rank
    returns its part; ``join_model`` makes the whole, which no rank ever holds.

    References
    ----------
    M. Shoeybi, M. Patwary, R. Puri et al., "Megatron-LM: Training multi-billion parameter language
    models using model parallelism", arXiv:1909.08053, 2019, section 3.
    """
    check_training(model, X, y, optimizer=optimizer, divide=divide)
    check_plan(plan, "split_weights", "on_epoch")  # no rank holds the model
    own = divide(comm, model)
    w = own.initial(plan.seed)  # drawn from (seed, layer), this rank's part kept
    grad = np.empty_like(w)
    sgd = optimizer(w, plan)
    layers, losses = range(len(own.parts)), []
    for examples, _ in plan.shares(len(y)):  # the whole batch, on every rank
        grad[...] = 0
        losses.append(0.0)
        for part, weight in in_parts(examples, plan.accumulate):
            outputs, kept = forward(own, layers, w, own.examples(X[part]))
            loss, slope = partial_loss(outputs, y[part], weight)
            backward(own, layers, w, kept, slope, grad)  # added to those of the parts before
            losses[-1] += loss if comm.rank == 0 else 0.0  # all have the same
        comm.note("loss_partial", losses[-1])
        norm = norm_of_split(comm, plan, own, grad)
        with comm.compute("update", flops=2.0 * own.n_parameters):
            sgd.step(grad, norm)
    return Training(w, losses)
