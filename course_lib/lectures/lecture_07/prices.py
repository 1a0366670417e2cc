"""What schedules cost: a row of a table, curves over latency, and steps on this computer."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.lectures.lecture_07.flow import NAMES, Flow, flow
from course_lib.models.deep_mlp import deep_mlp
from course_lib.pipelines import Schedule, gpipe, one_f_one_b
from course_lib.schemes import model_parallel, pipeline
from course_lib.training import Plan
from course_lib.viz import Chart, chart

__all__ = ["latency_chart", "price", "real_steps"]

_LATENCIES_MS = (0, 0.1, 0.25, 0.5, 0.75, 1)


def price(made: Flow) -> dict[str, Any]:
    """Say what a step costs, as a row of a table.

    Parameters
    ----------
    made : Flow
        The step.

    Returns
    -------
    dict of str to number or str
        Its time, the time in which nothing is done, what is held, and messages.
    """
    ranks = range(made.schedule.n_ranks)
    return {
        "ms a step": made.ms,
        "idle, ms": made.idle_ms,
        "idle between first and last action, ms": float(max(map(made.times.idle_within, ranks))),
        "micro-batches held, by rank": ", ".join(f"{n:g}" for n in made.held),
        "messages": made.schedule.n_messages,
    }


def latency_chart(microbatches: int, ranks: int = 4, names: Sequence[str] = tuple(NAMES)) -> Chart:
    """Draw what a step takes over the time that a message travels.

    Parameters
    ----------
    microbatches : int
        How many, M.
    ranks : int, default: 4
        How many, P.
    names : sequence of str, default: all
        Which schedules, by the names of ``NAMES``.

    Returns
    -------
    Chart
        A curve for each; above 1, the part that a step is longer than its computing.
    """
    curves = {
        name: [(ms, flow(name, ranks, microbatches, ms).ms / (3 * microbatches))
               for ms in _LATENCIES_MS]
        for name in names
    }  # fmt: skip
    return chart(
        curves, x_label="a message travels, ms (a forward pass takes 1)", x_range=(0, 1),
        y_label="a step, over its computing", y_range=(1, 2.8),
    )  # fmt: skip


def real_steps(ranks: int = 2, microbatches: int = 8, width: int = 512, rows: int = 1024) -> Chart:
    """Train on processes of this computer: whole, in parts one after the other, and in pipelines.

    Parameters
    ----------
    ranks : int, default: 2
        How many processes.
    microbatches : int, default: 8
        Into how many a batch is cut.
    width, rows : int, default: 512 and 1024
        How many units each of eight layers has, and how many examples a batch.

    Returns
    -------
    Chart
        A bar each: the median step of the last rank, in milliseconds; below, how much single steps
        differ.
    """
    rng = np.random.default_rng(7)
    model, n_examples = deep_mlp(*[width] * 9, dtype="float32"), 6 * rows
    job = model, rng.normal(size=(n_examples, width)), rng.integers(0, width, n_examples)
    plan = Plan(batch_size=rows)
    pipelines: dict[str, Callable[[int, int], Schedule]] = {"GPipe": gpipe, "1F1B": one_f_one_b}
    traces = {
        "one process": run(model_parallel, *job, plan, workers=1).trace,
        "one after the other": run(model_parallel, *job, plan, workers=ranks).trace,
    } | {
        name: run(pipeline, *job, plan, make, microbatches, workers=ranks).trace
        for name, make in pipelines.items()
    }
    took = {}
    for name, trace in traces.items():
        last = [s.end_s for s in trace.computes if (s.rank, s.label) == (trace.size - 1, "update")]
        took[name] = 1e3 * np.diff(last)
    spread = max(float(np.max(ms) / np.min(ms)) for ms in took.values())
    medians = {name: round(float(np.median(ms)), 1) for name, ms in took.items()}
    first = min(medians, key=medians.__getitem__)
    part = medians[first] / medians["one after the other"]
    return chart(
        medians,
        unit="ms", x_label="ms a step, median", title=f"{ranks} processes, {microbatches} parts",
        said=f"First: {first}, in {part:.2f} of the time of one after the other. "
        f"In one run the slowest step takes up to {spread:.1f} times as long as the fastest.",
    )  # fmt: skip
