"""Data-parallel SGD whose gradients leave layer by layer, while back-propagation goes on."""

from collections.abc import Callable

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.layers import PartialPasses

__all__ = ["layerwise"]


def layerwise(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    allreduce: Callable[..., Array] = allreduce_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train on all ranks together, and exchange a layer's gradient as soon as it is known.

    Back-propagation finds the last layer's gradient first, and goes on without it. So its
    all-reduce is started there and then, beside the rank's own work: while it is on its way, the
    layers before it are gone through. Only what is still on its way after the first layer is waited
    for.

    Notes
    -----
    Cost of one step: an all-reduce for each layer, of n bytes together: more latencies than one
    all-reduce has, the same bytes. They share a rank's NIC, message by message, first in, first
    out. Before the first step: a broadcast of n bytes.

    Invariant: a gradient's bytes are left alone from the start of its all-reduce to its ``wait``;
    at the start of every step all ranks hold the same parameters, bit for bit.

    References
    ----------
    H. Zhang, Z. Zheng, S. Xu et al., "Poseidon: An efficient communication architecture for
    distributed deep learning on GPU clusters", USENIX ATC 2017 (wait-free back-propagation).
    """
    model = check_training(model, X, y, plan, optimizer=optimizer, allreduce=allreduce)
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    grad = w * 0
    sgd = optimizer(w, plan)
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size, w):
        passes = PartialPasses(comm.compute, model, w, (X[examples], y[examples]), weight)
        for layer in model.layers:
            passes.forward(layer)
        losses.append(passes.loss())
        comm.note("loss_partial", losses[-1])

        pending = []
        for layer in reversed(model.layers):
            part = grad[layer.part]
            part[...] = passes.backward(layer)
            pending.append(
                comm.start(allreduce, part, "sum", part)
            )  # in place, overlapped with the rest
        for exchange in pending:
            exchange.wait()

        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(grad)
    return Training(w, losses)
