"""Gossip: no sum over all ranks, only a mean with one's neighbours, in every step."""

from course_lib.collectives import broadcast_tree
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.divergence import check_finite

__all__ = ["GRAPHS", "check_graph", "gossip", "mix", "neighbours"]

GRAPHS = ("ring", "hypercube")
"""Who may be whose neighbour."""


def gossip(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, graph: str = "ring",
    optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Let every rank take a step of its own, and then the mean of its model and its neighbours'.

    Nobody waits for anybody but his neighbours, and on a ring the work of a step does not grow with
    the number of ranks (on a hypercube with its logarithm). What a rank has learned reaches those
    farther away later, and weaker: the models differ, by less the better the graph mixes
    (``costs.consensus_factor``).

    Parameters
    ----------
    graph : {"ring", "hypercube"}, default: "ring"
        On a ring the two beside one are neighbours; on a hypercube, whose ranks are a power of two,
        those whose number differs in one bit.

    Notes
    -----
    Cost of one step, for d neighbours: d rounds; d messages and d n bytes sent by each rank, for n
    = the bytes of the parameters, and d = 2 on a ring, log2 P on a hypercube. Before the first
    one: a broadcast of n bytes. Nothing is sent at the end: every rank returns a model of its own.

    Invariant: averaging leaves the mean of all models where it is, since neighbours are so
    mutually, and all weights are equal.

    References
    ----------
    X. Lian, C. Zhang, H. Zhang et al., "Can decentralized algorithms outperform centralized
    algorithms?", NeurIPS 2017, algorithm 1 (whose gradient is that before the mean).
    """
    model = check_training(model, X, y, plan, optimizer=optimizer)
    check_graph(graph, comm.size)
    w = broadcast_tree(comm, model.initial(plan.seed) if comm.rank == 0 else None)
    sgd = optimizer(w, plan)
    losses = []
    shares = plan.shares(len(y), comm.rank, comm.size, w)
    steps_before = plan.first_epoch * plan.steps_per_epoch(len(y))
    for step, (examples, weight) in enumerate(shares, start=steps_before):
        batch = X[examples], y[examples]
        loss = 0.0
        if weight:
            with comm.compute("gradient", flops=model.flops(batch)):
                loss, grad = model.gradient(w, batch)
            check_finite(loss, step, plan.learning_rate)
            with comm.compute("update", flops=2.0 * model.n_parameters):
                sgd.step(grad)
        comm.note("loss_partial", weight * loss)
        losses.append(weight * loss)
        w[...] = mix(comm, w, graph)
    return Training(w, losses)


def mix(comm: Communicator, w: Array, graph: str = "ring") -> Array:
    """Return the mean of this rank's array and its neighbours', all with the same weight.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    w : array
        This rank's, of one shape on all ranks; it is not modified.
    graph : {"ring", "hypercube"}, default: "ring"
        Who is whose neighbour.

    Returns
    -------
    array
        A new one.
    """
    total = w + 0
    around = neighbours(comm.rank, comm.size, graph)
    for dst, src in around:
        comm.sendrecv(w, dst=dst, src=src, out=total, op="sum")
    return total / (1 + len(around))


def neighbours(rank: int, size: int, graph: str = "ring") -> list[tuple[int, int]]:
    """List whom a rank sends to, and from whom it receives at the same time.

    Parameters
    ----------
    rank, size : int
        Which rank, of how many.
    graph : {"ring", "hypercube"}, default: "ring"
        Who is whose neighbour. On a ring of two, the other is the neighbour on both sides.

    Returns
    -------
    list of (int, int)
        The receiver and the sender, for each neighbour.

    Examples
    --------
    >>> neighbours(0, 8), neighbours(5, 8, "hypercube")
    ([(1, 7), (7, 1)], [(4, 4), (7, 7), (1, 1)])
    """
    if graph == "hypercube":
        return [(rank ^ (1 << bit), rank ^ (1 << bit)) for bit in range(size.bit_length() - 1)]
    right, left = (rank + 1) % size, (rank - 1) % size
    return [(right, left), (left, right)] if size > 1 else []


def check_graph(graph: str, size: int) -> None:
    """Refuse a graph that there is not, or not with so many ranks.

    Parameters
    ----------
    graph : str
        One of ``GRAPHS``.
    size : int
        How many ranks.

    Raises
    ------
    ValueError
        Naming what was expected.
    """
    if graph not in GRAPHS:
        raise ValueError(f"graph must be one of {', '.join(GRAPHS)}, got {graph!r}")
    if graph == "hypercube" and size & (size - 1):
        raise ValueError(
            f"graph hypercube needs a power of two of ranks: workers must be 2, 4, 8, ..., "
            f"got {size}"
        )
