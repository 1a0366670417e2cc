"""What does not fit, and two nets on workers: a row of layers, and branches side by side."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import Network
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.fully_connected import FullyConnected
from course_lib.models.published import PUBLISHED, parameters_and_flops
from course_lib.planning.branches import BranchingNet, place_branches
from course_lib.planning.train_branches import train_branches
from course_lib.trace.trace import Trace
from course_lib.training import Plan
from course_lib.viz import Timeline, timeline

__all__ = ["BYTES_A_PARAMETER", "SIZES", "branches", "branches_s", "row_of_layers"]

BYTES_A_PARAMETER = 16
"""While it is trained with Adam: weight, gradient and two averages, 4 bytes each."""

SIZES: Mapping[str, int] = {
    "ResNet-50": parameters_and_flops(PUBLISHED["ResNet-50"])[0],
    "VGG-16": parameters_and_flops(PUBLISHED["VGG-16"])[0],
    "GPT-2 (2019)": 1_500_000_000,
    "GPT-3 (2020)": 175_000_000_000,
}
"""Parameters of networks. GPT-2 and GPT-3: as their authors report them, rounded."""

_ROWS, _WIDTH, _LAYERS = 64, 64, 6


def row_of_layers(n_layers: int = 4, width: int = 256) -> tuple[Chain, Any, Any]:
    """Make a row of layers that are alike, and a batch for it.

    Parameters
    ----------
    n_layers : int, default: 4
        How many.
    width : int, default: 256
        How many numbers each takes and makes.

    Returns
    -------
    model : Chain
        Fully connected layers.
    X, y : array, shapes (64, width) and (64,)
        Examples, drawn.
    """
    rng = np.random.default_rng(7)
    return (
        deep_mlp(*[width] * (n_layers + 1)),
        rng.normal(size=(_ROWS, width)), rng.integers(0, width, size=_ROWS),
    )  # fmt: skip


@cache
def _branched() -> BranchingNet:
    """Make two branches of six layers, and a small head."""
    layers = [
        [FullyConnected(f"{name}{k}", _WIDTH, _WIDTH) for k in range(1, _LAYERS + 1)]
        for name in ("left", "right")
    ]
    return BranchingNet(layers, [FullyConnected("head", 2 * _WIDTH, 10, bends=False)], (_WIDTH,))


@cache
def _branched_run(places: tuple[int, int], network: Network) -> Trace:
    net, rng = _branched(), np.random.default_rng(7)
    X, y = rng.normal(size=(_ROWS, _WIDTH)), rng.integers(0, 10, size=_ROWS)
    where = place_branches(net, places, head=0)
    return run(
        train_branches, net, X, y, Plan(batch_size=_ROWS), where,
        workers=2, backend="simulated", network=network,
    ).trace  # fmt: skip


def branches_s(network: Network) -> tuple[float, float]:
    """Simulate a step of two branches.

    Parameters
    ----------
    network : Network
        What connects two workers.

    Returns
    -------
    one_s : float
        With both branches on one worker.
    two_s : float
        With one branch on each of two.
    """
    return _branched_run((0, 0), network).end_s, _branched_run((0, 1), network).end_s


_CALLED = {"nvlink_4": "NVLink", "ethernet_10g": "10 Gbit/s", "ethernet_1g": "1 Gbit/s"}


def branches(network: Network) -> Timeline:
    """Show a step of two branches on one worker, and on two.

    Parameters
    ----------
    network : Network
        What connects the workers.

    Returns
    -------
    Timeline
        Both, above each other.
    """
    one_s, two_s = branches_s(network)
    name = _CALLED.get(network.name, network.name)
    return timeline(
        {"both branches on rank 0": _branched_run((0, 0), network),
         "one on each rank": _branched_run((0, 1), network)},
        title=f"{name}: two workers are {one_s / two_s:.2f} times as fast",
    )  # fmt: skip
