"""A bowl on which nobody waits: who computes how long, and how old gradients are when they land."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.simulated.network import Network
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import downpour
from course_lib.trace.events import Note
from course_lib.trace.trace import Trace
from course_lib.training import Plan

__all__ = [
    "BOWL",
    "CURVATURE",
    "RETURNED",
    "TIMES",
    "VIEW",
    "X",
    "Y",
    "ages",
    "landed",
    "on_bowl",
    "pace",
    "whose",
    "with_replicas",
]

BOWL = LinearRegression(1)
"""Over the two examples below its loss is a long bowl with its bottom at (2, 1)."""
X, Y = np.array([[2.0], [-2.0]]), np.array([4.0, 0.0])
CURVATURE = 4.0
"""The largest: along the slope ``w[1]``; along the intercept it is 1."""

TIMES = ("equal", "random", "straggler")
"""How long a gradient takes: 1 s; 1 s on average, exponentially distributed; or 4 s on rank 1."""

VIEW: Mapping[str, Any] = {
    "surface": (BOWL, X, Y), "start": (0.0, 0.0), "x_range": (-0.5, 4.0), "y_range": (-0.5, 2.5),
    "labels": ("intercept", "slope"),
    "title": "0 is the server; 1 to 4 stand at the parameters that they have read",
    "dots": "ranks",
}  # fmt: skip
"""How ``landscape`` shows the bowl, the same for every run."""

RETURNED = partial(downpour, push_returns=True)
"""Downpour whose server answers a push with the next parameters."""

_GRADIENT_FLOPS = BOWL.flops((X, Y))
_STRAGGLER = 4.0


def pace(
    replicas: int,
    times: str = "equal",
    latency_s: float = 0.0,
    seed: int = 1,
    in_turn: bool = False,
) -> Network:
    """Make a network in which a gradient takes a second, and a message nothing but its latency.

    Parameters
    ----------
    replicas : int
        How many compute, on ranks 1, 2, …; rank 0 serves.
    times : {"equal", "random", "straggler"}, default: "equal"
        See ``TIMES``.
    latency_s : float, default: 0.0
        Of every message.
    seed : int, default: 1
        Of the random times.
    in_turn : bool, default: False
        Whether the first gradients are shorter, rank by rank, where times are not random: then
        replicas that take equally long push one after the other, not at the same moment.

    Returns
    -------
    Network
        For the simulator.
    """
    speeds = (1e12,) + (float(_GRADIENT_FLOPS),) * replicas
    even = Network(f"1 s a gradient, {times}", latency_s, float("inf"), speeds)
    if times == "random":
        return even.with_exponential_service(seed)
    uneven = even.with_straggler(1, _STRAGGLER) if times == "straggler" else even
    if not in_turn:
        return uneven
    return uneven.with_service_times({rank: [rank / replicas] for rank in range(1, replicas + 1)})


def on_bowl(
    scheme: Callable[..., Any], replicas: int, updates: int, network: Network,
    rate: float = 0.02, waits: bool = False, **how: Any,
) -> Result:  # fmt: skip
    """Train on the bowl, in virtual time; every gradient is that of both examples.

    Parameters
    ----------
    scheme : callable
        One with a server on rank 0.
    replicas : int
        How many compute.
    updates : int
        How many gradients all of them compute together.
    network : Network
        See ``pace``.
    rate : float, default: 0.02
        The learning rate of one gradient.
    waits : bool, default: False
        Whether the scheme makes one update of all replicas' gradients: their mean is as long as
        each, so the rate is as many times as large.
    **how
        For ``run``: ``survive``, ``faults``.

    Returns
    -------
    Result
        With its trace.
    """
    together = replicas if waits else 1
    X_all, y_all = np.tile(X, (together, 1)), np.tile(Y, together)
    plan = Plan(rate * together, 2 * together, updates // together)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of a rate past edges
        return run(
            scheme, BOWL, X_all, y_all, plan, workers=replicas + 1, backend="simulated",
            network=network, **how,
        )  # fmt: skip


def ages(trace: Trace) -> list[int]:
    """Read off how old each gradient was.

    Parameters
    ----------
    trace : Trace
        Of a run with a server that does not wait.

    Returns
    -------
    list of int
        The staleness of each update, in their order, as the server has noted it.
    """
    return [int(note.value) for note in trace.notes_named("staleness")]


def landed(trace: Trace) -> dict[int, list[int]]:
    """Read off who computed which update.

    Parameters
    ----------
    trace : Trace
        Of an asynchronous run with one server.

    Returns
    -------
    dict of int to list of int
        By replica the numbers of the updates that its pushes became, from 0.
    """
    pushes = [m for m in trace.messages if m.tag == "gradient" and m.received_s is not None]
    found: dict[int, list[int]] = {}
    for number, push in enumerate(sorted(pushes, key=lambda push: push.received_s or 0.0)):
        found.setdefault(push.src, []).append(number)
    return found


def whose(trace: Trace, number: int) -> tuple[int, int]:
    """Find who computed the gradient of an update.

    Parameters
    ----------
    trace : Trace
        Of an asynchronous run with one server.
    number : int
        Of the update, from 0.

    Returns
    -------
    rank : int
        The replica.
    turn : int
        Which of its gradients it was, from 0.
    """
    by_rank = landed(trace)
    rank = next(rank for rank, numbers in by_rank.items() if number in numbers)
    return rank, by_rank[rank].index(number)


def with_replicas(trace: Trace) -> Trace:
    """Add to a run on the bowl where its replicas stand: at the parameters that each has read.

    Parameters
    ----------
    trace : Trace
        Of ``on_bowl``, of a scheme whose server notes its parameters after every update.

    Returns
    -------
    Trace
        With a note ``"w"`` of a replica whenever it receives parameters; for ``landscape``.
    """
    places = [BOWL.initial(), *(np.asarray(note.value) for note in trace.notes_named("w"))]
    old, notes = ages(trace), list(trace.notes)
    for rank, numbers in landed(trace).items():
        fetched = [m for m in trace.between(0, rank) if m.tag == "parameters"]
        for message, number in zip(fetched, numbers, strict=False):  # the last is the whole model
            if message.received_s is not None and number < len(old):
                notes.append(Note(rank, "w", places[number - old[number]], message.received_s))
    return replace(trace, notes=sorted(notes, key=lambda note: (note.time_s, note.rank)))
