"""Time all-reduces on real processes or on the simulator, and check every sum."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import ALLREDUCES
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.costs.bounds import AtMost
from course_lib.measure.timing import calls_a_round, slowest, time_rounds
from course_lib.words.units import in_seconds

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = [
    "ITEM_BYTES",
    "TIME_LIMIT_S",
    "Measurement",
    "batch_bytes",
    "measure_allreduce",
    "predicted_in_seconds",
    "weight",
]

ITEM_BYTES = 4
"""What is summed is float32, as gradients usually are."""

TIME_LIMIT_S = 600.0


@dataclass(frozen=True)
class Measurement:
    """What one all-reduce took.

    Attributes
    ----------
    algorithm : str
        Its name in ``ALLREDUCES``.
    workers : int
        How many ranks.
    n_bytes : int
        The bytes of each rank's array.
    backend : str
        The world it ran in.
    seconds : tuple of float
        Seconds a call, by repeat; an all-reduce is over when the last rank has its sum.
    predicted_s : float or None
        What the cost model says, an ``AtMost`` where it is only an upper bound; None where it
        knows no alpha and beta.
    """

    algorithm: str
    workers: int
    n_bytes: int
    backend: str
    seconds: tuple[float, ...]
    predicted_s: float | None = None

    @property
    def median_s(self) -> float:
        """The median over the repeats, in seconds."""
        return statistics.median(self.seconds)

    @property
    def bus_bandwidth_bytes_per_s(self) -> float:
        """The bytes that each rank has to send at least, 2(P-1)/P n, in each second it took.

        Best all-reduces reach the bandwidth of the slowest link, whatever the number of ranks.
        """
        needed = 2 * (self.workers - 1) / self.workers * self.n_bytes
        return needed / self.median_s if needed else 0.0


def predicted_in_seconds(seconds: float | None) -> str:
    """Write a prediction with its unit, and "≤" before it where it is only an upper bound.

    Parameters
    ----------
    seconds : float or None
        What ``predicted_s`` returned.

    Returns
    -------
    str
        A cell of a table.
    """
    return ("≤ " if isinstance(seconds, AtMost) else "") + in_seconds(seconds)


def measure_allreduce(
    algorithm: str | Callable[..., Any],
    sizes: list[int],
    *,
    workers: int,
    backend: str = "processes",
    network: "Network | None" = None,
    repeats: int = 5,
    calls: int | None = None,
) -> list[Measurement]:
    """Time an all-reduce of float32 for several sizes, in one launch.

    Calls of small arrays are timed in batches; a first batch warms up and is not counted. Every sum
    is compared with the right one, outside the time. On the simulator one call says it all.

    Parameters
    ----------
    algorithm : str or callable
        A name in ``course_lib.collectives.ALLREDUCES``, ``"ring"`` for one, or a function that is
        called as they are, ``fn(comm, array, out=array)``.
    sizes : list of int
        Bytes of each rank's array, multiples of 4.
    workers : int
        How many ranks.
    backend : str, default: "processes"
        What ``run`` takes.
    network : Network or None, default: None
        The simulator's network.
    repeats : int, default: 5
        How many batches are counted.
    calls : int or None, default: None
        How many a batch has; None has more of smaller arrays. In a batch a rank may begin the next
        call while others are still in the one before.

    Returns
    -------
    list of Measurement
        One for each size, without prediction. Under torchrun, ranks other than 0 get none.

    Raises
    ------
    ValueError
        If an argument is unusable; nothing has been started then.
    RunError
        If a worker fails, a sum that is wrong included.

    Examples
    --------
    >>> from course_lib import networks
    >>> (found,) = measure_allreduce("ring", [1_000_000], workers=4, backend="simulated",
    ...                              network=networks.ethernet_10g)
    >>> round(found.bus_bandwidth_bytes_per_s / networks.ethernet_10g.bandwidth_bytes_per_s, 1)
    0.9
    """
    if isinstance(algorithm, str) and algorithm not in ALLREDUCES:
        raise ValueError(f"algorithm must be one of {', '.join(ALLREDUCES)}, got {algorithm!r}")
    for n_bytes in sizes:
        if n_bytes < ITEM_BYTES or n_bytes % ITEM_BYTES:
            raise ValueError(f"sizes must be multiples of {ITEM_BYTES} bytes, got {n_bytes}")
    is_virtual = backend == "simulated"
    batches = [_calls(n_bytes, is_virtual) if calls is None else calls for n_bytes in sizes]
    ranks = run(
        _time_sizes, algorithm, sizes, 1 if is_virtual else repeats, batches, workers=workers,
        backend=backend, network=network, trace=False, time_limit_s=TIME_LIMIT_S,
    ).values  # fmt: skip
    if None in ranks:  # a program that torchrun has started knows its own times only
        return []
    return [
        Measurement(_name(algorithm), len(ranks), n_bytes, backend, tuple(slowest(by_rank)))
        for n_bytes, by_rank in zip(sizes, zip(*ranks, strict=True), strict=True)
    ]


def batch_bytes(n_bytes: int, is_virtual: bool = False) -> int:
    """Return how much memory a rank needs for arrays of this size, in bytes."""
    return (_calls(n_bytes, is_virtual) + 3) * n_bytes


def _name(algorithm: str | Callable[..., Any]) -> str:
    return algorithm if isinstance(algorithm, str) else algorithm.__name__


def _calls(n_bytes: int, is_virtual: bool) -> int:
    return 1 if is_virtual else calls_a_round(n_bytes)


def _time_sizes(
    comm: Communicator,
    algorithm: str | Callable[..., Any],
    sizes: list[int],
    repeats: int,
    batches: list[int],
) -> list[list[float]]:
    """Return this rank's seconds a call: for each size, one for each repeat."""
    return [
        _time_size(comm, algorithm, n_bytes, repeats, n_calls)
        for n_bytes, n_calls in zip(sizes, batches, strict=True)
    ]


def _time_size(
    comm: Communicator,
    algorithm: str | Callable[..., Any],
    n_bytes: int,
    repeats: int,
    n_calls: int,
) -> list[float]:
    allreduce = ALLREDUCES[algorithm] if isinstance(algorithm, str) else algorithm
    name = f"allreduce_{algorithm}" if isinstance(algorithm, str) else _name(algorithm)
    numbers = _numbers(n_bytes // ITEM_BYTES)
    expected = numbers * sum(map(weight, range(comm.size)))

    def begin() -> Callable[[], list[NDArray[np.float32]]]:
        arrays = [numbers * weight(comm.rank) for _ in range(n_calls)]
        comm.barrier()

        def sum_up() -> list[NDArray[np.float32]]:
            for array in arrays:
                allreduce(comm, array, out=array)
            return arrays

        return sum_up

    def check(sums: list[NDArray[np.float32]]) -> None:
        for found in sums:
            _check(comm, name, found, expected)

    return time_rounds(begin, repeats, calls=n_calls, check=check, clock=comm.clock)


def _numbers(length: int) -> NDArray[np.float32]:
    """Return numbers that differ from place to place; 97 is prime, so that a shift shows."""
    return np.resize(np.arange(1, 98, dtype=np.float32), length)


def weight(rank: int) -> np.float32:
    """Return what a rank multiplies the numbers by; small, so that float32 adds without rounding.

    Parameters
    ----------
    rank : int
        Which.

    Returns
    -------
    numpy.float32
        1 to 7. 10,000 ranks add up to 39,997 times a number up to 97, which is below 2 ** 24.
    """
    return np.float32(rank % 7 + 1)


def _check(
    comm: Communicator, name: str, found: NDArray[np.float32], expected: NDArray[np.float32]
) -> None:
    if np.array_equal(found, expected):
        return
    place = int(np.flatnonzero(found != expected)[0])
    raise ValueError(
        f"{name}, rank {comm.rank} of {comm.size}, {expected.nbytes:,} bytes: "
        f"place {place} holds {found[place]}, expected {expected[place]}"
    )
