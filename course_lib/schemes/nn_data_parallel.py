"""What ``torch.nn.DataParallel`` does: one rank trains, and the others help it in each step."""

from typing import TYPE_CHECKING

from course_lib.collectives import broadcast_flat, gather, reduce_flat, scatter
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array
from course_lib.training import SGD, Optimizer, Plan, Training, check_plan, check_training
from course_lib.words.split import split_evenly

if TYPE_CHECKING:
    from course_lib.models.torch_model import TorchModel

__all__ = ["nn_data_parallel"]

MAIN = 0


def nn_data_parallel(
    comm: Communicator, model: "TorchModel", X: Array, y: Array, plan: Plan,
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train on rank 0, which lends the others examples and a replica of the model in every step.

    In every step rank 0 deals out the examples and the parameters, and collects the outputs. It
    alone has the targets: the loss is one number over all outputs, as if one rank had computed all.
    Its slope goes back to where each output came from, every replica finds the gradient of *its
    part of that one loss*, and so the parts are added up. Rank 0 takes the step; replicas go.

    Notes
    -----
    Cost of one step: 5 rounds, 5(P-1) messages. Rank 0 sends (P-1)/P x bytes of examples,
    (P-1) n of parameters and (P-1)/P z of slopes, and receives (P-1)/P z of outputs and (P-1) n of
    gradients, where P divides the batch of x bytes and its outputs of z bytes. After the last step
    it sends (P-1) n bytes more, so that all ranks end with the model.

    Invariant: only rank 0 keeps anything from step to step. The original is one process with a
    thread and a device for each replica.

    References
    ----------
    PyTorch documentation, ``torch.nn.DataParallel``: "During the backwards pass, gradients from
    each replica are summed into the original module."

    A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
    arXiv:1404.5997, 2014.
    """
    check_training(model, X, y, optimizer=optimizer)
    check_plan(plan, "nn_data_parallel", "accumulate")
    from course_lib.models.torch_model import TorchModel
    from course_lib.models.torch_passes import TorchPasses

    if not isinstance(model, TorchModel):  # rank 0 collects the outputs of its last layer
        raise TypeError(f"model must be a TorchModel, got {type(model).__name__}")

    is_main = comm.rank == MAIN
    w = model.initial(plan.seed)  # only rank 0's counts
    sgd = optimizer(w, plan)
    losses = []
    for examples, _ in plan.shares(len(y), w=w if is_main else None):
        X_local = scatter(comm, X[examples] if is_main else None, MAIN)
        broadcast_flat(comm, w if is_main else None, MAIN, out=w)

        replica = TorchPasses(model, w, (X_local, None))
        part = split_evenly(len(y[examples]), comm.size)[comm.rank]
        flops = model.layer_flops((X_local, y[examples][part]))  # the targets are only counted
        with comm.compute("forward", flops=sum(of_layer.forward for of_layer in flops)):
            for layer in model.layers:
                replica.forward(layer)
        outputs = gather(comm, replica.outputs(), MAIN)

        loss, slope = 0.0, None
        if is_main:
            loss, slope = model.loss_and_slope(outputs, y[examples])
        comm.note("loss_partial", loss)
        losses.append(loss)

        replica.begin_backward(scatter(comm, slope, MAIN))
        grad_partial = w * 0
        with comm.compute("backward", flops=sum(of_layer.backward for of_layer in flops)):
            for layer in reversed(model.layers):
                grad_partial[layer.part] = replica.backward(layer)
        grad = reduce_flat(comm, grad_partial, MAIN)
        if is_main:
            with comm.compute("update", flops=2.0 * model.n_parameters):
                sgd.step(grad)
    return Training(broadcast_flat(comm, w, MAIN, out=w), losses)
