"""Published speed-ups as efficiencies, beside what computing over communication allows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from course_lib.collectives import ALLREDUCES
from course_lib.comm.simulated import networks
from course_lib.comm.simulated.networks import Network
from course_lib.measure import virtual_s
from course_lib.measure.dry_runs import GRADIENT_BYTES, with_bandwidth
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.viz import Chart, chart

__all__ = ["BAND", "REPORTED", "Reported", "allreduce_s", "history_chart", "possible", "ratio"]

_BYTES = 8 * 16  # of the short vector, for each worker

BAND = (0.5, 1.0, 2.0)
"""By what the assumed bandwidth is multiplied: nobody published how fast its network really was."""

_INCEPTION_V3 = tuple(
    LayerSize(name, 12_500_000, flops=15e9) for name in ("first half", "second half")
)  # Szegedy and others 2016: 25 million parameters, 5 billion multiply-adds


class Reported(NamedTuple):
    """A training that was published, with what we assume of its machines.

    Attributes
    ----------
    efficiency : float
        The reported speed-up over the number of workers.
    workers, each : int
        How many there were, and how many examples each of them had.
    sizes : sequence of LayerSize
        The layers whose gradients were added up.
    network : Network
        What we assume: latency, bandwidth, operations a second.
    allreduce : callable
        How gradients were added up.
    source : str
        Who reported it.
    """

    efficiency: float
    workers: int
    each: int
    sizes: Sequence[LayerSize]
    network: Network
    allreduce: Callable[..., Any]
    source: str = ""


REPORTED = {
    "Berkeley": Reported(
        47 / 128, 128, 8, PUBLISHED["GoogLeNet"],
        networks.Network("Cray Gemini", 2e-6, 5e9, flops_per_s=1.2e12),
        ALLREDUCES["tree"], source="Iandola and others 2016 (FireCaffe): 47 times on 128 GPUs",
    ),
    "Intel": Reported(
        90 / 128, 128, 4, PUBLISHED["VGG-A"],
        networks.Network("128 Xeon nodes", 2e-6, 7e9, flops_per_s=1.5e12),
        ALLREDUCES["halving_doubling"], source="Das and others 2016: 90 times on 128 nodes",
    ),
    "Google": Reported(
        56 / 100, 100, 32, _INCEPTION_V3,
        networks.Network("16 servers of 10 Gbit/s", 20e-6, 16 * 1.25e9, flops_per_s=1.5e12),
        ALLREDUCES["central"], source="Murray 2016 (TensorFlow 0.8): 56 times on 100 GPUs",
    ),
    "Amazon": Reported(
        109 / 128, 128, 32, _INCEPTION_V3,
        networks.two_level(networks.Network("PCIe", 15e-6, 10e9, flops_per_s=1.3e12),
                           networks.Network("20 Gbit/s", 20e-6, 2.5e9, 1), 16),
        partial(ALLREDUCES["two_level"], ranks_per_host=16),
        source="Vogels 2016 (MXNet): 109 times on 128 GPUs",
    ),
    "Facebook": Reported(
        0.9, 256, 32, PUBLISHED["ResNet-50"],
        networks.two_level(networks.Network("inside", 15e-6, 20e9, flops_per_s=4e12),
                           networks.Network("50 Gbit/s", 5e-6, 6.25e9, 1), 8),
        ALLREDUCES["halving_doubling"],
        source="Goyal and others 2017: about 90 % from 8 to 256 GPUs",
    ),
}  # fmt: skip
"""Five trainings. Sixteen servers are simulated as one with a NIC sixteen times as fast."""


def allreduce_s(training: Reported, factor: float = 1.0) -> float:
    """Simulate the all-reduce of a training's whole gradient.

    Parameters
    ----------
    training : Reported
        Which.
    factor : float, default: 1.0
        By what the assumed bandwidth is multiplied.

    Returns
    -------
    float
        Virtual seconds.

    Notes
    -----
    A short vector travels on connections that are slower by as much as it is shorter.
    """
    n_bytes = GRADIENT_BYTES * parameters_and_flops(tuple(training.sizes))[0]
    short = _BYTES * training.workers
    slower = with_bandwidth(training.network, factor * short / n_bytes)
    return virtual_s(training.allreduce, training.workers, short, slower, rendezvous=True)


def ratio(training: Reported, factor: float = 1.0) -> float:
    """Say how long a training computes for each second of communication.

    Parameters
    ----------
    training : Reported
        Which.
    factor : float, default: 1.0
        By what the assumed bandwidth is multiplied.

    Returns
    -------
    float
        Compute seconds over the seconds of the all-reduce.
    """
    flops = training.each * parameters_and_flops(tuple(training.sizes))[1]
    return flops / float(np.max(training.network.flops_per_s)) / allreduce_s(training, factor)


def possible(r: float) -> tuple[float, float]:
    """Say how efficient a training is that computes so long for each second of communication.

    Parameters
    ----------
    r : float
        See ``ratio``.

    Returns
    -------
    at_the_end : float
        Its efficiency with one all-reduce after the computing.
    overlapped : float
        And with one that begins with the backward pass, two thirds of the computing, and hides
        under it.

    Examples
    --------
    >>> [round(part, 2) for part in possible(1.0)]
    [0.5, 0.75]
    """
    return r / (1 + r), 1 / (1 + max(0.0, 1 / r - 2 / 3))


def history_chart() -> Chart:
    """Draw reported efficiencies over compute seconds per second of communication.

    Returns
    -------
    Chart
        The two curves of ``possible``; a point for each of ``REPORTED``, and a thin line through
        it as far as half and twice the assumed bandwidth would move it.
    """
    ratios = [0.1 * 1.1**k for k in range(50)]
    names = ("all-reduce at the end", "under the backward pass")
    curves = {name: [(r, possible(r)[k]) for r in ratios] for k, name in enumerate(names)}
    points, bands = {}, []
    for name, training in REPORTED.items():
        band = [(ratio(training, factor), training.efficiency) for factor in BAND]
        points[name] = band[BAND.index(1.0)]
        bands.append(band)
    return chart(
        curves, spread={names[0]: bands}, points=points, y_range=(0, 1),
        x_log=True, x_range=(0.1, 12), x_ticks=(0.1, 0.2, 0.5, 1, 2, 5, 10),
        x_label="seconds of computing for each second of communication", y_label="efficiency",
    )  # fmt: skip
