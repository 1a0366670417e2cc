"""Run a training dry, in virtual time: nothing is trained, but everything takes its time.

The scheme is the real one, and so are its messages. Of a network that is known by its sizes only a
stand-in is trained: its arithmetic is time that passes, and its gradient a short vector on
connections that are slower by as much as the vector is shorter. So a thousand workers with 100 MB
each fit into this computer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.simulated.networks import Network
from course_lib.comm.simulated.topologies import TwoLevel
from course_lib.costs.checking import amount, positive
from course_lib.models.model import Model
from course_lib.models.published import LayerSize
from course_lib.models.stand_in import StandIn
from course_lib.schemes import parameter_server
from course_lib.training import Plan
from course_lib.words.whole import whole

__all__ = ["GRADIENT_BYTES", "Scheme", "Sizes", "dedicated_servers", "dry_run", "shortened",
           "with_bandwidth"]  # fmt: skip

Scheme = Callable[..., Any]
"""A scheme of ``course_lib.schemes``: it takes comm, a model, X, y and a plan."""

Sizes = Sequence[LayerSize]
"""A network of which only the layers' sizes are known."""

GRADIENT_BYTES = 4
"""Of one parameter's gradient: float32, as in nearly all of what is published."""

_ITEM_BYTES = 8
_NUMBERS = 4096  # of the short vector, about
_PATIENCE_S = 110.0


def dry_run(
    scheme: Scheme,
    model: Model | Sizes,
    workers: int,
    batch: int,
    network: Network,
    steps: int = 1,
    **options: Any,
) -> Result:
    """Run a few steps of a scheme, with a model or with what only has its sizes.

    Parameters
    ----------
    scheme : callable
        Any scheme of ``course_lib.schemes`` that takes a model and a plan.
    model : Model or sequence of LayerSize
        What is trained, or its layers: what they weigh, and what an example costs there.
    workers : int
        How many ranks compute gradients; dedicated servers are ranks of their own besides.
    batch : int
        How many examples all of them take together in a step.
    network : Network
        What connects the ranks, and how fast they compute.
    steps : int, default: 1
        How many steps.
    **options
        What the scheme takes besides; ``bucket_bytes`` and ``shards`` are of the whole gradient.

    Returns
    -------
    Result
        Of the run; at its beginning the first parameters are handed out. Where sizes were given,
        the messages' ``n_bytes`` are those of the short vector.

    Notes
    -----
    Of sizes a parameter's gradient has 4 bytes, and every send waits for its receive, as with
    large messages. A model's messages are as long as they are.
    """
    workers, batch = whole("workers", workers, 1), whole("batch", batch, 1)
    steps = whole("steps", steps, 1)
    servers = dedicated_servers(scheme, options)
    rendezvous = False
    if isinstance(model, Sequence):
        short = shortened(model, servers or workers)
        model, options = short.model, short.options(options)
        network, rendezvous = short.network(network), True
    # One epoch: at its end a step may not reach into the next.
    examples = np.zeros((steps * batch, 1)), np.zeros(steps * batch)
    return run(
        partial(scheme, **options), model, *examples, Plan(batch_size=batch),
        workers=workers + servers, backend="simulated", network=network,
        rendezvous=rendezvous, time_limit_s=_PATIENCE_S,
    )  # fmt: skip


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


@dataclass(frozen=True)
class Shortened:
    """A network with a short vector in place of its parameters.

    Attributes
    ----------
    model : StandIn
        It has the layers' operations, and few numbers for their parameters.
    numbers : float
        How many numbers stand for one parameter.
    """

    model: StandIn
    numbers: float

    @property
    def factor(self) -> float:
        """By what the bytes of the gradient are multiplied."""
        return _ITEM_BYTES * self.numbers / GRADIENT_BYTES

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return a scheme's options for the short vector."""
        given = dict(given)
        if "bucket_bytes" in given:
            given["bucket_bytes"] *= self.factor
        if "shards" in given:
            given["shards"] = [
                [
                    slice(round(part.start * self.numbers), round(part.stop * self.numbers))
                    for part in shard
                ]
                for shard in given["shards"]
            ]
        return given

    def network(self, network: Network) -> Network:
        """Return a network on which the short vector takes as long as the whole one."""
        return with_bandwidth(network, self.factor)


def with_bandwidth(network: Network, factor: float) -> Network:
    """Multiply all bandwidths of a network, those between its hosts, too.

    Parameters
    ----------
    network : Network
        Which.
    factor : float
        By what.

    Returns
    -------
    Network
        With the same latencies, computing as fast.
    """
    topology = network.topology
    if isinstance(topology, TwoLevel):
        between = topology.bandwidth_bytes_per_s * factor
        topology = replace(topology, bandwidth_bytes_per_s=between)
    bandwidth = network.bandwidth_bytes_per_s * factor
    return replace(network, bandwidth_bytes_per_s=bandwidth, topology=topology)


def shortened(sizes: Sizes, parts: int) -> Shortened:
    """Put a short vector in the place of a network's parameters.

    Parameters
    ----------
    sizes : sequence of LayerSize
        The layers.
    parts : int
        How many chunks, or shards, of one length each layer's part divides into.

    Returns
    -------
    Shortened
        About 4,000 numbers, in the layers' proportions.
    """
    for size in sizes:
        whole(f"n_parameters of {size.name}", size.n_parameters, 0)
        amount(f"flops of {size.name}", size.flops)
    total = sum(size.n_parameters for size in sizes)
    positive("n_parameters of all layers", total)
    a_part = max(1, _NUMBERS // parts)
    lengths = [parts * max(1, round(a_part * size.n_parameters / total)) for size in sizes]
    return Shortened(StandIn(sizes, lengths), sum(lengths) / total)
