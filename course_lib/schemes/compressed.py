"""Data-parallel SGD that sends gradients compressed, and remembers what it has not sent."""

from course_lib.collectives import broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.compression import Compressor, Sign
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training, partial_gradient
from course_lib.training.divergence import check_finite

__all__ = ["compressed"]


def compressed(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    compressor: Compressor | None = None, error_feedback: bool = True, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train as ``data_parallel`` does, with a rough sum of the gradients in place of the exact one.

    What a rank's part of the sum lacks of its gradient is not lost: it stays here, as the
    *residual*, and is added to the next gradient. A number that is always too small to be sent
    grows there until it is sent. Without that, what the compressor never takes is never learned.

    Parameters
    ----------
    compressor : Compressor or None, default: None
        ``TopK(k)``, ``Sign()`` or ``PowerSGD(rank)`` of ``course_lib.compression``; None for signs.
    error_feedback : bool, default: True
        Whether residuals are kept; False to see what they are for.

    Notes
    -----
    Cost of one step: that of the compressor, whose own work counts no flops. Before the first one:
    a broadcast of n bytes, for n = the bytes of the parameters.

    Invariant: all ranks hold the same parameters, bit for bit; over all steps so far and all ranks,
    what was sent and the residuals add up to the gradients.

    References
    ----------
    F. Seide, H. Fu, J. Droppo et al., "1-bit stochastic gradient descent and its application to
    data-parallel distributed training of speech DNNs", Interspeech 2014.

    S. P. Karimireddy, Q. Rebjock, S. U. Stich and M. Jaggi, "Error feedback fixes SignSGD and other
    gradient compression schemes", ICML 2019.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    compressor = compressor or Sign()
    if isinstance(compressor, type) or not hasattr(compressor, "add_up"):
        raise TypeError(f"compressor must be a Compressor, as TopK(24), got {compressor!r}")
    compressor.check(model)
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    sgd = optimizer(w, plan)
    residual = plan.keep(w * 0)
    memory = plan.keep(compressor.start(w, model.layers, plan.seed))
    losses = []
    shares = plan.shares(len(y), comm.rank, comm.size, w)
    steps_before = plan.first_epoch * plan.steps_per_epoch(len(y))
    for step, (examples, weight) in enumerate(shares, start=steps_before):
        batch = X[examples], y[examples]
        with comm.compute("gradient", flops=model.flops(batch)):
            loss, grad = partial_gradient(model, w, batch, weight)
        check_finite(loss, step, plan.learning_rate)
        comm.note("loss_partial", loss)
        losses.append(loss)
        grad += residual
        total, sent = compressor.add_up(comm, grad, model.layers, memory)
        if error_feedback:
            residual[...] = grad - sent
        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(total)
    return Training(w, losses)
