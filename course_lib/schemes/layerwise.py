"""Data-parallel SGD whose gradients leave layer by layer, while back-propagation goes on."""

from collections.abc import Callable

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.comm.pending import Pending
from course_lib.models.model import Array, Model
from course_lib.schemes.layer_by_layer import PartialPasses, buckets, exchange_after
from course_lib.schemes.plan import Plan, Training

__all__ = ["layerwise"]


def layerwise(
    comm: Communicator,
    model: Model,
    X: Array,
    y: Array,
    plan: Plan,
    allreduce: Callable[..., Array] = allreduce_ring,
    bucket_bytes: float = 0,
    one_at_a_time: bool = False,
) -> Training:
    """Train on all ranks together, and exchange a layer's gradient as soon as it is known.

    Back-propagation finds the last layer's gradient first, and never needs it again. Its all-reduce
    is started there and then, beside the rank's own work: while it is on its way, the layers before
    it are gone through. Only what is still on its way after the first layer is waited for. Layers
    that are too small for a message of their own wait for each other in a bucket.

    Parameters
    ----------
    bucket_bytes : float, default: 0
        A bucket leaves when it holds so many bytes or more, or the first layer. 0 lets every layer
        leave alone; ``math.inf`` sends the whole gradient at the end, as ``data_parallel`` does.
    one_at_a_time : bool, default: False
        Whether an all-reduce begins only when the one before it is over, as in the one stream of a
        GPU. Then the latencies of small buckets add up; else they pass side by side.

    Notes
    -----
    Cost of one step: an all-reduce for each bucket, of n bytes together, for n = the bytes of the
    parameters: more latencies than one all-reduce of n bytes has, the same bytes. Before the first
    step: a broadcast of n bytes.

    All-reduces that are on their way together share a rank's card, message by message, first in,
    first out: one may be over later than alone, the last of them is not later than if they went one
    after the other.

    Invariant: a gradient's bytes are left alone from the start of its all-reduce to its ``wait``;
    at the start of every step all ranks hold the same parameters, bit for bit.

    References
    ----------
    D. Das, S. Avancha, D. Mudigere et al., "Distributed deep learning using synchronous stochastic
    gradient descent", arXiv:1602.06709, 2016.

    H. Zhang, Z. Zheng, S. Xu et al., "Poseidon: An efficient communication architecture for
    distributed deep learning on GPU clusters", USENIX ATC 2017 (wait-free back-propagation).

    S. Li, Y. Zhao, R. Varma et al., "PyTorch Distributed: Experiences on accelerating data parallel
    training", PVLDB 13(12), 2020 (buckets).
    """
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    grad = w * 0
    descent = plan.descent(w)
    to_send = {part.start: part for part in buckets(model.layers, bucket_bytes, w.itemsize)}
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size):
        passes = PartialPasses(comm, model, w, (X[examples], y[examples]), weight)
        for layer in model.layers:
            passes.forward(layer)
        losses.append(passes.loss())
        comm.note("loss_partial", losses[-1])

        pending: list[Pending[None]] = []
        for layer in reversed(model.layers):
            grad[layer.part] = passes.backward(layer)
            if layer.part.start in to_send:  # the layer that its bucket has waited for
                bucket = grad[to_send[layer.part.start]]
                before = pending[-1] if one_at_a_time and pending else None
                pending.append(comm.start(exchange_after, before, bucket, allreduce))
        for exchange in pending:
            exchange.wait()
        with comm.compute("update", flops=2.0 * model.n_parameters):
            descent.step(w, grad)
    return Training(w, losses)
