"""What servers cost over workers, bandwidth and shards, as pictures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.comm.simulated.network import Network
from course_lib.costs.server_step import bandwidth_for, best_servers, server_step_s
from course_lib.measure import one_step
from course_lib.models.model import Layer
from course_lib.models.stand_in import StandIn
from course_lib.schemes import (
    data_parallel,
    parameter_server_on_worker,
    sharded_data_parallel,
    sharded_parameter_server,
)
from course_lib.training.shards import Shard, length, shards_evenly
from course_lib.viz import Chart, chart

__all__ = [
    "PUBLISHED_POINTS",
    "bandwidth_chart",
    "best_number",
    "busiest_nic",
    "efficiency_chart",
    "evenly",
    "fullest_shard",
    "gradients_a_second",
    "rows_of",
]

PUBLISHED_POINTS: Mapping[str, tuple[float, float]] = {
    "TensorFlow, 2017": (128, 0.50),
    "TensorFlow, 2016": (100, 0.56),
    "MXNet, 2016": (128, 0.85),
}
"""Efficiencies that were published of trainings with parameter servers, at so many GPUs: "about
half" (Sergeev and Del Balso 2018), 56 times on 100 (Murray 2016), 109 times on 128 (Vogels 2016).
Each is of a model, a network and a number of servers of its own."""

_GBIT = 1e9 / 8  # bytes
_LATENCY_S = 20e-6
_WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def busiest_nic(model: StandIn, workers: int, network: Network) -> dict[str, float]:
    """Measure for how long a step occupies the busiest NIC, in vectors.

    Parameters
    ----------
    model : StandIn
        What is trained; only its size counts.
    workers : int
        How many ranks, P.
    network : Network
        One without latency on which computing takes no time: what is left is n bytes times beta.

    Returns
    -------
    dict of str to float
        For a server that is also a worker, for a shard on every rank, and for a ring.
    """
    schemes: dict[str, Callable[..., Any]] = {
        "one server": parameter_server_on_worker,
        "a shard on every rank": sharded_data_parallel,
        "a ring": data_parallel,
    }
    vector_s = 8 * model.n_parameters * network.beta_s_per_byte
    return {
        name: one_step(scheme, model, workers=workers, network=network).seconds / vector_s
        for name, scheme in schemes.items()
    }


def efficiency_chart(gbit: float, gradient_s: float, counted: str, n_bytes: int) -> Chart:
    """Draw the efficiency over the number of workers, for one server and for more.

    Parameters
    ----------
    gbit : float
        The bandwidth of each NIC, in Gbit/s.
    gradient_s : float
        How long a worker computes in a step.
    counted : {"workers", "all machines"}
        Of whom the efficiency is: dedicated servers are machines, too.
    n_bytes : int
        The parameters.

    Returns
    -------
    Chart
        A curve for one server, one for a server for four workers, one for as many servers as
        workers; with the published points, and a band from 40 to 50 %.
    """
    servers: dict[str, Callable[[int], int]] = {
        "1 server": lambda _: 1,
        "1 for 4 workers": lambda P: max(1, P // 4),
        "1 for each worker": lambda P: P,
    }
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, of in servers.items():
        curves[name] = []
        for P in _WORKERS:
            step_s = server_step_s(
                P, n_bytes, gradient_s, 0.0, _LATENCY_S, 1 / (gbit * _GBIT), servers=of(P)
            )
            whole = 1.0 if counted == "workers" else P / (P + of(P))
            curves[name].append((float(P), whole * gradient_s / step_s))
    return chart(
        curves, x_log=True, x_ticks=_WORKERS, x_label="workers", y_label="efficiency",
        y_range=(0, 1), band=(0.4, 0.5, "40 to 50 %"), points=PUBLISHED_POINTS,
    )  # fmt: skip


def bandwidth_chart(efficiencies: Sequence[float], gradient_s: float, n_bytes: int) -> Chart:
    """Draw which bandwidth gives a server just this efficiency, over the number of workers.

    Parameters
    ----------
    efficiencies : sequence of float
        Of the workers; a contour each.
    gradient_s : float
        How long a worker computes in a step.
    n_bytes : int
        The parameters.

    Returns
    -------
    Chart
        Gbit/s of each NIC, for as many workers as the latencies allow.
    """
    contours: dict[str, list[tuple[float, float]]] = {}
    for efficiency in efficiencies:
        contour = contours.setdefault(f"{efficiency:.0%} efficient", [])
        for P in _WORKERS:
            try:
                solved = bandwidth_for(efficiency, P, n_bytes, gradient_s, 0.0, _LATENCY_S)
            except ValueError:  # out of reach, for this many workers and for more
                break
            contour.append((float(P), solved / _GBIT))
    return chart(
        contours, x_log=True, y_log=True, x_ticks=_WORKERS, x_label="workers",
        y_label="Gbit/s of each NIC", title="One server",
    )  # fmt: skip


def rows_of(servers: int, workers: int) -> list[tuple[float, float]]:
    """Place servers in a row above their workers.

    Parameters
    ----------
    servers, workers : int
        How many there are.

    Returns
    -------
    list of (float, float)
        A place for each rank, servers first, for ``player(places=...)``.
    """
    wide = max(servers, workers)
    return [
        ((number + 0.5) * wide / count, row)
        for row, count in ((0.0, servers), (2.0, workers))
        for number in range(count)
    ]


def evenly(layers: Sequence[Layer], shards: int) -> list[Shard]:
    """Cut a model into shards of equal length, wherever its layers end.

    Parameters
    ----------
    layers : sequence of Layer
        The model's.
    shards : int
        How many there are to be.

    Returns
    -------
    list of list of slice
        One part for each shard.
    """
    return shards_evenly(layers[-1].part.stop, shards)


def fullest_shard(rule: Callable[..., Any], model: StandIn, shards: int = 10) -> Chart:
    """Draw how much of a model each shard keeps.

    Parameters
    ----------
    rule : callable
        ``shards_by_name``, ``shards_by_size`` or any other of layers and a number of shards.
    model : StandIn
        Whose layers are placed.
    shards : int, default: 10
        How many there are.

    Returns
    -------
    Chart
        A bar a shard, in percent; the fullest is marked, and named below.
    """
    kept = [100 * length(s) / model.n_parameters for s in rule(model.layers, shards)]
    names = [f"shard {number}" for number in range(shards)]
    most = max(range(shards), key=lambda number: kept[number])
    rounded = {name: round(part, 1) for name, part in zip(names, kept, strict=True)}
    return chart(
        rounded, unit="%", x_range=(0, 100), told=names[most],
        x_label="% of the model", said=f"The fullest keeps {kept[most]:.1f} % of the model.",
    )  # fmt: skip


def gradients_a_second(
    model: StandIn, computers: int, examples: int, network: Network
) -> tuple[dict[int, float], int]:
    """Measure what all workers compute in a second, over how many of the computers only serve.

    Parameters
    ----------
    model : StandIn
        What is trained.
    computers : int
        Servers and workers together.
    examples : int
        How many examples a worker takes in a step.
    network : Network
        What connects them.

    Returns
    -------
    rates : dict of int to float
        Gradients a second by the number of servers, in virtual time.
    chosen : int
        What the formula takes, see ``best_servers``.
    """
    rates = {}
    for servers in range(1, computers * 3 // 4):
        workers = computers - servers
        step = one_step(
            sharded_parameter_server, model, workers=workers, batch=workers * examples,
            servers=servers, network=network,
        )  # fmt: skip
        rates[servers] = workers / step.seconds
    transfer_s = 8 * model.n_parameters * network.beta_s_per_byte
    gradient_s = examples * model.flops_per_example / float(np.max(network.flops_per_s))
    return rates, best_servers(computers, transfer_s, gradient_s)


def best_number(model: StandIn, computers: int, examples: int, network: Network) -> Chart:
    """Draw ``gradients_a_second`` over the number of servers, with the formula's choice.

    Parameters
    ----------
    model : StandIn
        What is trained.
    computers : int
        Servers and workers together.
    examples : int
        How many examples a worker takes in a step.
    network : Network
        What connects them.

    Returns
    -------
    Chart
        A curve and a point; below, how much of the best the formula's choice reaches.
    """
    rates, chosen = gradients_a_second(model, computers, examples, network)
    best = max(rates, key=lambda servers: rates[servers])
    return chart(
        {"simulated": [(float(servers), rate) for servers, rate in rates.items()]},
        x_label=f"servers among {computers} computers", x_ticks=list(rates),
        y_label="gradients a second", points={"the formula's choice": (chosen, rates[chosen])},
        said=f"Best: {best} servers. The formula's {chosen} reach "
        f"{rates[chosen] / rates[best]:.0%} of it.",
    )  # fmt: skip
