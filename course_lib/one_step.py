"""What one step of training costs, whatever the scheme: virtual seconds, bytes, real seconds."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import Result, run
from course_lib.comm.simulated.networks import DEFAULT, Network
from course_lib.models.model import Model
from course_lib.rehearsal import dedicated_servers
from course_lib.training import Plan

__all__ = ["OneStep", "one_step", "real_step_s"]


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
    scheme: Callable[..., Any],
    model: Model,
    workers: int,
    examples_each: int,
    extra_ranks: int | None = None,
    network: Network = DEFAULT,
    **options: Any,
) -> OneStep:
    """Train for two steps and for four; the difference is two steps without what frames them.

    Parameters
    ----------
    scheme : callable
        How to train, called as ``scheme(comm, model, X, y, plan, **options)``.
    model : Model
        What is trained; a ``StandIn`` costs no time of yours.
    workers : int
        How many ranks compute gradients.
    examples_each : int
        How many examples each of them takes in a step.
    extra_ranks : int or None, default: None
        How many ranks there are besides: those that only serve. None counts the dedicated servers
        that the scheme has with these options.
    network : Network, default: networks.ethernet_10g
        What connects them.
    **options
        What the scheme takes besides.

    Returns
    -------
    OneStep
        Seconds and bytes.

    Examples
    --------
    >>> from course_lib.models.stand_in import StandIn
    >>> from course_lib.schemes import parameter_server
    >>> model = StandIn.of({"fc": 100_000}, flops_per_example=1e7)
    >>> step = one_step(parameter_server, model, workers=2, examples_each=1)
    >>> f"{step.seconds * 1e3:.2f} ms"  # the gradient 1 ms, 3 x (20 us + 0.64 ms), the update
    '3.00 ms'
    >>> step.into, step.out
    ([1600000.0, 800000.0, 800000.0], [1600000.0, 800000.0, 800000.0])
    """
    batch_size = workers * examples_each
    besides = dedicated_servers(scheme, options) if extra_ranks is None else extra_ranks

    def train(comm: Communicator, steps: int) -> None:
        examples = np.zeros((steps * batch_size, 1)), np.zeros(steps * batch_size)
        scheme(comm, model, *examples, Plan(batch_size=batch_size), **options)

    two, four = (
        run(train, steps, workers=workers + besides, backend="simulated", network=network)
        for steps in (2, 4)
    )
    return OneStep(
        (four.elapsed_s - two.elapsed_s) / 2,
        _half(two, four, "bytes_received"),
        _half(two, four, "bytes_sent"),
    )


def real_step_s(
    scheme: Callable[..., Any], model: Model, ranks: int, steps: int = 10, **options: Any
) -> float:
    """Train on real processes, and take the time.

    Parameters
    ----------
    scheme : callable
        How to train, called as ``scheme(comm, model, X, y, plan, **options)``.
    model : Model
        What is trained; with a ``StandIn`` communication is all there is.
    ranks : int
        How many processes.
    steps : int, default: 10
        How many steps the mean is taken over.
    **options
        What the scheme takes besides.

    Returns
    -------
    float
        Wall seconds a step of the slowest rank, in the quicker of two runs.
    """
    examples = np.zeros((ranks, 1)), np.zeros(ranks)

    def train(comm: Communicator) -> float:
        comm.barrier()
        start_s = comm.clock()
        scheme(comm, model, *examples, Plan(batch_size=ranks, epochs=steps), **options)
        return (comm.clock() - start_s) / steps

    return min(float(max(run(train, workers=ranks, trace=False).values)) for _ in range(2))


def _half(two: Result, four: Result, count: str) -> list[float]:
    """Give each rank half of what four steps count more than two."""
    few, many = (getattr(result.trace, count)() for result in (two, four))
    return [(m - f) / 2 for f, m in zip(few, many, strict=True)]
