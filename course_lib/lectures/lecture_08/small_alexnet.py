"""One step of a small AlexNet: data parallel, split, and as a hybrid."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.models.alexnet import alexnet
from course_lib.schemes import data_parallel, hybrid, split_weights
from course_lib.trace.trace import Trace
from course_lib.training import Plan

__all__ = ["small_steps"]

_WAYS: dict[str, Callable[..., Any]] = {
    "data parallel": data_parallel,
    "fully connected layers split": split_weights,
    "hybrid": hybrid,
}


def small_steps(batch: int = 32, workers: int = 4, network: Network = DEFAULT) -> dict[str, Trace]:
    """Simulate a step in three ways.

    Parameters
    ----------
    batch : int, default: 32
        Of all ranks together.
    workers : int, default: 4
        How many.
    network : Network, default: networks.ethernet_10g
        What connects them.

    Returns
    -------
    dict of str to Trace
        By the name of the way. Data parallelism's first broadcast is left out. Where only the fully
        connected layers are split, every rank takes the whole batch through the convolutions.
    """
    model, rng = alexnet(channels=16, units=512), np.random.default_rng(8)
    job = model, rng.normal(size=(batch, 64)), rng.integers(0, 10, size=batch)
    traces = {}
    for name, scheme in _WAYS.items():
        trace = run(
            scheme, *job, Plan(batch_size=batch), workers=workers, backend="simulated",
            network=network,
        ).trace  # fmt: skip
        traces[name] = trace.since(min(span.start_s for span in trace.computes))
    return traces
