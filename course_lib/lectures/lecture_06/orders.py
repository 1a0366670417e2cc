"""Who goes first: orders of all-reduces, planned and simulated, and a step as it happens."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from course_lib.comm.simulated.networks import Network
from course_lib.costs import predicted_s
from course_lib.lectures.lecture_06.steps import BACKWARD, in_turn
from course_lib.measure import dry_run, one_step
from course_lib.measure.dry_runs import GRADIENT_BYTES
from course_lib.models.published import LayerSize
from course_lib.models.stand_in import StandIn
from course_lib.schemes.priority import order_of_need, priority
from course_lib.trace.trace import Trace
from course_lib.viz import Timeline, gantt

__all__ = ["in_order", "one_step_of", "planned"]


def planned(sizes: Sequence[LayerSize], workers: int, each: int, network: Network) -> list[int]:
    """Plan the order of all-reduces from what back-propagation and a ring will take.

    Parameters
    ----------
    sizes : sequence of LayerSize
        The network's layers.
    workers, each : int
        How many workers, and how many examples each of them has.
    network : Network
        What connects them.

    Returns
    -------
    list of int
        The layers' numbers, see ``course_lib.schemes.priority.order_of_need``.
    """
    rate = float(np.max(network.flops_per_s))
    back_s = [BACKWARD * each * size.flops / rate for size in sizes]
    ready_s = np.cumsum(back_s[::-1])[::-1]
    alpha_beta = network.latency_s, network.beta_s_per_byte
    ring_s = [
        predicted_s("allreduce_ring", workers, GRADIENT_BYTES * size.n_parameters, *alpha_beta)
        for size in sizes
    ]
    return order_of_need([float(s) for s in ready_s], ring_s)


def in_order(
    sizes: Sequence[LayerSize], network: Network, order: str, workers: int = 4
) -> Timeline:
    """Simulate two steps in which the next forward pass waits for one layer at a time.

    Parameters
    ----------
    sizes : sequence of LayerSize
        The network's layers.
    network : Network
        What connects the workers.
    order : str
        The layers' names in the order of their all-reduces, as in ``"L3, L1, L2"``.
    workers : int, default: 4
        How many there are, with one example each.

    Returns
    -------
    Timeline
        Rank 0's Gantt chart; above it the scheme that waits for all layers.
    """
    names, wanted = [size.name for size in sizes], order.split(", ")
    job = tuple(sizes), network, workers
    by_need = partial(priority, order=[names.index(name) for name in wanted])
    made = {"waits for all": _in_turn(*job), "by need": _two_steps(by_need, *job)}
    told = {name: f"{name}: {1e3 * took_s:.4g} ms a step" for name, (took_s, _) in made.items()}
    labels = {told["waits for all"]: names[::-1], told["by need"]: wanted}
    runs = {told[name]: trace for name, (_, trace) in made.items()}
    return gantt(runs, labels, title=f"Two steps; the order is {order}")


@cache
def _in_turn(sizes: tuple[LayerSize, ...], network: Network, workers: int) -> tuple[float, Trace]:
    return _two_steps(in_turn, sizes, network, workers)  # the same for every order


def _two_steps(
    scheme: Any, sizes: Sequence[LayerSize], network: Network, workers: int
) -> tuple[float, Trace]:
    """Return the seconds of a step, and the trace of two."""
    took_s = one_step(scheme, sizes, workers=workers, network=network).seconds
    return took_s, dry_run(scheme, sizes, workers, workers, network, steps=2).trace


def one_step_of(scheme: Any, model: StandIn, network: Network, workers: int = 4) -> Trace:
    """Simulate a step with one example each, and leave out what comes before it.

    Parameters
    ----------
    scheme : callable
        How to train.
    model : StandIn
        What is trained.
    network : Network
        What connects the workers.
    workers : int, default: 4
        How many there are.

    Returns
    -------
    Trace
        It begins where the first worker computes: the parameters have been handed out.
    """
    trace = dry_run(scheme, model, workers, workers, network).trace
    return trace.since(min(span.start_s for span in trace.computes))
