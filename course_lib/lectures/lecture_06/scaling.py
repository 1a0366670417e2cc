"""How many workers: strong and weak scaling of one network, as pictures."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from course_lib.costs.scaling import Step
from course_lib.lectures.lecture_06.steps import GPU_FLOPS_PER_S, switch
from course_lib.measure.dry_runs import GRADIENT_BYTES
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.viz import Chart, chart

__all__ = ["CASES", "efficiency_chart", "priced", "step_chart", "worth"]

_POWERS = [2**k for k in range(11)]
_RESNET = PUBLISHED["ResNet-50"]
_SMALL = (LayerSize("all", 64 * 32 + 32 + 32 * 10 + 10, flops=6.0 * (64 * 32 + 32 * 10)),)

CASES: Mapping[str, tuple[Any, int, float, float]] = {
    "digits, batch 64, 10 Gbit/s": (_SMALL, 64, 10, 1e10),
    "digits, batch 1,024, 10 Gbit/s": (_SMALL, 1024, 10, 1e10),
    "AlexNet, batch 256, 10 Gbit/s": (PUBLISHED["AlexNet"], 256, 10, GPU_FLOPS_PER_S),
    "GoogLeNet, batch 256, 1 Gbit/s": (PUBLISHED["GoogLeNet"], 256, 1, GPU_FLOPS_PER_S),
    "ResNet-50, batch 256, 1 Gbit/s": (_RESNET, 256, 1, GPU_FLOPS_PER_S),
    "ResNet-50, batch 256, 10 Gbit/s": (_RESNET, 256, 10, GPU_FLOPS_PER_S),
}
"""Layers, batch, Gbit/s, flop/s. Digits: a perceptron with 32 hidden units on a laptop's cores."""


def priced(
    sizes: Any, batch: int, gbit: float, flops_per_s: float = GPU_FLOPS_PER_S, hideable: float = 0.0
) -> Step:
    """Price a step with a ring.

    Parameters
    ----------
    sizes : sequence of LayerSize
        The network's layers.
    batch : int
        How many examples all workers take together.
    gbit : float
        The bandwidth of each NIC, in Gbit/s; the latency is 20 microseconds.
    flops_per_s : float, default: GPU_FLOPS_PER_S
        What a worker computes in a second.
    hideable : float, default: 0.0
        Under what part of the computing the all-reduce can go on.

    Returns
    -------
    Step
        Its price for any number of workers.
    """
    n_parameters, flops = parameters_and_flops(tuple(sizes))
    net = switch(gbit, flops_per_s=flops_per_s)
    return Step(
        batch, flops / flops_per_s, GRADIENT_BYTES * n_parameters, net.latency_s,
        net.beta_s_per_byte, hideable=hideable,
    )  # fmt: skip


def step_chart(gbit: float, batch: int) -> Chart:
    """Draw the time of a step of ResNet-50 over the number of workers.

    Parameters
    ----------
    gbit : float
        The bandwidth of each NIC, in Gbit/s.
    batch : int
        How many examples all workers take together.

    Returns
    -------
    Chart
        The step, its computing alone, the fastest number of workers, and the formula's.
    """
    step = priced(_RESNET, batch, gbit)
    shown = [P for P in _POWERS if batch >= P]
    tried = sorted({-(-batch // examples) for examples in range(1, batch + 1)})
    best, smooth = step.best(tried), step.smooth_best()
    curves = {
        "a step": [(float(P), 1e3 * step.time_s(P)) for P in shown],
        "computing alone": [(float(P), 1e3 * step.compute_s(P)) for P in shown],
    }
    formula = "the formula says: stay alone" if smooth is None else f"the formula says {smooth:.0f}"
    return chart(
        curves, x_log=True, y_log=True, x_range=(1, 1024), y_range=(5, 10_000), x_ticks=_POWERS,
        x_label="workers", y_label="ms a step", reference="computing alone",
        points={f"P = {best}": (best, 1e3 * step.time_s(best))},
        said=f"Fastest with {best:,} of up to {batch:,} workers ({formula}): "
        f"{1e3 * step.time_s(best):.0f} ms, {step.efficiency(best):.0%} efficient.",
    )  # fmt: skip


def efficiency_chart(kind: str, gbit: float) -> Chart:
    """Draw the efficiency of four all-reduces over the number of workers.

    Parameters
    ----------
    kind : {"strong: 1,024 together", "weak: 64 each"}
        Whether the batch stays, or the examples of each worker.
    gbit : float
        The bandwidth of each NIC, in Gbit/s.

    Returns
    -------
    Chart
        A server, a tree and a ring after the computing, and a ring that hides under the backward
        pass as if there were one layer: at best.
    """
    whole = priced(_RESNET, 1024, gbit)
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, collective, hideable in (
        ("server", "allreduce_central", 0.0), ("tree, at least", "allreduce_tree", 0.0),
        ("ring", "allreduce_ring", 0.0), ("ring, at best", "allreduce_ring", 2 / 3),
    ):  # fmt: skip
        curve = curves.setdefault(name, [])
        for P in _POWERS:
            batch = 64 * P if kind.startswith("weak") else 1024
            step = replace(whole, batch=batch, collective=collective, hideable=hideable)
            curve.append((float(P), float(step.efficiency(P))))
    return chart(
        curves, x_log=True, x_ticks=_POWERS, y_range=(0, 1), x_label="workers",
        y_label="efficiency", band=(0.4, 0.5, "40 to 50 %"),
    )  # fmt: skip


def worth(case: str) -> dict[str, float | str]:
    """Say of a case what two workers save and what they pay.

    Parameters
    ----------
    case : str
        A key of ``CASES``.

    Returns
    -------
    dict
        Milliseconds of computing, of moving the gradient twice, of latency, and the verdict.
    """
    step = priced(*CASES[case])
    saved = 1e3 * step.time_s(1)
    bandwidth_ms = 2e3 * step.n_bytes * step.beta_s_per_byte
    starts = step.breaks_even_at()
    return {
        "Bc, ms": float(f"{saved:.3g}"),
        "2nβ, ms": float(f"{bandwidth_ms:.3g}"),
        "4α, ms": 4e3 * step.alpha_s,
        "pays from": "never" if starts is None else f"{starts} workers",
    }
