"""The model in parts: every rank has some layers, and waits while the others compute theirs."""

from functools import partial

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain, partial_loss
from course_lib.models.model import Array
from course_lib.training import SGD, Optimizer, Plan, Training, in_parts, norm_of_all
from course_lib.training.stages import Stage, check_staged, cut_into_stages

__all__ = ["model_parallel"]


def model_parallel(
    comm: Communicator, model: Chain, X: Array, y: Array, plan: Plan, optimizer: Optimizer = SGD
) -> Training:
    """Train a model that no rank holds whole: its layers are cut into P stages, one on each rank.

    The batch goes forward through the ranks one after another, and its slope goes back the other
    way. What crosses a cut is what a layer makes, and never a parameter. But at any time one rank
    computes and P - 1 wait: the model fits, and nothing is faster. ``pipeline`` is what helps.

    Notes
    -----
    Cost of one step: the flops of the whole model, one rank after another: each is busy 1/P of the
    time where stages are equal. 2(P-1) messages: over each cut what it makes of a batch, and back
    its slope, of batch x numbers x itemsize bytes each.

    Invariant: a rank's parameters are those of its own layers, and no other rank has them.

    What is returned are the parameters of this rank's layers: those of the ranks, in their order,
    are the model.

    References
    ----------
    J. Dean, G. S. Corrado, R. Monga et al., "Large scale distributed deep networks", Advances in
    Neural Information Processing Systems 25, 2012, section 3.
    """
    check_staged(model, X, y, plan, optimizer=optimizer)
    stage = Stage(model, cut_into_stages(model, comm.size)[comm.rank], plan.seed)
    before, after = comm.rank - 1, comm.rank + 1
    is_first, is_last = before < 0, after == comm.size
    sgd = optimizer(stage.w, plan)
    losses = []
    for examples, _ in plan.shares(len(y)):  # the whole batch: everybody has the same
        losses.append(0.0)
        for part, weight in in_parts(examples, plan.accumulate):
            x = model.examples(X[part]) if is_first else comm.recv(before, tag="outputs")
            with comm.compute("forward", flops=stage.flops("F", len(part))):
                outputs = stage.forward(x)
            if is_last:
                loss, slope = partial_loss(outputs, y[part], weight)
                losses[-1] += loss
            else:
                comm.send(outputs, after, tag="outputs")
                slope = comm.recv(after, tag="slope")

            with comm.compute("backward", flops=stage.flops("B", len(part))):
                slope = stage.input_gradient(slope)
                stage.weight_gradient()  # added to those of the parts before
            if not is_first:
                comm.send(slope, before, tag="slope")
        comm.note("loss_partial", losses[-1])
        norm = norm_of_all(plan, stage.grad, partial(allreduce_ring, comm))
        with comm.compute("update", flops=2.0 * len(stage.w)):
            sgd.step(stage.grad, norm)
        stage.grad[...] = 0
    return Training(stage.w, losses)
