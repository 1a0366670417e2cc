"""How many replicas, how many parts of a layer, how many stages: all grids of P ranks, priced.

A rank has a place in each of three directions. *Data*: replicas have the whole net and a part of
the batch each; their gradients are added up. *Pipeline*: a replica's layers are cut into stages,
through which micro-batches flow (GPipe). *Tensor*: the units of each layer of a stage are divided.
The product of the three is P, so there are few grids, and every one can be tried.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from course_lib.collectives import allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network, check_network
from course_lib.models.published import LayerSize
from course_lib.planning.graph import Graph, Node
from course_lib.planning.prediction import predict
from course_lib.planning.sized_steps import SizedStep, ring_s
from course_lib.training.balanced import balanced_stages
from course_lib.words.whole import whole

__all__ = ["Degrees", "choose_degrees", "grid_step", "price_degrees", "run_degrees"]

_MOST_MICRO_BATCHES = 16


class Degrees(NamedTuple):
    """A grid of ranks: its size is the product.

    Attributes
    ----------
    data, tensor, pipeline : int
        Replicas, parts of each layer, and stages.
    n_micro : int
        Into how many micro-batches a replica's examples are cut.
    """

    data: int
    tensor: int
    pipeline: int
    n_micro: int

    def place(self, rank: int) -> tuple[int, int, int]:
        """Return a rank's replica, stage and part; parts of a stage are neighbours."""
        rest, part = divmod(rank, self.tensor)
        replica, stage = divmod(rest, self.pipeline)
        return replica, stage, part


def choose_degrees(
    layers: Sequence[LayerSize], batch: int, workers: int, network: Network
) -> tuple[Degrees, dict[Degrees, float]]:
    """Price every grid of so many workers, and choose the fastest.

    Parameters
    ----------
    layers : sequence of LayerSize
        The net, of fully connected layers, each with ``n_inputs``.
    batch : int
        How many examples all workers together take in a step.
    workers : int
        How many there are, P.
    network : Network
        One in which any two ranks are connected alike.

    Returns
    -------
    degrees : Degrees
        The best grid; the first of equals.
    seconds : dict of Degrees to float
        What is predicted of each.

    Raises
    ------
    ValueError
        If a layer is a convolution, whose weights are used more than once.

    Notes
    -----
    Cost: one prediction for each way to write P as a product of three numbers, and for each number
    of micro-batches 1, 2, 4, … 16 that leaves one an example.

    References
    ----------
    Z. Jia, M. Zaharia and A. Aiken, "Beyond data and model parallelism for deep neural networks",
    MLSys 2019, which searches far more ways; D. Narayanan, M. Shoeybi, J. Casper et al., SC 2021,
    section 3, who weigh the same three.

    Examples
    --------
    >>> from course_lib import networks
    >>> net = [LayerSize(f"fc{k}", 4_194_304, 25_165_824.0, 2048) for k in range(8)]
    >>> best, _ = choose_degrees(net, 512, 4, networks.ethernet_1g)
    >>> best.data, best.tensor, best.pipeline
    (1, 2, 2)
    """
    step = SizedStep(tuple(layers), batch)
    if step.split_at:
        raise ValueError(
            f"layers must be fully connected, got {step.layers[0].name}; "
            "choose_strategy takes others"
        )
    check_network(network)
    grids = _grids(whole("workers", workers, 1), len(step.layers), batch)
    seconds = {grid: price_degrees(step, grid, network) for grid in grids}
    return min(seconds, key=lambda grid: seconds[grid]), seconds


def _grids(workers: int, n_layers: int, batch: int) -> Iterator[Degrees]:
    for data in range(1, min(workers, batch) + 1):
        for tensor in range(1, workers // data + 1):
            pipeline, rest = divmod(workers, data * tensor)
            n_micro = 1
            most = min(batch // data, _MOST_MICRO_BATCHES if pipeline > 1 else 1)
            while rest == 0 and pipeline <= n_layers and n_micro <= most:
                yield Degrees(data, tensor, pipeline, n_micro)
                n_micro *= 2


def price_degrees(step: SizedStep, degrees: Degrees, network: Network) -> float:
    """Predict a step on a grid, in seconds: the slowest replica's pipeline, then the all-reduce.

    A stage's work on a micro-batch takes the time of its operations and of its exchanges, which
    are rings among its parts; messages between stages are those that ``predict`` knows.

    Parameters
    ----------
    step : SizedStep
        The net's sizes and the batch.
    degrees : Degrees
        The grid.
    network : Network
        One in which any two ranks are connected alike.

    Returns
    -------
    float
        As ``run_degrees`` would measure it.
    """
    data, tensor, pipeline, n_micro = degrees
    stages, n_examples = _stages(step, pipeline), -(-step.batch // (data * n_micro))
    speed = min(network.speeds(data * tensor * pipeline))

    def took_s(s: int, collective: str, part: float) -> float:
        split = stages[s] if collective == "allgather_ring" or s else stages[s][1:]
        sizes = [step.input_bytes(layer, n_examples) for layer in split]
        own = tensor if collective == "allgather_ring" else 1
        exchanged_s = sum(ring_s(collective, size // own, tensor, network) for size in sizes)
        return step.flops(stages[s], n_examples / tensor, part) / speed + exchanged_s

    nodes = []
    for m in range(n_micro):
        for s in range(pipeline):
            before = (f"F{m} {s - 1}",) if s else ()
            n_bytes = _crossing(step, stages, s + 1, n_examples, tensor)
            flops = speed * took_s(s, "allgather_ring", 1 / 3)
            nodes.append(Node(f"F{m} {s}", before, flops=flops, n_bytes=n_bytes))
    for m in range(n_micro):
        for s in reversed(range(pipeline)):
            behind = (f"B{m} {s + 1}",) if s + 1 < pipeline else ()
            n_bytes = _crossing(step, stages, s, n_examples, tensor)
            flops = speed * took_s(s, "reduce_scatter_ring", 2 / 3)
            nodes.append(Node(f"B{m} {s}", (f"F{m} {s}", *behind), flops=flops, n_bytes=n_bytes))
    placement = {node.name: int(node.name.split()[1]) for node in nodes}
    done = predict(Graph(nodes), placement, network, pipeline).finished_s
    return max(
        done[f"B{n_micro - 1} {s}"]
        + ring_s("allreduce_ring", step.parameter_bytes(stages[s]) // tensor, data, network)
        for s in range(pipeline)
    )


def grid_step(comm: Communicator, step: SizedStep, degrees: Degrees) -> None:
    """Take one step on a grid, with as many bytes and operations as a net of these sizes has.

    Parameters
    ----------
    comm : Communicator
        The ranks of the grid.
    step : SizedStep
        The net's sizes and the batch.
    degrees : Degrees
        The grid.

    Notes
    -----
    Cost: for each micro-batch and each layer a ring all-gather among a stage's parts, and a ring
    reduce-scatter back, which the first layer of the net is spared; over each cut a message each
    way, from a part to the same part; at the end a ring all-reduce of a part among its replicas.
    A stage exchanges for all its layers and computes them in one go: only the sum is priced.
    """
    data, tensor, pipeline, n_micro = degrees
    replica, s, part = degrees.place(comm.rank)
    parts, replicas = comm.split(replica * pipeline + s), comm.split(s * tensor + part)
    assert parts is not None
    assert replicas is not None
    stages, n_examples = _stages(step, pipeline), -(-step.batch // (data * n_micro))
    before, after = comm.rank - tensor, comm.rank + tensor  # the same part of another stage
    inputs_of = [comm.irecv(before) for _ in range(n_micro if s else 0)]
    slopes_of = [comm.irecv(after) for _ in range(n_micro if s + 1 < pipeline else 0)]
    going = []
    for m in range(n_micro):
        if s > 0:
            inputs_of[m].wait()
        for layer in stages[s]:
            inputs = step.zeros(step.input_bytes(layer, n_examples), tensor)
            allgather_ring(parts, inputs[: len(inputs) // tensor])
        with comm.compute("forward", flops=step.flops(stages[s], n_examples / tensor, 1 / 3)):
            n_bytes = _crossing(step, stages, s + 1, n_examples, tensor)
        if s + 1 < pipeline:
            going.append(comm.isend(step.zeros(n_bytes, 1), after))
    for m in range(n_micro):
        if s + 1 < pipeline:
            slopes_of[m].wait()
        with comm.compute("backward", flops=step.flops(stages[s], n_examples / tensor, 2 / 3)):
            n_bytes = _crossing(step, stages, s, n_examples, tensor)
        for layer in stages[s] if s else stages[s][1:]:
            reduce_scatter_ring(parts, step.zeros(step.input_bytes(layer, n_examples), tensor))
        if s > 0:
            going.append(comm.isend(step.zeros(n_bytes, 1), before))
    allreduce_ring(replicas, step.zeros(step.parameter_bytes(stages[s]) / tensor, data))
    for message in going:
        message.wait()


def run_degrees(
    layers: Sequence[LayerSize], batch: int, degrees: Degrees, network: Network
) -> float:
    """Run a step on a grid in virtual time.

    Parameters
    ----------
    layers : sequence of LayerSize
        The net, of fully connected layers, each with ``n_inputs``.
    batch : int
        How many examples all workers together take.
    degrees : Degrees
        The grid.
    network : Network
        One in which any two ranks are connected alike.

    Returns
    -------
    float
        Its virtual seconds.
    """
    step, slower = SizedStep(tuple(layers), batch).shortened(network)
    workers = degrees.data * degrees.tensor * degrees.pipeline
    return run(
        grid_step, step, degrees, workers=workers, backend="simulated", network=slower,
        rendezvous=True, trace=False,
    ).elapsed_s  # fmt: skip


def _stages(step: SizedStep, n_stages: int) -> list[tuple[LayerSize, ...]]:
    lengths = balanced_stages([layer.flops for layer in step.layers], n_stages)
    return [step.layers[slice(*ends)] for ends in pairwise(accumulate(lengths, initial=0))]


def _crossing(
    step: SizedStep, stages: list[tuple[LayerSize, ...]], s: int, n_examples: int, tensor: int
) -> int:
    """Count the bytes that one part of a stage gets of a micro-batch; 0 for the first."""
    is_cut = 0 < s < len(stages)
    return step.input_bytes(stages[s][0], n_examples) // tensor if is_cut else 0
