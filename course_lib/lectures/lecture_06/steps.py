"""A step's critical path with layers that leave one by one: priced, simulated, and on processes."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.simulated import networks
from course_lib.comm.simulated.networks import Network
from course_lib.costs import predicted_s
from course_lib.data.digits import load_digits
from course_lib.lectures.lecture_00 import this_computer
from course_lib.measure import one_step
from course_lib.measure.dry_runs import GRADIENT_BYTES
from course_lib.models.mlp import mlp
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.schemes import layerwise_bucketed
from course_lib.training import Plan
from course_lib.viz import Chart, chart

__all__ = [
    "BACKWARD",
    "GPU_FLOPS_PER_S",
    "SHOWN",
    "bucket_chart",
    "efficiency",
    "in_turn",
    "networks_chart",
    "real_steps",
    "step_s",
    "switch",
]

GPU_FLOPS_PER_S = 4e12
"""What a GPU of 2016 really computed, about: an assumption."""

SHOWN = ("GoogLeNet", "ResNet-50", "VGG-16", "AlexNet")
"""The published networks that the lecture compares."""

BACKWARD = 2 / 3
"""The backward pass' part of a step's flops: two products of three."""

in_turn = partial(layerwise_bucketed, bucket_bytes=0)
"""The scheme in which each layer's gradient leaves alone, one all-reduce after the other."""


def switch(gbit: float, latency_s: float = 20e-6, flops_per_s: float = GPU_FLOPS_PER_S) -> Network:
    """Make a network of GPUs behind one switch.

    Parameters
    ----------
    gbit : float
        The bandwidth of each NIC, in Gbit/s.
    latency_s : float, default: 20e-6
        Of a message.
    flops_per_s : float, default: GPU_FLOPS_PER_S
        What each GPU computes in a second.

    Returns
    -------
    Network
        A star.
    """
    return networks.Network(f"{gbit:g} Gbit/s", latency_s, gbit * 1e9 / 8, flops_per_s)


def step_s(
    sizes: Sequence[LayerSize],
    workers: int,
    each: int,
    network: Network,
    bucket_bytes: float = math.inf,
) -> float:
    """Price a step with rings by its critical path: gradients leave while others are computed.

    Parameters
    ----------
    sizes : sequence of LayerSize
        The network's layers, in the order of the forward pass.
    workers, each : int
        How many workers, and how many examples each of them has.
    network : Network
        A star.
    bucket_bytes : float, default: math.inf
        When a bucket leaves: 0 for every layer alone, infinity for one all-reduce at the end.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    An all-reduce begins when its last layer is back-propagated *and* the one before it is over:
    ``done = max(done, ready) + allreduce``.

    Examples
    --------
    >>> layers = [LayerSize(name, 500_000, flops=3e9) for name in ("L1", "L2", "L3")]
    >>> there = networks.Network("1 GB/s", 0.0, 1e9, flops_per_s=1e12)
    >>> [round(1e3 * step_s(layers, 4, 1, there, bytes), 3) for bytes in (math.inf, 0)]
    [18.0, 14.0]
    """
    example_s = each / float(np.max(network.flops_per_s))
    alpha_beta = network.latency_s, network.beta_s_per_byte
    ready_s = (1 - BACKWARD) * example_s * sum(size.flops for size in sizes)
    done_s, gathered = 0.0, 0
    for number in reversed(range(len(sizes))):
        ready_s += BACKWARD * example_s * sizes[number].flops
        gathered += GRADIENT_BYTES * sizes[number].n_parameters
        if gathered >= bucket_bytes or number == 0:
            allreduce_s = predicted_s("allreduce_ring", workers, gathered, *alpha_beta)
            done_s, gathered = max(done_s, ready_s) + allreduce_s, 0
    return done_s


def efficiency(
    scheme: Any, sizes: Sequence[LayerSize], workers: int, each: int, network: Network,
    **options: Any,
) -> float:  # fmt: skip
    """Simulate a step; return the part of it in which a worker computes.

    Parameters
    ----------
    scheme : callable
        How to train.
    sizes : sequence of LayerSize
        The network's layers.
    workers, each : int
        How many workers, and how many examples each of them has.
    network : Network
        What connects them, and how fast they compute.
    **options
        What the scheme takes besides.

    Returns
    -------
    float
        Compute seconds over the seconds of the step.
    """
    compute_s = each * parameters_and_flops(tuple(sizes))[1] / float(np.max(network.flops_per_s))
    there: dict[str, Any] = {"workers": workers, "batch": workers * each, "network": network}
    # A thousand ranks take seconds a step, and the schemes of the lecture wait for all of it.
    return compute_s / one_step(scheme, sizes, steps=(1, 2), **there, **options).seconds


def networks_chart(gbit: float, examples: int, workers: int = 16) -> Chart:
    """Compare how efficient data parallelism is with four published networks.

    Parameters
    ----------
    gbit : float
        The bandwidth of each NIC, in Gbit/s.
    examples : int
        Of each worker.
    workers : int, default: 16
        How many GPUs.

    Returns
    -------
    Chart
        Two bars for each network: one all-reduce at the end, and layer by layer.
    """
    there, bars = switch(gbit), {}
    for name in SHOWN:
        sizes = PUBLISHED[name]
        compute_s = examples * parameters_and_flops(sizes)[1] / GPU_FLOPS_PER_S
        for when, bucket_bytes in (("at the end", math.inf), ("layer by layer", 0)):
            took_s = step_s(sizes, workers, examples, there, bucket_bytes)
            bars[f"{name}, {when}"] = round(100 * compute_s / took_s, 1)
    return chart(bars, x_range=(0, 100), unit="%", x_label=f"efficiency of {workers} GPUs, %")


def bucket_chart(name: str, latency_us: float, gbit: float = 10, workers: int = 16) -> Chart:
    """Draw the time of a step over the size of its buckets.

    Parameters
    ----------
    name : str
        A published network.
    latency_us : float
        Of a message, in microseconds.
    gbit : float, default: 10
        The bandwidth of each NIC, in Gbit/s.
    workers : int, default: 16
        How many GPUs, with 32 examples each.

    Returns
    -------
    Chart
        A curve, its lowest point, and what computing alone takes.
    """
    sizes, there = PUBLISHED[name], switch(gbit, latency_us * 1e-6)
    n_parameters, flops = parameters_and_flops(sizes)
    whole = GRADIENT_BYTES * n_parameters / 1e6
    tried = [mb for mb in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if mb < whole] + [whole]
    took = [(mb, 1e3 * step_s(sizes, workers, 32, there, mb * 1e6)) for mb in tried]
    best_mb, best_ms = min(took, key=lambda point: point[1])
    alone_ms = 1e3 * 32 * flops / GPU_FLOPS_PER_S
    return chart(
        {"a step": took, "computing alone": [(tried[0], alone_ms), (tried[-1], alone_ms)]},
        x_log=True, x_range=(0.1, 110), y_range=(0, 400), x_ticks=(0.1, 1, 10, 100),
        x_label="bucket, MB", y_label="ms a step", reference="computing alone",
        points={f"{best_mb:.3g} MB": (best_mb, best_ms)},
        said=f"Best are buckets of {best_mb:.3g} MB: {best_ms:.0f} ms. With 0.1 MB "
        f"{took[0][1]:.0f} ms, with all {whole:.0f} MB in one {took[-1][1]:.0f} ms.",
    )  # fmt: skip


def real_steps(workers: Sequence[int] = (2, 4)) -> Chart:
    """Train a perceptron on real processes, with one all-reduce at the end and layer by layer.

    Parameters
    ----------
    workers : sequence of int, default: (2, 4)
        How many processes.

    Returns
    -------
    Chart
        A bar each: the median step of rank 0, in milliseconds; below, how much single steps
        differ, and what the all-reduces should take by the alpha and beta of lecture 00.
    """
    digits = load_digits()
    model = mlp(64, 1024, 1024, 10, dtype="float32")
    job = model, digits.X_train, digits.y_train, Plan(batch_size=128, epochs=1)
    schemes = {"at the end": partial(layerwise_bucketed, bucket_bytes=math.inf),
               "layer by layer": in_turn}  # fmt: skip
    took = {}
    for P in workers:
        for when, scheme in schemes.items():
            trace = run(scheme, *job, workers=P).trace
            ends = [c.end_s for c in trace.computes if (c.rank, c.label) == (0, "update")]
            took[f"{P} processes, {when}"] = 1e3 * np.diff(ends)
    medians = {name: round(float(np.median(ms)), 1) for name, ms in took.items()}
    spread = max(float(np.max(ms) / np.min(ms)) for ms in took.values())
    mine, n_bytes = this_computer(), GRADIENT_BYTES * model.n_parameters
    alpha_beta = mine.latency_s, mine.beta_s_per_byte
    rings = [1e3 * predicted_s("allreduce_ring", P, n_bytes, *alpha_beta) for P in workers]
    each = " and ".join(f"{ms:.1f} ms on {P}" for P, ms in zip(workers, rings, strict=True))
    return chart(
        medians, unit="ms", x_label="ms a step, median",
        said=f"In one run the slowest step takes up to {spread:.1f} times as long as the fastest. "
        f"By α and β of {mine.name} the all-reduce takes {each}: no more can be hidden.",
    )  # fmt: skip
