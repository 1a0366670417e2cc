"""Model parallelism inside the layers: everybody has all examples, and a part of every layer."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array
from course_lib.training import SGD, Optimizer, Plan, Training, check_training

if TYPE_CHECKING:
    from course_lib.models.chain import Chain

__all__ = ["split_weights"]


def split_weights(
    comm: Communicator, model: "Chain", X: Array, y: Array, plan: Plan,
    divide: "Callable[[Communicator, Chain], Chain] | None" = None, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train one model whose fully connected layers are split over all ranks.

    Every rank draws and keeps a part of every fully connected layer, and goes through the whole
    batch with it. What its part gives is not enough for the next layer: inside a layer, or between
    two, activations are exchanged, and on the way back their slopes. Gradients are not: who has a
    weight is the only one to compute its gradient. Layers that are not fully connected are whole on
    every rank, and each computes the same with them.

    Parameters
    ----------
    divide : callable or None, default: None
        How the layers are split: ``split_in_pairs`` of ``course_lib.split``, which None takes, or
        ``split_by_units``.

    Returns
    -------
    Training
        This rank's part of the parameters, from which ``join_model`` makes the whole; no rank ever
        holds that. Rank 0's losses are those of all.

    Notes
    -----
    Cost of one step: that of ``divide``, for m = the whole batch. In pairs: for each pair of layers
    an all-reduce of m x n_out numbers forward and one of m x n_in numbers back, but none back for
    the first layer. Weights and their gradients: 0 bytes, also before the first step.

    Invariant: every weight is on one rank alone; what is whole is the same on all, bit for bit.

    References
    ----------
    M. Shoeybi, M. Patwary, R. Puri et al., "Megatron-LM: Training multi-billion parameter language
    models using model parallelism", arXiv:1909.08053, 2019, section 3.
    """
    from course_lib.split.model import split_in_pairs

    check_training(model, X, y)
    own = (divide or split_in_pairs)(comm, model)
    w = own.initial(plan.seed)  # drawn from (seed, layer), this rank's part kept
    sgd = optimizer(w, plan)
    losses = []
    for examples, _ in plan.shares(len(y)):  # the whole batch, on every rank
        loss, grad = own.gradient(w, (X[examples], y[examples]))
        losses.append(loss if comm.rank == 0 else 0.0)
        comm.note("loss_partial", losses[-1])
        with comm.compute("update", flops=2.0 * own.n_parameters):
            sgd.step(grad)
        del grad
    return Training(w, losses)
