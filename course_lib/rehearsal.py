"""Rehearse a training step in virtual time: nothing is trained, but everything takes its time.

The scheme is the real one, and so are its messages. What stands in is the network that is trained:
its arithmetic is time that passes, and its gradient a short vector on connections that are slower
by as much as the vector is shorter. So a thousand workers with 100 MB each fit into this computer.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from course_lib.comm.launch import Result, run
from course_lib.comm.simulated.networks import Network
from course_lib.comm.simulated.topologies import TwoLevel
from course_lib.models.published import LayerSize
from course_lib.models.stand_in import StandIn
from course_lib.schemes import parameter_server
from course_lib.training import Plan

__all__ = ["dedicated_servers", "rehearse", "step_s", "whole"]

Scheme = Callable[..., Any]
"""A scheme of ``course_lib.schemes``: it takes comm, a model, X, y and a plan."""

GRADIENT_BYTES = 4
"""Of one parameter's gradient: float32, as in nearly all of what is published."""

_ITEM_BYTES = 8
_NUMBERS = 4096  # of the short vector, about
_PATIENCE_S = 110.0


def rehearse(
    scheme: Scheme,
    sizes: Sequence[LayerSize],
    workers: int,
    batch: int,
    network: Network,
    steps: int = 1,
    *,
    trace: bool = True,
    **options: Any,
) -> Result:
    """Run a few steps of a scheme with a model that only has sizes.

    Parameters
    ----------
    scheme : callable
        Any scheme of ``course_lib.schemes`` that takes a model and a plan.
    sizes : sequence of LayerSize
        The layers: what they weigh, and what an example costs there.
    workers : int
        How many ranks compute gradients; dedicated servers are ranks of their own besides.
    batch : int
        How many examples all of them take together in a step.
    network : Network
        What connects the ranks, and how fast they compute.
    steps : int, default: 1
        How many steps.
    trace : bool, default: True
        Whether to keep the messages; their ``n_bytes`` are those of the short vector.
    **options
        What the scheme takes besides; ``bucket_bytes`` and ``shards`` are of the whole gradient.

    Returns
    -------
    Result
        Of the run; at its beginning the first parameters are handed out.

    Notes
    -----
    A parameter's gradient has 4 bytes. Every send waits for its receive, as with large messages.
    """
    total = sum(size.n_parameters for size in sizes)
    a_chunk = max(1, _NUMBERS // workers)  # numbers of the whole vector in each rank's chunk
    lengths = [workers * max(1, round(a_chunk * size.n_parameters / total)) for size in sizes]
    shorter = _ITEM_BYTES * sum(lengths) / (GRADIENT_BYTES * total)
    if "bucket_bytes" in options:
        options["bucket_bytes"] *= shorter
    if "shards" in options:
        scale = sum(lengths) / total
        options["shards"] = [
            [slice(round(part.start * scale), round(part.stop * scale)) for part in shard]
            for shard in options["shards"]
        ]
    examples = np.zeros(steps * batch)  # one epoch: at its end a step may not reach into the next
    return run(
        partial(scheme, **options), StandIn(sizes, lengths), examples, examples,
        Plan(batch_size=batch),
        workers=workers + dedicated_servers(scheme, options), backend="simulated",
        network=_slower(network, shorter),
        rendezvous=True, trace=trace, time_limit_s=_PATIENCE_S,
    )  # fmt: skip


def whole(compute_s: float, n_bytes: float, network: Network) -> list[LayerSize]:
    """Return the sizes of a network of one layer, of which two numbers are known.

    Parameters
    ----------
    compute_s : float
        Seconds that the quickest worker computes for one example: take a batch of as many as
        there are workers, and it is what each of them computes in a step.
    n_bytes : float
        Bytes of the gradient.
    network : Network
        Which says how fast ranks compute.

    Returns
    -------
    list of LayerSize
        For ``rehearse`` and ``step_s``.

    Examples
    --------
    >>> from course_lib import networks
    >>> from course_lib.schemes.data_parallel import data_parallel
    >>> resnet = whole(0.1, 102.4e6, networks.ethernet_10g)
    >>> round(step_s(data_parallel, resnet, 8, 8, networks.ethernet_10g), 4)
    0.2436
    """
    flops = compute_s * float(np.max(network.flops_per_s))
    return [LayerSize("all", round(n_bytes / GRADIENT_BYTES), flops)]


def dedicated_servers(scheme: Scheme, options: dict[str, Any]) -> int:
    """Count the ranks that a scheme needs besides its workers, because they only serve.

    Parameters
    ----------
    scheme : callable
        Any scheme of ``course_lib.schemes``.
    options : dict
        What it is given besides: ``shards``.

    Returns
    -------
    int
        A server for each of the shards; 0 where nobody only serves.
    """
    if isinstance(scheme, partial):
        return dedicated_servers(scheme.func, scheme.keywords | options)
    return len(options["shards"]) if "shards" in options else int(scheme is parameter_server)


def step_s(
    scheme: Scheme,
    sizes: Sequence[LayerSize],
    workers: int,
    batch: int,
    network: Network,
    *,
    after: int = 1,
    **options: Any,
) -> float:
    """Measure one step of a scheme, without what comes before the first one.

    Parameters
    ----------
    scheme : callable
        Any scheme of ``course_lib.schemes`` that takes a model and a plan.
    sizes : sequence of LayerSize
        The layers: what they weigh, and what an example costs there.
    workers : int
        How many ranks compute gradients; dedicated servers are ranks of their own besides.
    batch : int
        How many examples all of them take together in a step.
    network : Network
        What connects the ranks, and how fast they compute.
    after : int, default: 1
        Which step is measured: the one after so many. 2 where a step begins before the one before
        it has ended.
    **options
        What the scheme takes besides.

    Returns
    -------
    float
        Virtual seconds: those of ``after + 1`` steps, less those of ``after``.

    Examples
    --------
    >>> from course_lib import networks
    >>> from course_lib.schemes import data_parallel
    >>> sizes = [LayerSize("all", n_parameters=25_000_000, flops=1e9)]
    >>> step = step_s(data_parallel, sizes, 4, 400, networks.ethernet_10g)  # of 10 Gflop/s
    >>> round(step, 4)  # 10 s, six latencies, and 3/2 of 100 MB
    10.1201
    """
    few, more = (
        rehearse(
            scheme, sizes, workers, batch, network, steps, trace=False, **options
        ).elapsed_s
        for steps in (after, after + 1)
    )  # fmt: skip
    return more - few


def _slower(network: Network, factor: float) -> Network:
    """Multiply every bandwidth by a factor."""
    topology = network.topology
    if isinstance(topology, TwoLevel):
        slower = topology.bandwidth_bytes_per_s * factor
        topology = replace(topology, bandwidth_bytes_per_s=slower)
    bandwidth = network.bandwidth_bytes_per_s * factor
    return replace(network, bandwidth_bytes_per_s=bandwidth, topology=topology)
