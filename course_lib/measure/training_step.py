"""What a training step takes: in virtual time, from the second to the fourth; or really."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.simulated.networks import DEFAULT, Network
from course_lib.costs.checking import duration, positive
from course_lib.measure.dry_runs import (
    GRADIENT_BYTES,
    Scheme,
    Sizes,
    dedicated_servers,
    dry_run,
    shortened,
)
from course_lib.models.model import Model
from course_lib.models.published import LayerSize
from course_lib.schemes import sharded_parameter_server
from course_lib.training import Plan
from course_lib.training.shards import shards_evenly
from course_lib.words.whole import whole

__all__ = ["OneStep", "one_step", "real_step_s"]

_STEPS = (2, 4)  # the first overlaps with none before it, and one may differ from the next


class OneStep(NamedTuple):
    """The cost of a step.

    Attributes
    ----------
    seconds : float
        Of the simulator's clock.
    into, out : list of float
        The bytes that each rank receives and sends.
    """

    seconds: float
    into: list[float]
    out: list[float]


def one_step(
    scheme: Scheme,
    model: Model | Sizes | None = None,
    *,
    workers: int,
    batch: int | None = None,
    network: Network = DEFAULT,
    servers: int | None = None,
    compute_s: float | None = None,
    n_bytes: float | None = None,
    steps: tuple[int, int] = _STEPS,
    **options: Any,
) -> OneStep:
    """Measure a step of a scheme in virtual time, without what comes before the first one.

    Say what is trained by a model, by the sizes of its layers, or by two numbers, ``compute_s`` and
    ``n_bytes``. Two steps are run, and four: half the difference is a step.

    Parameters
    ----------
    scheme : callable
        How to train, called as ``scheme(comm, model, X, y, plan, **options)``.
    model : Model or sequence of LayerSize, optional
        What is trained: a ``StandIn``, which costs no time of yours, or another model whose
        examples have one number each; or its layers.
    workers : int
        How many ranks compute gradients; dedicated servers are ranks of their own besides.
    batch : int or None, default: None
        How many examples all workers take together in a step; None takes one each.
    network : Network, default: networks.ethernet_10g
        What connects the ranks, and how fast they compute.
    servers : int or None, default: None
        How many dedicated servers there are; ``sharded_parameter_server`` then has so many equal
        shards. None counts those that the scheme has with its options.
    compute_s : float, optional
        Seconds that the fastest worker computes in a step.
    n_bytes : float, optional
        Bytes of the gradient.
    steps : tuple of two int, default: (2, 4)
        How many steps the shorter run has, and the longer. ``(1, 2)`` takes half of your time, and
        is the same where each step begins when all ranks have ended the one before.
    **options
        What the scheme takes besides; ``bucket_bytes`` and ``shards`` are of the whole gradient.

    Returns
    -------
    OneStep
        Seconds, and the bytes of each rank, first of the dedicated servers.

    Raises
    ------
    TypeError, ValueError
        If a number is none of its kind, or two things are said of what is trained, or nothing.

    Notes
    -----
    Sizes and numbers are of 4 bytes a parameter, and every send waits for its receive, as with
    large messages. They are simulated with a short vector: its update takes nearly nothing.

    Examples
    --------
    >>> from course_lib import networks
    >>> from course_lib.models.stand_in import StandIn
    >>> from course_lib.schemes import data_parallel, parameter_server, sharded_parameter_server
    >>> model = StandIn.of({"fc": 100_000}, flops_per_example=1e7)
    >>> step = one_step(parameter_server, model, workers=2)
    >>> f"{step.seconds * 1e3:.2f} ms"  # the gradient 1 ms, 3 x (20 us + 0.64 ms), the update
    '3.00 ms'
    >>> step.into, step.out
    ([1600000.0, 800000.0, 800000.0], [1600000.0, 800000.0, 800000.0])
    >>> resnet_50 = {"compute_s": 0.1, "n_bytes": 102.4e6, "network": networks.ethernet_10g}
    >>> round(one_step(data_parallel, workers=8, **resnet_50).seconds, 4)
    0.2436
    >>> round(one_step(sharded_parameter_server, workers=8, servers=8, **resnet_50).seconds, 4)
    0.2642
    """
    workers = whole("workers", workers, 1)
    batch = workers if batch is None else whole("batch", batch, 1, or_what=" or None")
    trained = _what_is_trained(model, compute_s, n_bytes, network, batch / workers)
    options = _with_shards(scheme, options, servers, trained)

    first, last = (whole("steps", number, 1) for number in steps)
    if not first < last:
        raise ValueError(f"steps must be a number of steps and a larger one, got {steps}")
    few, more = (
        dry_run(scheme, trained, workers, batch, network, n, **options) for n in (first, last)
    )
    shorter = 1.0
    if isinstance(trained, Sequence):
        shorter = shortened(trained, dedicated_servers(scheme, options) or workers).factor
    into, out = (
        [n_bytes / shorter / (last - first) for n_bytes in _difference(few, more, count)]
        for count in ("bytes_received", "bytes_sent")
    )
    return OneStep((more.elapsed_s - few.elapsed_s) / (last - first), into, out)


def real_step_s(
    scheme: Callable[..., Any], model: Model, workers: int, steps: int = 10, **options: Any
) -> float:
    """Train on real processes, and take the time.

    Parameters
    ----------
    scheme : callable
        How to train, called as ``scheme(comm, model, X, y, plan, **options)``.
    model : Model
        What is trained; with a ``StandIn`` communication is all there is.
    workers : int
        How many processes compute gradients; dedicated servers are processes of their own besides.
    steps : int, default: 10
        How many steps the mean is taken over.
    **options
        What the scheme takes besides.

    Returns
    -------
    float
        Wall seconds a step of the slowest rank, in the faster of two runs.
    """
    workers, steps = whole("workers", workers, 1), whole("steps", steps, 1)
    ranks = workers + dedicated_servers(scheme, options)
    examples = np.zeros((workers, 1)), np.zeros(workers)

    def train(comm: Communicator) -> float:
        comm.barrier()
        start_s = comm.clock()
        scheme(comm, model, *examples, Plan(batch_size=workers, epochs=steps), **options)
        return (comm.clock() - start_s) / steps

    return min(float(max(run(train, workers=ranks, trace=False).values)) for _ in range(2))


def _what_is_trained(
    model: Model | Sizes | None,
    compute_s: float | None,
    n_bytes: float | None,
    network: Network,
    examples_each: float,
) -> Model | Sizes:
    """Return the model or sizes that were given, or a layer that has the two numbers."""
    if model is not None:
        if compute_s is not None or n_bytes is not None:
            raise ValueError("compute_s and n_bytes stand in place of a model: give one of both")
        return model
    if compute_s is None or n_bytes is None:
        raise ValueError("model must be given, or both compute_s and n_bytes in its place")
    duration("compute_s", compute_s)
    positive("n_bytes", n_bytes)
    flops = compute_s * float(np.max(network.flops_per_s)) / examples_each
    return [LayerSize("all", max(1, round(n_bytes / GRADIENT_BYTES)), flops)]


def _with_shards(
    scheme: Scheme, options: dict[str, Any], servers: int | None, trained: Model | Sizes
) -> dict[str, Any]:
    """Return the options with equal shards for so many servers; refuse a number that is not so."""
    innermost: Any = scheme
    given = options
    while isinstance(innermost, partial):
        innermost, given = innermost.func, innermost.keywords | given
    if innermost is sharded_parameter_server and "shards" not in given:
        n_parameters = (
            sum(size.n_parameters for size in trained) if isinstance(trained, Sequence)
            else trained.n_parameters
        )  # fmt: skip
        return options | {"shards": shards_evenly(n_parameters, whole("servers", servers, 1))}
    there = dedicated_servers(scheme, options)
    if servers is not None and whole("servers", servers, 0) != there:
        name = getattr(innermost, "__name__", innermost)
        raise ValueError(f"servers must be {there} with {name} and its options, got {servers}")
    return options


def _difference(few: Result, more: Result, count: str) -> list[float]:
    """Give each rank what the longer run counts more than the shorter."""
    counts = (getattr(result.trace, count)() for result in (few, more))
    return [m - f for f, m in zip(*counts, strict=True)]
