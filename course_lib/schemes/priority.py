"""Layer-wise exchange in the order of need: the next forward pass waits for one layer at a time."""

from collections.abc import Callable, Sequence

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.comm.pending import Pending
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_plan, check_training
from course_lib.training.layers import PartialPasses

__all__ = ["order_of_need", "priority"]


def priority(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, order: Sequence[int],
    allreduce: Callable[..., Array] = allreduce_ring, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train on all ranks together, with the layers' exchanges one after the other in a given order.

    The next forward pass begins with the first layer, whose gradient back-propagation finds last.
    So the first layers overtake the last ones at the network, and the pass waits for one layer,
    updates it, goes through it, and only then waits for the next: exchanges hide behind it, too.

    Parameters
    ----------
    order : sequence of int
        Every layer's number once, as ``order_of_need`` returns them; the same on every rank. A
        layer that is ready waits for those before it in the order.

    Notes
    -----
    Cost of one step: an all-reduce for each layer, of n bytes together, for n = the bytes of the
    parameters. Before the first step: a broadcast of n bytes.

    Invariant: when a layer is gone through, it has taken exactly the steps before this one. At the
    end of an epoch all layers have taken all steps, so that the model can be looked at.

    References
    ----------
    A. Jayarajan, J. Wei, G. Gibson, A. Fedorova and G. Pekhimenko, "Priority-based parameter
    propagation for distributed DNN training", SysML 2019 (which also cuts layers into slices, so
    that an urgent one need not wait for a long one that is on its way).

    Y. Peng, Y. Zhu, Y. Chen et al., "A generic communication scheduler for distributed DNN training
    acceleration", SOSP 2019 (ByteScheduler).
    """
    layers = check_training(model, X, y, optimizer=optimizer, allreduce=allreduce).layers
    check_plan(plan, "priority", "clip", "accumulate")  # all of a gradient is never there at once
    if not hasattr(order, "__len__") or sorted(order) != list(range(len(layers))):
        raise ValueError(f"order must name each of the layers 0 to {len(layers) - 1}, got {order}")
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    grad = w * 0
    sgds = [optimizer(w[layer.part], plan) for layer in layers]
    exchanges: dict[int, Pending[Array]] = {}

    def finish(number: int) -> None:
        """Wait for one layer's gradient and take its step."""
        exchanges.pop(number).wait()
        part = layers[number].part
        with comm.compute(f"update {layers[number].name}", flops=2.0 * layers[number].n_parameters):
            sgds[number].step(grad[part])

    losses = []
    shares = plan.shares(len(y), comm.rank, comm.size, w)
    for step, (examples, weight) in enumerate(shares, start=1):
        passes = PartialPasses(comm.compute, model, w, (X[examples], y[examples]), weight)
        for number, layer in enumerate(layers):
            if exchanges:  # those of the step before; there are none in an epoch's first
                finish(number)
            passes.forward(layer)  # which reads the layer's parameters now, not before
        losses.append(passes.loss())
        comm.note("loss_partial", losses[-1])

        before, not_started = None, list(order)
        for number in reversed(range(len(layers))):
            grad[layers[number].part] = passes.backward(layers[number])
            # The layers from this one on are ready: go on in the order as far as it is of them.
            while not_started and not_started[0] >= number:
                part = grad[layers[not_started[0]].part]
                before = comm.start(allreduce, part, "sum", part, after=before)  # one at a time
                exchanges[not_started.pop(0)] = before

        if step % plan.steps_per_epoch(len(y)) == 0:  # nothing is on its way between two epochs
            for number in range(len(layers)):
                finish(number)
    return Training(w, losses)


def order_of_need(ready_s: Sequence[float], exchange_s: Sequence[float]) -> list[int]:
    """Plan the exchanges: whenever the network is free, the first layer of those ready goes next.

    All ranks must exchange in one order, and none knows how far the others are; so the order is
    planned from estimates, before the training.

    Parameters
    ----------
    ready_s : sequence of float
        For each layer, in the order of the forward pass, when back-propagation is done with it, in
        seconds.
    exchange_s : sequence of float
        How long the all-reduce of each takes alone, in seconds.

    Returns
    -------
    list of int
        The layers' numbers, counted from 0, in the order of their exchanges.

    References
    ----------
    S. H. Hashemi, S. A. Jyothi and R. H. Campbell, "TicTac: Accelerating distributed deep learning
    with communication scheduling", SysML 2019 (an order that is planned beforehand).

    Examples
    --------
    The last layer leaves at once; the first overtakes the second, which has waited for the network:

    >>> order_of_need(ready_s=[3.0, 2.0, 1.0], exchange_s=[0.5, 0.5, 5.0])
    [2, 0, 1]
    """
    order: list[int] = []
    now_s = 0.0
    waiting = set(range(len(ready_s)))
    while waiting:
        now_s = max(now_s, min(ready_s[number] for number in waiting))
        number = min(number for number in waiting if ready_s[number] <= now_s)
        now_s += exchange_s[number]
        waiting.remove(number)
        order.append(number)
    return order
