"""Data, model or hybrid parallelism: which one a net and a network ask for, by their sizes.

*Data*: each worker has the whole net and a part of the examples; gradients are added up. *Model*:
each worker has some of the layers, and micro-batches flow through them as in a pipeline (GPipe).
*Hybrid*: convolutions as in data parallelism, the fully connected layers behind them split by
units. What each takes is predicted from the same few numbers, and can be run in virtual time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.simulated.network import Network
from course_lib.models.published import LayerSize
from course_lib.planning.executor import execute
from course_lib.planning.prediction import predict
from course_lib.planning.sized_steps import SizedStep, data_step, hybrid_step, pipeline_step, ring_s
from course_lib.trace.trace import Trace
from course_lib.words.tables import as_html, as_text
from course_lib.words.units import in_seconds
from course_lib.words.whole import whole

__all__ = ["STRATEGIES", "Choice", "Strategies", "choose_strategy", "compare_strategies",
           "run_strategy", "trace_strategy"]  # fmt: skip

STRATEGIES = ("data", "model", "hybrid")

_MOST_MICRO_BATCHES = 64


@dataclass(frozen=True)
class Choice:
    """What is predicted of a step in each of the three ways.

    Attributes
    ----------
    step : SizedStep
        The net's sizes and the batch.
    workers : int
        How many.
    network : Network
        What connects them, and how fast they compute.
    n_micro : int
        How many micro-batches the pipeline is fastest with.
    seconds : dict of str to float
        The predicted step, by the name of the strategy.
    """

    step: SizedStep
    workers: int
    network: Network
    n_micro: int
    seconds: dict[str, float]

    @property
    def name(self) -> str:
        """The fastest: "data", "model" or "hybrid"; the first named of equals."""
        return min(STRATEGIES, key=lambda name: self.seconds[name])


def choose_strategy(
    layers: Sequence[LayerSize], batch: int, workers: int, network: Network
) -> Choice:
    """Predict a step in each of the three ways, and choose the fastest.

    Parameters
    ----------
    layers : sequence of LayerSize
        The net, each layer with ``n_inputs``.
    batch : int
        How many examples all workers together take in a step.
    workers : int
        How many there are.
    network : Network
        One in which any two ranks are connected alike; the slowest rank's speed counts.

    Returns
    -------
    Choice
        Its ``name`` is what to take.

    Notes
    -----
    Cost: data T_c / P + ring(parameters); hybrid T_c / P + ring(parameters of convolutions) + two
    exchanges of B x n_inputs numbers for each split layer; model as ``predict`` says of the
    pipeline, with 1, 2, 4, … 64 micro-batches, the best of them. What is not looked at: memory,
    messages hidden under computing, and that small micro-batches may compute more slowly.

    Examples
    --------
    >>> from course_lib import networks
    >>> from course_lib.models.published import PUBLISHED
    >>> choose_strategy(PUBLISHED["AlexNet"], 512, 4, networks.ethernet_10g).name
    'hybrid'
    >>> choose_strategy(PUBLISHED["GoogLeNet"], 512, 4, networks.wan).name
    'data'
    """
    step, workers = SizedStep(tuple(layers), batch), whole("workers", workers, 1)
    pipelines = {}
    n_micro = 1
    while n_micro <= min(batch, _MOST_MICRO_BATCHES):
        graph, placement = pipeline_step(step, workers, n_micro)
        pipelines[n_micro] = predict(graph, placement, network, workers).makespan_s
        n_micro *= 2
    n_micro = min(pipelines, key=lambda m: pipelines[m])
    seconds = {
        "data": _data_s(step, workers, network),
        "model": pipelines[n_micro],
        "hybrid": _hybrid_s(step, workers, network),
    }
    return Choice(step, workers, network, n_micro, seconds)


def _data_s(step: SizedStep, workers: int, network: Network) -> float:
    n_examples = -(-step.batch // workers)
    compute_s = step.flops(step.layers, n_examples) / min(network.speeds(workers))
    n_bytes = step.parameter_bytes(step.layers)
    return compute_s + ring_s("allreduce_ring", n_bytes, workers, network)


def _hybrid_s(step: SizedStep, workers: int, network: Network) -> float:
    apart, split = step.layers[: step.split_at], step.layers[step.split_at :]
    flops = step.flops(apart, -(-step.batch // workers)) + step.flops(split, step.batch / workers)
    seconds = flops / min(network.speeds(workers))
    if apart:
        seconds += ring_s("allreduce_ring", step.parameter_bytes(apart), workers, network)
    for layer in split:
        n_bytes = step.input_bytes(layer, step.batch)
        seconds += ring_s("allgather_ring", n_bytes // workers, workers, network)
        if layer is not step.layers[0]:
            seconds += ring_s("reduce_scatter_ring", n_bytes, workers, network)
    return seconds


def run_strategy(choice: Choice, name: str) -> float:
    """Run a step in one of the three ways, in virtual time.

    Parameters
    ----------
    choice : Choice
        The net, the workers and the network.
    name : {"data", "model", "hybrid"}
        Which way.

    Returns
    -------
    float
        Seconds of virtual time.

    Raises
    ------
    ValueError
        If there is no such strategy.
    """
    return _run(choice, name, trace=False).elapsed_s


def trace_strategy(choice: Choice, name: str) -> Trace:
    """Run a step in one of the three ways, in virtual time, and keep what happened.

    Parameters
    ----------
    choice : Choice
        The net, the workers and the network.
    name : {"data", "model", "hybrid"}
        Which way.

    Returns
    -------
    Trace
        Its times are true; the bytes are those of the shortened messages that stand for large ones.

    Raises
    ------
    ValueError
        If there is no such strategy.
    """
    return _run(choice, name, trace=True).trace


def _run(choice: Choice, name: str, *, trace: bool) -> Result:
    if name not in STRATEGIES:
        raise ValueError(f"name must be one of {', '.join(STRATEGIES)}, got {name!r}")
    step, network = choice.step.shortened(choice.network)
    programs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "data": (data_step, (step,)),
        "model": (execute, pipeline_step(step, choice.workers, choice.n_micro)),
        "hybrid": (hybrid_step, (step,)),
    }
    fn, arguments = programs[name]
    return run(
        fn, *arguments, workers=choice.workers, backend="simulated", network=network,
        rendezvous=True, trace=trace,
    )  # fmt: skip


@dataclass(frozen=True)
class Strategies:
    """Choices for nets and networks, and what really was the fastest; it shows itself as a table.

    Attributes
    ----------
    rows : tuple of (str, Choice, dict of str to float)
        The net's name, what was predicted, and the seconds of each strategy when run.
    """

    rows: tuple[tuple[str, Choice, dict[str, float]], ...]

    def lost_by_data(self, row: int) -> float:
        """Say how much longer a step is, in parts of the chosen one, if data is always taken."""
        _, choice, ran_s = self.rows[row]
        return ran_s["data"] / ran_s[choice.name] - 1

    def __str__(self) -> str:
        """Return the table as aligned text."""
        return f"{self._title}\n{as_text(self._head, self._cells())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self._head, self._cells(), self._title)

    _head = ("net", "network", *STRATEGIES, "chosen", "always data loses")
    _title = "seconds of a step, run in virtual time"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                net, choice.network.name, *(in_seconds(ran_s[name]) for name in STRATEGIES),
                choice.name, f"{self.lost_by_data(row):.0%}",
            )
            for row, (net, choice, ran_s) in enumerate(self.rows)
        ]  # fmt: skip


def compare_strategies(
    nets: Mapping[str, Sequence[LayerSize]],
    networks: Sequence[Network],
    batch: int,
    workers: int,
) -> Strategies:
    """Choose for every pair of net and network, and run all three ways to see what was right.

    Parameters
    ----------
    nets : mapping of str to sequence of LayerSize
        The nets by name.
    networks : sequence of Network
        The networks.
    batch : int
        How many examples all workers together take in a step.
    workers : int
        How many there are.

    Returns
    -------
    Strategies
        A table with a row for each pair, and what "always data parallel" would lose.
    """
    rows = []
    for net, layers in nets.items():
        for network in networks:
            choice = choose_strategy(layers, batch, workers, network)
            rows.append((net, choice, {name: run_strategy(choice, name) for name in STRATEGIES}))
    return Strategies(tuple(rows))
