"""Two sites with a slow link between them: how rarely they may average."""

import math
from dataclasses import replace

import numpy as np

from course_lib.comm.result import Result
from course_lib.comm.simulated.networks import ethernet_10g
from course_lib.costs import TwoSites
from course_lib.lectures.lecture_11.cases import Rules
from course_lib.lectures.lecture_11.kept import best, rules
from course_lib.lectures.lecture_11.racing import MODEL, launched
from course_lib.viz import Chart, chart

__all__ = ["EVERY", "N_BYTES", "STEP_S", "every_chart", "far_runs", "least_every", "sites"]

EVERY = (1, 8, 64, 500)
"""The numbers of steps between two averages that were measured, H."""

N_BYTES = 8 * MODEL.n_parameters
_IMAGES = np.zeros((Rules().per_worker, 64)), np.zeros(Rules().per_worker, dtype=int)
STEP_S = (MODEL.flops(_IMAGES) + 2.0 * MODEL.n_parameters) / Rules().flops_per_s
"""A step of a rank: its gradient of 16 images, and the update."""


def sites(latency_s: float, gbit: float) -> TwoSites:
    """Put two workers on each of two sites.

    Parameters
    ----------
    latency_s, gbit : float
        Of the link between the sites.

    Returns
    -------
    TwoSites
        Inside a site it is the race's network.
    """
    inside = ethernet_10g
    return TwoSites(2, inside.latency_s, inside.beta_s_per_byte, latency_s, 8e-9 / gbit)


def least_every(exchange_s: float, step_s: float, efficiency: float) -> int:
    """Find how rarely one must average, so that enough of the time is computing.

    Parameters
    ----------
    exchange_s, step_s : float
        What an average takes, and a step.
    efficiency : float
        Which part of the time is to be computing, from 0 to below 1.

    Returns
    -------
    int
        The smallest H with ``H step_s >= efficiency (H step_s + exchange_s)``; 1 at least.

    Examples
    --------
    >>> least_every(exchange_s=0.2, step_s=0.01, efficiency=0.5)
    20
    """
    exact = efficiency / (1 - efficiency) * exchange_s / step_s
    return max(1, math.ceil(exact * (1 - 1e-12)))  # what rounding adds is no step


def far_runs(epochs: int = 9, seed: int = 5) -> dict[str, Result]:
    """Train over two sites, with an average after 1, 8 or 64 steps, each at its own best rate.

    Parameters
    ----------
    epochs : int, default: 9
        How many.
    seed : int, default: 5
        Of the training.

    Returns
    -------
    dict of str to Result
        By H.
    """
    shorter = replace(rules(), far_epochs=epochs)
    runs = {}
    for every in EVERY[:3]:
        found = best("local_sgd", every=every, is_far=True)
        runs[f"H = {every}"] = launched(found.case, found.rate, found.momentum, seed, shorter)
    return runs


def every_chart(latency: float, gbit: float) -> Chart:
    """Draw over H the seconds to the target, and below the part of the time that is computing.

    Parameters
    ----------
    latency : float
        Between the sites, in milliseconds.
    gbit : float
        Of the link between them.

    Returns
    -------
    Chart
        The steps of each H are those that were measured; below, the smallest H for 90 %.
    """
    link = sites(latency / 1e3, gbit)
    steps = {H: best("local_sgd", every=H, is_far=True).median("updates") for H in EVERY}
    needed = {H: float(link.training_s(round(n), H, STEP_S, N_BYTES)) for H, n in steps.items()}
    alike = {
        H: float(link.training_s(round(steps[1]), H, STEP_S, N_BYTES)) for H in EVERY if H < 100
    }
    exchange_s = float(link.exchange_s(N_BYTES))
    enough = least_every(exchange_s, STEP_S, 0.9)
    parts = [(H, 100 * H * STEP_S / (H * STEP_S + exchange_s)) for H in (2**k for k in range(13))]
    fastest = min(needed, key=needed.__getitem__)
    return chart(
        {"with the steps that it takes": list(needed.items()),
         "if as many were enough as for H = 1": list(alike.items())},
        x_log=True, y_log=True, x_range=(1, 4096), y_range=(0.03, 100), x_ticks=(1, 8, 64, 500),
        x_label="steps between two averages, H", y_label="seconds to the target",
        below=chart({"computing": parts}, x_log=True, x_range=(1, 4096), y_range=(0, 100),
                    x_label="H", y_label="computing, % of the time"),
        said=f"An average takes {1e3 * exchange_s:.3g} ms, a step {1e3 * STEP_S:.3g} ms. Fastest "
        f"of the four: H = {fastest}. 90 % are computing from H = {enough:,} on.",
    )  # fmt: skip
