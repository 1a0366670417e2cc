"""Steps of a few layers that take the time they are told: on paper, and in virtual time."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.networks import Network

__all__ = ["add_up", "exchange_in_turn", "in_turn_s", "run_step"]

_BYTES_PER_S = 1e6
_FLOPS_PER_S = 1e9
_WIRES = Network("by hand", 0.0, _BYTES_PER_S, _FLOPS_PER_S)


def add_up(comm: Communicator, array: Any) -> Any:
    """Add up the arrays of all ranks: each goes once around, and everybody adds what passes.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    array : numpy.ndarray, any shape
        This rank's numbers, the same shape and dtype on every rank.

    Returns
    -------
    numpy.ndarray
        The sum over all ranks, on every rank. A new array.

    Notes
    -----
    Cost: P - 1 rounds; P - 1 messages and (P - 1) n bytes sent by each rank.
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total, passing = array.copy(), array
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dst=right, src=left)
        total += passing
    return total


def exchange_in_turn(comm: Communicator, before: Pending[Any] | None, array: Any) -> Any:
    """Wait for the exchange before this one, then add up."""
    if before is not None:
        before.wait()
    return add_up(comm, array)


def in_turn_s(backward_s: Sequence[float], exchange_s: Sequence[float]) -> float:
    """Work out when the last exchange is over, from the beginning of the backward pass on.

    Parameters
    ----------
    backward_s, exchange_s : sequence of float
        What each layer takes, in the order of the forward pass.

    Returns
    -------
    float
        Seconds: every exchange waits for its own layer, and for the exchange before.
    """
    ready_s = done_s = 0.0
    for back, exchange in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready_s += back
        done_s = max(done_s, ready_s) + exchange
    return done_s


@cache
def run_step(
    forward_s: tuple[float, ...], backward_s: tuple[float, ...], exchange_s: tuple[float, ...],
    overlap: bool,
) -> float:  # fmt: skip
    """Run a step of two ranks in virtual time.

    Parameters
    ----------
    forward_s, backward_s, exchange_s : tuple of float
        What each layer takes, in the order of the forward pass; whole microseconds.
    overlap : bool
        Whether a layer's exchange starts as soon as its gradient is known.

    Returns
    -------
    float
        Virtual seconds.
    """
    result = run(_step, forward_s, backward_s, exchange_s, overlap, workers=2,
                 backend="simulated", network=_WIRES, trace=False)  # fmt: skip
    return result.elapsed_s


def _step(
    comm: Communicator, forward_s: Sequence[float], backward_s: Sequence[float],
    exchange_s: Sequence[float], overlap: bool,
) -> None:  # fmt: skip
    for seconds in forward_s:
        with comm.compute("forward", flops=seconds * _FLOPS_PER_S):
            pass
    pending: list[Pending[Any]] = []
    gradients = [np.zeros(round(seconds * _BYTES_PER_S), np.uint8) for seconds in exchange_s]
    for seconds, gradient in zip(reversed(backward_s), reversed(gradients), strict=True):
        with comm.compute("backward", flops=seconds * _FLOPS_PER_S):
            pass
        if overlap:
            before = pending[-1] if pending else None
            pending.append(comm.start(exchange_in_turn, before, gradient))
    for exchange in pending:
        exchange.wait()
    if not overlap:
        for gradient in reversed(gradients):
            add_up(comm, gradient)
