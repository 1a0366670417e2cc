"""Layer-wise exchange as it is used: small layers share a bucket, buckets leave one by one."""

from collections.abc import Callable, Sequence

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Layer, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.layers import PartialPasses
from course_lib.words.real import real

__all__ = ["buckets", "layerwise_bucketed"]


def layerwise_bucketed(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, bucket_bytes: float = 25e6,
    allreduce: Callable[..., Array] = allreduce_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train as ``layerwise`` does, with fewer and larger exchanges, one after the other.

    A layer that is too small for an exchange of its own waits for the next ones in a bucket. And a
    bucket waits for the one before it, as in the one stream of a GPU: none shares the NIC.

    Parameters
    ----------
    bucket_bytes : float, default: 25e6
        A bucket leaves when it holds so many bytes or more, and when it holds the first layer,
        after which none comes. 0 lets every layer leave alone; ``math.inf`` sends the whole
        gradient at the end, as ``data_parallel`` does.

    Notes
    -----
    Cost of one step: an all-reduce for each bucket, of n bytes together: a bucket more is an
    all-reduce's latency more. Before the first step: a broadcast of n bytes.

    Invariant: that of ``layerwise``; and all-reduces end in the order in which they were started.

    References
    ----------
    S. Li, Y. Zhao, R. Varma et al., "PyTorch Distributed: Experiences on accelerating data parallel
    training", PVLDB 13(12), 2020.
    """
    model = check_training(model, X, y, plan, optimizer=optimizer, allreduce=allreduce)
    real("bucket_bytes", bucket_bytes)
    if not bucket_bytes >= 0:
        raise ValueError(f"bucket_bytes must be 0 or more, got {bucket_bytes}")
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    grad = w * 0
    sgd = optimizer(w, plan)
    to_send = {part.start: part for part in buckets(model.layers, bucket_bytes, w.itemsize)}
    losses = []
    for examples, weight in plan.shares(len(y), comm.rank, comm.size, w):
        passes = PartialPasses(comm.compute, model, w, (X[examples], y[examples]), weight)
        for layer in model.layers:
            passes.forward(layer)
        losses.append(passes.loss())
        comm.note("loss_partial", losses[-1])

        last = None
        for layer in reversed(model.layers):
            grad[layer.part] = passes.backward(layer)
            if layer.part.start in to_send:  # the layer that its bucket has waited for
                bucket = grad[to_send[layer.part.start]]
                last = comm.start(allreduce, bucket, "sum", bucket, after=last)
        assert last is not None  # the first layer's
        last.wait()

        with comm.compute("update", flops=2.0 * model.n_parameters):
            sgd.step(grad)
    return Training(w, losses)


def buckets(layers: Sequence[Layer], bucket_bytes: float, itemsize: int) -> list[slice]:
    """Put neighbouring layers together until there are enough bytes to be worth an exchange.

    Parameters
    ----------
    layers : sequence of Layer
        A model's layers.
    bucket_bytes : float
        A bucket is closed when it holds so many bytes or more. 0 gives every layer a bucket of its
        own, ``math.inf`` puts all into one.
    itemsize : int
        The bytes of one parameter.

    Returns
    -------
    list of slice
        The parts of the flat vector in the order of back-propagation: the last layers' first.

    Examples
    --------
    >>> layers = [Layer("fc1", slice(0, 6)), Layer("fc2", slice(6, 8)), Layer("fc3", slice(8, 9))]
    >>> buckets(layers, 16, itemsize=8)
    [slice(6, 9, None), slice(0, 6, None)]
    """
    found = []
    stop = layers[-1].part.stop
    for layer in reversed(layers):
        start = layer.part.start
        if start == 0 or (stop - start) * itemsize >= bucket_bytes:
            found.append(slice(start, stop))
            stop = start
    return found
