"""Measure a collective: in virtual time on a network of your choice, and on real processes.

``course_lib.costs`` says what a collective should take; this runs it and says what it took. Every
function takes the collective itself, one of the library's or one that you have written: it is
called as ``collective(comm, array, **options)`` on every rank.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.simulated.networks import DEFAULT, Network
from course_lib.measure.timing import slowest, time_rounds
from course_lib.trace.trace import Trace

__all__ = [
    "BothWorlds",
    "Weight",
    "both_worlds",
    "overtaken_at",
    "real_times",
    "virtual_s",
    "weigh",
]

Collective = Callable[..., Any]

_ITEM_BYTES = 8


@dataclass(frozen=True)
class BothWorlds:
    """The same sum in virtual time and on real processes.

    Attributes
    ----------
    virtual, real : Result
        The two runs.
    """

    virtual: Result
    real: Result

    @property
    def sums(self) -> list[int]:
        """The different numbers that any rank of any world holds at the end, in order."""
        return sorted({int(x) for r in (self.virtual, self.real) for v in r.values for x in set(v)})

    @property
    def same_messages(self) -> bool:
        """Whether both worlds sent as many messages of each size between any two ranks."""
        return _traffic(self.virtual.trace) == _traffic(self.real.trace)

    def __repr__(self) -> str:
        """Summarise in one line that is the same for every run of a deterministic algorithm."""
        held = ", ".join(map(str, self.sums))
        same = "the same messages" if self.same_messages else "OTHER MESSAGES"
        return f"{len(self.real.values)} ranks, virtual and real: all hold {held}; {same}"


@dataclass(frozen=True)
class Weight:
    """What a collective took: so many latencies, and so many times the vector on the wire.

    Attributes
    ----------
    latencies : Fraction
        How often alpha was waited for.
    vectors : Fraction
        How many times the n bytes of the vector passed one NIC after another: beta n, so often.
    """

    latencies: Fraction
    vectors: Fraction

    def __str__(self) -> str:
        """Write it as a formula."""
        return f"{self.latencies} α + {self.vectors} nβ"


def both_worlds(collective: Collective, values: Sequence[int], n_bytes: int) -> BothWorlds:
    """Sum vectors of equal numbers, on the simulator and on real processes.

    Parameters
    ----------
    collective : callable
        An all-reduce.
    values : sequence of int
        What each rank fills its vector with; as many ranks as there are values.
    n_bytes : int
        How long each vector is, a multiple of 8.

    Returns
    -------
    BothWorlds
        Both runs; its repr says what all ranks hold and whether the messages were the same.

    Examples
    --------
    >>> from course_lib.collectives import allreduce_tree
    >>> both_worlds(allreduce_tree, [1, 2, 4], n_bytes=80)
    3 ranks, virtual and real: all hold 7; the same messages
    """
    work = (_sum_of, collective, list(values), n_bytes // _ITEM_BYTES)
    return BothWorlds(
        run(*work, workers=len(values), backend="simulated"),
        run(*work, workers=len(values), backend="processes"),
    )


def virtual_s(
    collective: Collective,
    workers: int,
    n_bytes: int,
    network: Network = DEFAULT,
    *,
    rendezvous: bool = False,
    **options: Any,
) -> float:
    """Return the virtual seconds of one call.

    Parameters
    ----------
    collective : callable
        What to call.
    workers : int
        How many ranks.
    n_bytes : int
        How long the vector of each rank is, a multiple of 8.
    network : Network, default: networks.ethernet_10g
        What connects them.
    rendezvous : bool, default: False
        Whether short messages, too, wait for their receive.
    **options
        What the collective takes besides.

    Returns
    -------
    float
        Seconds of the simulator's clock.
    """
    return run(
        _call, collective, np.zeros(n_bytes // _ITEM_BYTES), options,
        workers=workers, backend="simulated", network=network, trace=False,
        rendezvous=rendezvous, time_limit_s=_PATIENCE_S,
    ).elapsed_s  # fmt: skip


def weigh(
    collective: Collective,
    workers: int,
    n_bytes: int,
    network: Network = DEFAULT,
    **options: Any,
) -> Weight:
    """Split the virtual time of one call into its latencies and its bytes.

    It is run again on the same network without latency: what is left is bytes.

    Parameters
    ----------
    collective : callable
        What to call.
    workers : int
        How many ranks.
    n_bytes : int
        How long the vector of each rank is, a multiple of 8.
    network : Network, default: networks.ethernet_10g
        What connects them.
    **options
        What the collective takes besides.

    Returns
    -------
    Weight
        Fractions with denominators up to 1,000.

    Examples
    --------
    >>> from course_lib.collectives import allreduce_ring
    >>> print(weigh(allreduce_ring, 4, n_bytes=8000))
    6 α + 3/2 nβ
    """
    whole_s = virtual_s(collective, workers, n_bytes, network, **options)
    bytes_s = virtual_s(collective, workers, n_bytes, replace(network, latency_s=0.0), **options)
    return Weight(
        Fraction((whole_s - bytes_s) / network.latency_s).limit_denominator(1000),
        Fraction(bytes_s / (n_bytes * network.beta_s_per_byte)).limit_denominator(1000),
    )


def overtaken_at(
    few_rounds: Collective, few_bytes: Collective, workers: int, network: Network = DEFAULT
) -> int:
    """Find the size from which on one collective is faster than another, by running both.

    The interval that holds it is halved until it is one number in each rank's chunk.

    Parameters
    ----------
    few_rounds, few_bytes : callable
        The faster one for small vectors, and the one for large vectors.
    workers : int
        How many ranks.
    network : Network, default: networks.ethernet_10g
        What connects them.

    Returns
    -------
    int
        Bytes: the smallest multiple of ``8 * workers`` at which ``few_bytes`` is faster.

    Raises
    ------
    ValueError
        If the order of the two is the same with a number and with a million numbers a chunk.
    """
    step = _ITEM_BYTES * workers

    def is_overtaken(chunk: int) -> bool:
        n_bytes = chunk * step
        limit_s = virtual_s(few_rounds, workers, n_bytes, network)
        return virtual_s(few_bytes, workers, n_bytes, network) < limit_s

    low, high = 1, 2
    while not is_overtaken(high):
        low, high = high, 2 * high
        if high > _LONGEST_CHUNK:
            raise ValueError(f"few_bytes is not faster even at {low * step:,} bytes")
    if is_overtaken(low):
        raise ValueError(f"few_bytes is faster already at {low * step:,} bytes")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_overtaken(middle) else (middle, high)
    return high * step


def real_times(
    collective: Collective, sizes: Sequence[int], workers: int = 4, repeats: int = 25
) -> NDArray[np.float64]:
    """Measure calls on real processes.

    Parameters
    ----------
    collective : callable
        What to call.
    sizes : sequence of int
        Bytes of the vectors, multiples of 8.
    workers : int, default: 4
        How many processes.
    repeats : int, default: 25
        How many calls of each size, after one that warms up.

    Returns
    -------
    numpy.ndarray, shape (len(sizes),)
        Seconds: those of the slowest rank, in the fastest of the calls, because other programs on
        the computer only ever add time.
    """
    result = run(_repeat, collective, list(sizes), repeats, workers=workers, trace=False)
    return np.array([min(slowest(by_rank)) for by_rank in zip(*result.values, strict=True)])


_PATIENCE_S = 110.0  # a thousand ranks on a ring send two million messages
_LONGEST_CHUNK = 2**20


def _sum_of(comm: Communicator, collective: Collective, values: list[int], length: int) -> Any:
    return collective(comm, np.full(length, values[comm.rank]))


def _call(
    comm: Communicator, collective: Collective, vector: NDArray[np.float64], options: dict[str, Any]
) -> None:
    collective(comm, vector, **options)


def _repeat(
    comm: Communicator, collective: Collective, sizes: list[int], repeats: int
) -> list[list[float]]:
    vectors = [np.ones(n_bytes // _ITEM_BYTES) for n_bytes in sizes]

    def begin(vector: NDArray[np.float64]) -> Callable[[], Any]:
        comm.barrier()
        return partial(collective, comm, vector)

    return [time_rounds(partial(begin, x), repeats, clock=comm.clock) for x in vectors]


def _traffic(trace: Trace) -> Counter[tuple[int, int, int]]:
    return Counter((message.src, message.dst, message.n_bytes) for message in trace.messages)
