"""What a step sends, and how long it takes: data, model and hybrid parallelism as charts."""

from collections.abc import Mapping
from typing import Any

from course_lib.comm.simulated.network import Network
from course_lib.models.published import PUBLISHED, parameters_and_flops
from course_lib.planning.sized_bytes import (
    equal_layers,
    grids,
    hybrid_bytes,
    model_bytes,
    pairs_bytes,
)
from course_lib.planning.sized_steps import GRADIENT_BYTES, SizedStep
from course_lib.planning.strategy import choose_strategy
from course_lib.viz import Chart, Table, chart, table
from course_lib.words.units import in_bytes

__all__ = ["NETS", "hybrid_chart", "net_row", "pairs_chart", "price_sheet", "seconds_chart"]

NETS = ("AlexNet", "VGG-16", "GoogLeNet", "ResNet-50")


def pairs_chart(width: int, batch: int, workers: int) -> Chart:
    """Draw what a rank sends in a step of four fully connected layers, for every grid.

    Parameters
    ----------
    width : int
        The inputs and the units of each layer.
    batch : int
        Of all ranks together.
    workers : int
        How many, P.

    Returns
    -------
    Chart
        A bar for each grid, the cheapest marked.
    """
    step = SizedStep(equal_layers(width), batch)
    return _bars({_grid(*grid): pairs_bytes(step, *grid) for grid in grids(workers)})


def hybrid_chart(net: str, batch: int, workers: int) -> Chart:
    """Draw what a rank sends in a step of a published net: data, hybrids, model.

    Parameters
    ----------
    net : str
        One of ``NETS``.
    batch : int
        Of all ranks together.
    workers : int
        How many, P.

    Returns
    -------
    Chart
        A bar for each grid of the hybrid, and one where every layer is split; the cheapest marked.
    """
    step = SizedStep(PUBLISHED[net], batch)
    ways = {_grid(*grid): hybrid_bytes(step, *grid) for grid in grids(workers)}
    return _bars(ways | {"every layer split": model_bytes(step, workers)})


def seconds_chart(net: str, network: Network, batch: int, workers: int) -> Chart:
    """Draw how long a step takes: data parallel, as a hybrid, and as a pipeline of layers.

    Parameters
    ----------
    net : str
        One of ``NETS``.
    network : Network
        What connects the ranks.
    batch : int
        Of all ranks together.
    workers : int
        How many, P.

    Returns
    -------
    Chart
        Predicted seconds, nothing hidden under computing; the fastest marked.
    """
    choice = choose_strategy(PUBLISHED[net], batch, workers, network)
    names = {"data": "data parallel", "hybrid": "hybrid", "model": "layers in a pipeline"}
    return chart(
        {names[way]: choice.seconds[way] for way in names}, unit="s", told=names[choice.name],
        x_label="seconds a step", said=f"The pipeline has {choice.n_micro} micro-batches.",
    )  # fmt: skip


def net_row(net: str) -> dict[str, Any]:
    """Say where a net has its parameters and its arithmetic, as a row of a table.

    Parameters
    ----------
    net : str
        One of ``NETS``.

    Returns
    -------
    dict of str to number
        Millions of parameters, the fully connected layers' part of them and of the flops, and flops
        for each byte of gradient and example.
    """
    layers = PUBLISHED[net]
    at = SizedStep(layers, 1).split_at
    parameters, flops = parameters_and_flops(layers)
    fully, fully_flops = parameters_and_flops(layers[at:])
    return {
        "parameters, millions": round(parameters / 1e6, 1),
        "of them fully connected": fully / parameters,
        "of the flops": fully_flops / flops,
        "flops a byte of gradient": round(flops / (GRADIENT_BYTES * parameters)),
    }


def price_sheet(net: str, batch: int, workers: int) -> Table:
    """Lay out what a rank sends in a step, and which part of the parameters it holds.

    Parameters
    ----------
    net : str
        One of ``NETS``.
    batch : int
        Of all ranks together.
    workers : int
        How many, P.

    Returns
    -------
    Table
        A row for data parallelism, the hybrid on one row of ranks, every layer split, and ZeRO's
        third stage.
    """
    step = SizedStep(PUBLISHED[net], batch)
    n, P = step.parameter_bytes(step.layers), workers
    apart = step.parameter_bytes(step.layers[: step.split_at]) / n
    first = step.parameter_bytes(step.layers[:1])  # gathered once: nobody stands before it
    ways = {
        "data parallel": (hybrid_bytes(step, P, 1), 1.0),
        "hybrid": (hybrid_bytes(step, 1, P), apart + (1 - apart) / P),
        "every layer split": (model_bytes(step, P), 1 / P),
        "ZeRO, stage 3": ({"gradients": (P - 1) / P * (3 * n - first), "activations": 0.0}, 1 / P),
    }
    rows = {
        name: {"gradients, parameters": round(sent["gradients"]),
               "activations, slopes": round(sent["activations"]), "of the parameters held": held}
        for name, (sent, held) in ways.items()
    }  # fmt: skip
    units = dict.fromkeys(("gradients, parameters", "activations, slopes"), "bytes")
    return table(rows, units={**units, "of the parameters held": "%"})


def _grid(replicas: int, splits: int) -> str:
    if splits == 1:
        return f"data: {replicas} replicas"
    if replicas == 1:
        return f"1 replica on {splits} ranks"
    return f"{replicas} replicas on {splits} ranks each"


def _bars(ways: Mapping[str, Mapping[str, float]]) -> Chart:
    totals = {name: sum(parts.values()) for name, parts in ways.items()}
    best = min(totals, key=lambda name: totals[name])
    parts = [f"{in_bytes(round(n))} of {what}" for what, n in ways[best].items() if n]
    return chart(
        totals, unit="bytes", told=best, x_label="bytes that a rank sends in a step",
        said=f"Cheapest: {best}, {' and '.join(parts) or 'nothing'}.",
    )  # fmt: skip
