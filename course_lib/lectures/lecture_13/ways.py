"""Data, model or hybrid parallelism: what a planner chooses, and what each way looks like."""

from collections.abc import Sequence
from dataclasses import replace

from course_lib.comm.simulated import networks
from course_lib.comm.simulated.network import Network
from course_lib.measure import one_step
from course_lib.models.published import PUBLISHED, LayerSize
from course_lib.planning.degrees import Degrees, choose_degrees
from course_lib.planning.sized_bytes import equal_layers
from course_lib.planning.strategy import (
    STRATEGIES,
    Choice,
    choose_strategy,
    run_strategy,
    trace_strategy,
)
from course_lib.schemes import layerwise
from course_lib.trace.trace import Trace
from course_lib.viz import Chart, Table, chart, table

__all__ = [
    "CLUSTERS", "NETS", "degrees_table", "fastest_way", "hidden_s", "lost_by_data", "ways",
    "ways_chart",
]  # fmt: skip

NETS: dict[str, Sequence[LayerSize]] = {
    "AlexNet": PUBLISHED["AlexNet"],
    "VGG-16": PUBLISHED["VGG-16"],
    "GoogLeNet": PUBLISHED["GoogLeNet"],
    "16 layers": equal_layers(4096, 16),
}
"""Nets by name; the last has fully connected layers of 4,096 units."""

CLUSTERS: dict[str, Network] = {
    "1 Gbit/s": replace(networks.ethernet_1g, flops_per_s=1e13),
    "100 Gbit/s": replace(networks.ethernet_100g, flops_per_s=1e13),
    "NVLink": replace(networks.nvlink_4, flops_per_s=1e13),
}
"""What connects workers of 10 Tflop/s each."""

_NAMES = {"data": "data parallel", "model": "layers in a pipeline", "hybrid": "hybrid"}


def ways(net: str, network: str, batch: int, workers: int = 4) -> dict[str, Trace]:
    """Run a step in each of the three ways, in virtual time.

    Parameters
    ----------
    net, network : str
        Names of ``NETS`` and ``CLUSTERS``.
    batch : int
        Of all workers together.
    workers : int, default: 4
        How many.

    Returns
    -------
    dict of str to Trace
        By the name of the way.
    """
    choice = choose_strategy(NETS[net], batch, workers, CLUSTERS[network])
    return {_NAMES[name]: trace_strategy(choice, name) for name in STRATEGIES}


def fastest_way(net: str, network: str, batch: int, workers: int = 4) -> str:
    """Run a step in each of the three ways, and say which is the fastest; so must the choice be.

    Parameters
    ----------
    net, network : str
        Names of ``NETS`` and ``CLUSTERS``.
    batch : int
        Of all workers together.
    workers : int, default: 4
        How many.

    Returns
    -------
    str
        "data", "model" or "hybrid".

    Raises
    ------
    ValueError
        If another one was predicted to be the fastest.
    """
    choice = choose_strategy(NETS[net], batch, workers, CLUSTERS[network])
    ran_s = {name: run_strategy(choice, name) for name in STRATEGIES}
    fastest = min(STRATEGIES, key=lambda name: ran_s[name])
    if choice.name != fastest:
        raise ValueError(f"choice must be the fastest of those run, {ran_s}, got {choice.name!r}")
    return fastest


def ways_chart(net: str, network: str, batch: int, workers: int) -> Chart:
    """Draw what a step takes in each of the three ways, the one that the planner takes marked.

    Parameters
    ----------
    net, network : str
        Names of ``NETS`` and ``CLUSTERS``.
    batch : int
        Of all workers together.
    workers : int
        How many.

    Returns
    -------
    Chart
        Predicted seconds; below it what is lost by always taking data parallelism.
    """
    choice = choose_strategy(NETS[net], batch, workers, CLUSTERS[network])
    times = _lost_by_data(choice)
    said = f"Always data parallel: {times:.3g} times as long."
    return chart(
        {_NAMES[name]: choice.seconds[name] for name in STRATEGIES}, unit="s",
        told=_NAMES[choice.name], x_label="seconds a step",
        said=said if choice.name != "data" else "Data parallel is the fastest here.",
    )  # fmt: skip


def lost_by_data(net: str, network: str, batch: int, workers: int = 4) -> float:
    """Say how many times as long as the fastest way data parallelism takes, as predicted.

    Parameters
    ----------
    net, network : str
        Names of ``NETS`` and ``CLUSTERS``.
    batch : int
        Of all workers together.
    workers : int, default: 4
        How many.

    Returns
    -------
    float
        1 where it is the fastest.
    """
    return _lost_by_data(choose_strategy(NETS[net], batch, workers, CLUSTERS[network]))


def _lost_by_data(choice: Choice) -> float:
    return choice.seconds["data"] / choice.seconds[choice.name]


def hidden_s(net: str, network: str, batch: int, workers: int = 4) -> float:
    """Run a data-parallel step that starts a layer's all-reduce as soon as its gradient is there.

    Parameters
    ----------
    net, network : str
        Names of ``NETS`` and ``CLUSTERS``.
    batch : int
        Of all workers together.
    workers : int, default: 4
        How many.

    Returns
    -------
    float
        Seconds of virtual time, by the scheme ``layerwise`` of lecture 06.
    """
    return one_step(
        layerwise, NETS[net], workers=workers, batch=batch, network=CLUSTERS[network]
    ).seconds


def degrees_table(batch: int = 512, workers: int = 8) -> Table:
    """Try every grid of replicas, parts of layers and stages for the net of 16 layers.

    Parameters
    ----------
    batch : int, default: 512
        Of all workers together.
    workers : int, default: 8
        How many.

    Returns
    -------
    Table
        A row for each network: the best grid, how many were tried, and what data parallelism alone
        takes.
    """
    rows = {}
    for name, network in CLUSTERS.items():
        best, seconds = choose_degrees(NETS["16 layers"], batch, workers, network)
        only_data = Degrees(workers, 1, 1, 1)
        rows[name] = {
            "replicas": best.data, "parts of a layer": best.tensor, "stages": best.pipeline,
            "a step": seconds[best], "data parallel": seconds[only_data], "tried": len(seconds),
        }  # fmt: skip
    return table(rows, units={"a step": "s", "data parallel": "s"})
