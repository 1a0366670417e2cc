"""The price of one step of reduce, update, broadcast: a formula, and a picture beside the runs."""

from collections.abc import Callable
from typing import Any

from course_lib import networks, run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.viz import Chart, chart

__all__ = ["step_chart", "step_s"]

NETWORK = networks.ethernet_10g
SIZES = (16, 512, 1024, 1536, 2048, 2049, 2560, 3072, 3584, 4096)
"""Lengths of models, in parameters of 8 bytes; 2,048 of them are as large as the eager limit."""


def step_s(n_bytes: int, workers: int, eager: bool | None = None) -> float:
    """Predict the time that one step spends on the network.

    Eager sends travel at the same time, so the way in costs one latency and the way out another.
    By rendezvous the combiner takes one partial sum after the other, and each pays a latency.

    Parameters
    ----------
    n_bytes : int
        The size of the model.
    workers : int
        How many there are, the combiner among them; 2 or more.
    eager : bool or None, default: None
        Whether sends are eager; None goes by the size.

    Returns
    -------
    float
        Seconds, on ten-gigabit Ethernet.

    Examples
    --------
    >>> round(1e6 * step_s(16_384, 4), 1), round(1e6 * step_s(16_392, 4), 1)
    (118.6, 158.7)
    """
    eager = n_bytes <= EAGER_BYTES if eager is None else eager
    latencies = 2 if eager else workers
    wire = 2 * (workers - 1) * n_bytes * NETWORK.beta_s_per_byte
    return latencies * NETWORK.latency_s + wire


def step_chart(step: Callable[..., Any], workers: int) -> Chart:
    """Draw the time of a step over the size of the model, simulated, between two formulas.

    Parameters
    ----------
    step : callable
        Called with a communicator and a number of parameters; takes one step.
    workers : int
        How many.

    Returns
    -------
    Chart
        Three curves, and a sentence on the jump and on the combiner's traffic.
    """
    runs = [run(step, n, workers=workers, backend="simulated") for n in SIZES]
    kb = [8 * n / 1024 for n in SIZES]
    points = list(zip(kb, [1e3 * made.elapsed_s for made in runs], strict=True))
    at = SIZES.index(EAGER_BYTES // 8)
    jump_s = runs[at + 1].elapsed_s - runs[at].elapsed_s
    formulas = {
        name: [(x, 1e3 * step_s(8 * n, workers, eager)) for x, n in zip(kb, SIZES, strict=True)]
        for name, eager in (("2α + 2(P−1)nβ", True), ("Pα + 2(P−1)nβ", False))
    }
    said = f"P = {workers}: 8 bytes more than 16 KB cost {1e6 * jump_s:,.0f} µs more"
    return chart(
        {"simulated": points, **formulas}, x_label="model, in KB", y_label="ms a step",
        x_ticks=[0, 8, 16, 24, 32], x_range=(0, 32), y_range=(0, 1.05 * points[-1][1]), said=said,
    )  # fmt: skip
