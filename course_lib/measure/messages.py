"""Find out what messages cost here: send them, alone or all at once, and fit alpha and beta.

A message that travels alone has two cores to itself, one that writes and one that reads. In an
all-reduce every rank sends, receives and adds at the same time: that is slower by as much as ranks
share what they run on, and predicts better.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.messages import Array
from course_lib.comm.rates import Rates
from course_lib.costs.fit import fit_line
from course_lib.measure.timing import calls_a_round, time_rounds

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = ["SIZES", "fit_network", "fit_rates", "message_times"]

SIZES = (8, 1_000, 8_000, 64_000, 500_000, 4_000_000)
"""From one number to what no cache near a core holds, in bytes."""


def message_times(
    sizes: tuple[int, ...] = SIZES,
    *,
    backend: str = "processes",
    network: "Network | None" = None,
    workers: int = 2,
    together: bool = False,
    adds: bool = True,
    repeats: int = 5,
) -> list[tuple[int, float]]:
    """Measure how long messages take from one rank to the next.

    Alone, it is half of the way from rank 0 to rank 1 and back. Together, every rank sends to the
    right and adds what comes from the left, as in a ring, or only keeps it.

    Parameters
    ----------
    sizes : tuple of int
        Bytes of a message, multiples of 8.
    backend : str, default: "processes"
        What ``run`` takes.
    network : Network or None, default: None
        The simulator's network.
    workers : int, default: 2
        How many ranks to start, 2 or more; alone, those beyond the first two look on.
    together : bool, default: False
        Whether all ranks send at once.
    adds : bool, default: True
        Whether they add what comes; alone, nobody does.
    repeats : int, default: 5
        How many batches are counted; a first one warms up.

    Returns
    -------
    list of (int, float)
        Bytes and seconds, ``repeats`` points of each size; none on ranks other than 0 of torchrun.

    Raises
    ------
    ValueError
        If an argument is unusable.
    RunError
        If a worker fails.

    Examples
    --------
    >>> from course_lib import networks
    >>> (point,) = message_times((1000,), backend="simulated", repeats=1,
    ...                          network=networks.ethernet_1g)
    >>> round((point[1] - networks.ethernet_1g.latency_s) * 1e6, 3)  # 1,000 bytes at 125 MB/s
    8.0
    """
    if workers < 2:
        raise ValueError(f"workers must be 2 or more, so that there is a message, got {workers}")
    values = run(
        _time_messages, sizes, repeats, together, adds, workers=workers, backend=backend,
        network=network, trace=False, time_limit_s=600.0,
    ).values  # fmt: skip
    return [(int(n_bytes), seconds) for n_bytes, seconds in values[0] or []]


def fit_network(
    name: str = "this computer",
    *,
    backend: str = "processes",
    workers: int = 2,
    together: bool = False,
    sizes: tuple[int, ...] = SIZES,
    repeats: int = 5,
) -> "Network":
    """Measure messages and make a network of them, for the simulator and for predictions.

    The network has the alpha and the beta that fit best, for messages that travel alone or
    together.

    Parameters
    ----------
    name : str, default: "this computer"
        What to call it.
    backend : str, default: "processes"
        The world whose messages are measured.
    workers : int, default: 2
        How many ranks to start, 2 or more.
    together : bool, default: False
        Whether all ranks send at once, as they do in an all-reduce.
    sizes : tuple of int
        Bytes of the messages, multiples of 8, two or more of them.
    repeats : int, default: 5
        How often each is measured.

    Returns
    -------
    Network
        ``latency_s`` and ``bandwidth_bytes_per_s`` are measured; the speed of computing is assumed,
        as in the presets.

    Raises
    ------
    ValueError
        If an argument is unusable.
    RunError
        If a worker fails.

    Examples
    --------
    >>> fit_network(backend="simulated").name  # processes are what one measures
    'this computer'
    """
    from course_lib.comm.simulated.networks import DEFAULT

    points = message_times(
        sizes, backend=backend, workers=workers, together=together, repeats=repeats
    )
    line = fit_line(points)
    bandwidth = 1 / line.beta_s_per_byte if line.beta_s_per_byte else float("inf")
    return replace(DEFAULT, name=name, latency_s=line.alpha_s, bandwidth_bytes_per_s=bandwidth)


def fit_rates(
    *,
    backend: str = "processes",
    workers: int = 2,
    sizes: tuple[int, ...] = SIZES,
    repeats: int = 5,
) -> Rates | None:
    """Measure what ``allreduce`` chooses by: messages that all ranks send at once, and adding them.

    Parameters
    ----------
    backend : str, default: "processes"
        The world whose messages are measured.
    workers : int, default: 2
        How many ranks, 2 or more.
    sizes : tuple of int
        Bytes of the messages, multiples of 8, two or more of them.
    repeats : int, default: 5
        How often each is measured.

    Returns
    -------
    Rates or None
        ``gamma_s_per_byte`` is by how much a byte takes longer if it is added and not only kept.
        None on ranks other than 0 of torchrun.

    Raises
    ------
    ValueError
        If an argument is unusable.
    RunError
        If a worker fails.
    """
    kept, added = (
        message_times(
            sizes, backend=backend, workers=workers, together=True, adds=adds, repeats=repeats
        )
        for adds in (False, True)
    )
    if not kept:
        return None
    line, with_adding = fit_line(kept), fit_line(added)
    gamma_s_per_byte = max(0.0, with_adding.beta_s_per_byte - line.beta_s_per_byte)
    source = f"measured with {workers} workers"
    return Rates(line.alpha_s, line.beta_s_per_byte, gamma_s_per_byte, source)


def _time_messages(
    comm: Communicator, sizes: tuple[int, ...], repeats: int, together: bool, adds: bool
) -> list[tuple[int, float]]:
    """Return bytes and seconds of one way, measured on this rank."""
    points = []
    for n_bytes in sizes:
        ball, sum_ = np.zeros(n_bytes // 8), np.zeros(n_bytes // 8)
        n_calls = calls_a_round(n_bytes, least=2)
        begin = partial(_begin, comm, n_calls, ball, sum_ if together else None, adds)
        ways = n_calls if together else 2 * n_calls
        seconds = time_rounds(begin, repeats, calls=ways, clock=comm.clock)
        points += [(ball.nbytes, one_s) for one_s in seconds]
    return points


def _begin(
    comm: Communicator, n_calls: int, ball: Array, sum_: Array | None, adds: bool
) -> Callable[[], None]:
    comm.barrier()
    op = "sum" if adds else None

    def send_all() -> None:
        for _ in range(n_calls):
            if sum_ is None:
                _to_and_fro(comm, ball)
            else:
                _to_the_right(comm, ball, sum_, op)

    return send_all


def _to_the_right(comm: Communicator, ball: Array, sum_: Array, op: str | None) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.sendrecv(ball, dst=right, src=left, out=sum_, op=op)


def _to_and_fro(comm: Communicator, ball: Array) -> None:
    if comm.rank == 0:
        comm.send(ball, 1)
        comm.recv(1, out=ball)
    elif comm.rank == 1:
        comm.recv(0, out=ball)
        comm.send(ball, 0)
