"""Find out what messages cost here: send them to and fro, fit alpha and beta."""

from typing import TYPE_CHECKING

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.costs.fit import fit_line

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = ["SIZES", "fit_network", "message_times"]

SIZES = (8, 1_000, 8_000, 64_000, 500_000, 4_000_000)
"""From one number to what no cache near a core holds, in bytes."""

_BATCH_BYTES = 8_000_000
_MOST_CALLS = 200
_CORE_FLOPS_PER_S = 1e10  # the same assumption as in the presets


def message_times(
    sizes: tuple[int, ...] = SIZES,
    *,
    backend: str = "processes",
    network: "Network | None" = None,
    workers: int = 2,
    repeats: int = 5,
) -> list[tuple[int, float]]:
    """Measure how long messages take from rank 0 to rank 1: half of the way there and back.

    Parameters
    ----------
    sizes : tuple of int
        Bytes of a message, multiples of 8.
    backend : str, default: "processes"
        What ``run`` takes.
    network : Network or None, default: None
        The simulator's network.
    workers : int, default: 2
        How many ranks to start, 2 or more; those beyond the first two look on.
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
        _to_and_fro, sizes, repeats, workers=workers, backend=backend, network=network,
        trace=False, time_limit_s=600.0,
    ).values  # fmt: skip
    return [(int(n_bytes), seconds) for n_bytes, seconds in values[0] or []]


def fit_network(
    name: str = "this computer",
    *,
    backend: str = "processes",
    workers: int = 2,
    sizes: tuple[int, ...] = SIZES,
    repeats: int = 5,
) -> "Network":
    """Measure messages and make a network of them, for the simulator and for predictions.

    The network has the alpha and the beta that fit best; what it leaves out is that real ranks
    share cores and memory, so that messages between other pairs are in their way.

    Parameters
    ----------
    name : str, default: "this computer"
        What to call it.
    backend : str, default: "processes"
        The world whose messages are measured.
    workers : int, default: 2
        How many ranks to start, 2 or more.
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
    from course_lib.comm.simulated.networks import Network

    line = fit_line(message_times(sizes, backend=backend, workers=workers, repeats=repeats))
    bandwidth = 1 / line.beta_s_per_byte if line.beta_s_per_byte else float("inf")
    return Network(name, line.alpha_s, bandwidth, _CORE_FLOPS_PER_S)


def _to_and_fro(
    comm: Communicator, sizes: tuple[int, ...], repeats: int
) -> list[tuple[int, float]]:
    """Return bytes and seconds of one way, measured on this rank."""
    points = []
    for n_bytes in sizes:
        ball = np.zeros(n_bytes // 8)
        n_calls = min(max(_BATCH_BYTES // n_bytes, 2), _MOST_CALLS)
        for batch in range(1 + repeats):
            comm.barrier()
            start_s = comm.clock()
            for _ in range(n_calls):
                if comm.rank == 0:
                    comm.send(ball, 1)
                    comm.recv(1, out=ball)
                elif comm.rank == 1:
                    comm.recv(0, out=ball)
                    comm.send(ball, 0)
            if batch > 0:
                points.append((ball.nbytes, (comm.clock() - start_s) / n_calls / 2))
    return points
