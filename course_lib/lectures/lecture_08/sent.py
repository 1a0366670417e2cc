"""What a step sends: data, model and hybrid parallelism in bytes, for any grid of ranks."""

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.comm.simulated.network import Network
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.planning.sized_steps import GRADIENT_BYTES, SizedStep
from course_lib.planning.strategy import choose_strategy
from course_lib.viz import Chart, chart
from course_lib.words.units import in_bytes

__all__ = [
    "NETS", "equal_layers", "grids", "hybrid_bytes", "hybrid_chart", "model_bytes", "net_row",
    "pairs_bytes", "pairs_chart", "seconds_chart",
]  # fmt: skip

NETS = ("AlexNet", "VGG-16", "GoogLeNet", "ResNet-50")


def equal_layers(width: int, n_layers: int = 4) -> tuple[LayerSize, ...]:
    """Size fully connected layers that are alike.

    Parameters
    ----------
    width : int
        The inputs of each, and its units.
    n_layers : int, default: 4
        How many, an even number.

    Returns
    -------
    tuple of LayerSize
        In the order of the forward pass.
    """
    weights = width * width
    each = LayerSize("fc", weights + width, 6.0 * weights, width)
    return tuple(each._replace(name=f"fc{k}") for k in range(1, n_layers + 1))


def grids(workers: int) -> list[tuple[int, int]]:
    """List the grids of so many workers.

    Parameters
    ----------
    workers : int
        How many, P.

    Returns
    -------
    list of (int, int)
        Replicas and splits, whose product is P; data parallelism first.
    """
    return [(workers // K, K) for K in range(1, workers + 1) if workers % K == 0]


def pairs_bytes(step: SizedStep, replicas: int, splits: int) -> dict[str, float]:
    """Count what a rank sends where fully connected layers are split in pairs, column and row.

    Parameters
    ----------
    step : SizedStep
        Layers of equal width, an even number of them, and the batch of all replicas together.
    replicas, splits : int
        The grid.

    Returns
    -------
    dict of str to float
        Bytes of "gradients" and of "activations", with their slopes. All exchanges are rings.
    """
    m = step.batch / replicas
    activations = 0.0
    for first, second in zip(step.layers[::2], step.layers[1::2], strict=True):
        outputs = step.input_bytes(second, 1) * m  # as many as the second layer's inputs
        slopes = 0.0 if first is step.layers[0] else step.input_bytes(first, 1) * m
        activations += _ring(splits, outputs) + _ring(splits, slopes)
    gradients = _ring(replicas, step.parameter_bytes(step.layers) / splits)
    return {"gradients": gradients, "activations": activations}


def hybrid_bytes(step: SizedStep, replicas: int, splits: int) -> dict[str, float]:
    """Count what a rank sends where the fully connected layers at the end are split by units.

    Parameters
    ----------
    step : SizedStep
        The net, and the batch of all ranks together.
    replicas, splits : int
        The grid: each row of ``splits`` ranks shares the fully connected layers.

    Returns
    -------
    dict of str to float
        Bytes of "gradients" and of "activations", with their slopes, as ``hybrid_step`` sends them.
        One split is data parallelism. The outputs of the last layer are not counted.
    """
    apart, split = step.layers[: step.split_at], step.layers[step.split_at :]
    gradients = _ring(replicas * splits, step.parameter_bytes(apart))
    gradients += _ring(replicas, step.parameter_bytes(split) / splits)
    inputs = sum(step.input_bytes(layer, step.batch) for layer in split) / replicas
    return {"gradients": gradients, "activations": _ring(splits, inputs)}


def model_bytes(step: SizedStep, workers: int) -> dict[str, float]:
    """Count what a rank sends where every layer is split, by channels or by units.

    Parameters
    ----------
    step : SizedStep
        The net, and the batch, which is everybody's.
    workers : int
        How many ranks.

    Returns
    -------
    dict of str to float
        Bytes of "gradients", which are none, and of "activations", with their slopes.
    """
    inputs = sum(step.input_bytes(layer, step.batch) for layer in step.layers[1:])
    return {"gradients": 0.0, "activations": _ring(workers, inputs)}


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


def _ring(size: int, n_bytes: float) -> float:
    """Count what each of ``size`` ranks sends in a ring all-reduce, or in a gathering and a sum."""
    return 2 * (size - 1) / size * n_bytes


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
        said=f"Cheapest: {best}, {_and(parts)}.",
    )  # fmt: skip


def _and(parts: Sequence[str]) -> str:
    return " and ".join(parts) if parts else "nothing"
