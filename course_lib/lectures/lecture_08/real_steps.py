"""Steps on processes of this computer: replicas, and layers that are split."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.models.deep_mlp import deep_mlp
from course_lib.schemes import data_parallel, split_weights
from course_lib.training import Plan
from course_lib.viz import Chart, chart

__all__ = ["real_steps"]

_WAYS: dict[str, Callable[..., Any]] = {"replicas": data_parallel, "split": split_weights}
_STEPS = 5


def real_steps(workers: int = 2, width: int = 1024, batches: tuple[int, ...] = (16, 512)) -> Chart:
    """Train four layers on processes of this computer, as replicas and split in pairs.

    Parameters
    ----------
    workers : int, default: 2
        How many processes.
    width : int, default: 1024
        How many units each of four layers has.
    batches : tuple of int, default: (16, 512)
        Numbers of examples, of all processes together.

    Returns
    -------
    Chart
        A bar for each way and batch: the median step, in milliseconds; below, how much single steps
        differ.
    """
    rng, model = np.random.default_rng(8), deep_mlp(*[width] * 5, dtype="float32")
    took = {}
    for batch in batches:
        X = rng.normal(size=(batch, width)).astype("float32")
        job = model, X, rng.integers(0, width, size=batch), Plan(batch_size=batch, epochs=_STEPS)
        for name, scheme in _WAYS.items():
            trace = run(scheme, *job, workers=workers).trace
            ends = [s.end_s for s in trace.computes if (s.rank, s.label) == (0, "update")]
            took[f"{batch:,} examples, {name}"] = 1e3 * np.diff(ends)
    spread = max(float(np.max(ms) / np.min(ms)) for ms in took.values())
    return chart(
        {name: round(float(np.median(ms)), 1) for name, ms in took.items()},
        unit="ms", x_label="ms a step, median", title=f"{workers} processes, four layers",
        said=f"In one run the slowest step takes up to {spread:.1f} times as long as the fastest.",
    )  # fmt: skip
