"""The prices by the names of their functions, and what follows from two of them."""

import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from course_lib.costs.allreduces import (
    allreduce_butterfly,
    allreduce_central,
    allreduce_direct,
    allreduce_halving_doubling,
    allreduce_ring,
    allreduce_tree,
)
from course_lib.costs.checking import checked, count, duration, flag, listed, ranks
from course_lib.costs.composed import allreduce_double_tree, allreduce_two_level
from course_lib.costs.price import EAGER_BYTES, Items, Price
from course_lib.costs.rooted import (
    broadcast_flat,
    broadcast_tree,
    gather,
    reduce_flat,
    reduce_tree,
    scatter,
)
from course_lib.costs.unrooted import allgather_ring, alltoall, reduce_scatter_ring

__all__ = ["PRICES", "check_collective", "crossover", "predicted_s", "price"]

PRICES: dict[str, Callable[..., Price]] = {
    "broadcast_flat": broadcast_flat,
    "broadcast_tree": broadcast_tree,
    "reduce_flat": reduce_flat,
    "reduce_tree": reduce_tree,
    "gather": gather,
    "scatter": scatter,
    "allgather_ring": allgather_ring,
    "reduce_scatter_ring": reduce_scatter_ring,
    "alltoall": alltoall,
    "allreduce_central": allreduce_central,
    "allreduce_direct": allreduce_direct,
    "allreduce_tree": allreduce_tree,
    "allreduce_double_tree": allreduce_double_tree,
    "allreduce_butterfly": allreduce_butterfly,
    "allreduce_halving_doubling": allreduce_halving_doubling,
    "allreduce_ring": allreduce_ring,
    "allreduce_two_level": allreduce_two_level,
}


@checked(size=listed, n_bytes=count, item_bytes=ranks, rendezvous=flag, eager_bytes=count)
def price(
    collective: str,
    size: int,
    n_bytes: int,
    item_bytes: int = 1,
    rendezvous: bool = False,
    *,
    eager_bytes: int = EAGER_BYTES,
    **options: Any,
) -> Price:
    """Say what one call of a collective costs, without running it.

    Parameters
    ----------
    collective : str
        The name of its function, such as ``"allreduce_ring"``.
    size : int
        How many ranks, P; 1 or more.
    n_bytes : int
        The bytes of the array that the docstring of the collective calls n.
    item_bytes : int, default: 1
        The bytes of one row, or of one element of an array that is reduced. Chunks are cut between
        them, which matters only where ``size`` does not divide their number.
    rendezvous : bool, default: False
        Whether every send of at least one byte waits for its receive, as in
        ``run(..., rendezvous=True)``.
    eager_bytes : int, default: 16384
        A message of more bytes waits for its receive anyway. What counts is each message, a chunk
        or a segment, and not the array.
    **options : int
        What the collective takes besides: ``root``, ``segments`` or ``ranks_per_host``.

    Returns
    -------
    Price
        Rounds, messages, bytes of each rank, and the time that follows from alpha and beta.

    Raises
    ------
    ValueError
        If there is no such collective, or a number is out of range.
    TypeError
        If a number is none, or an option is not the collective's.

    Examples
    --------
    >>> price("allreduce_ring", size=4, n_bytes=800).bytes_sent
    (1200, 1200, 1200, 1200)
    >>> price("allreduce_central", size=4, n_bytes=800).bytes_sent
    (2400, 800, 800, 800)
    """
    check_collective(collective)
    _check_options(collective, size, options)
    if n_bytes % item_bytes:
        raise ValueError(
            f"n_bytes must be a multiple of item_bytes, got {n_bytes} and {item_bytes}"
        )
    items = Items(item_bytes, 0 if rendezvous else eager_bytes)
    in_elements = PRICES[collective](size, n_bytes // item_bytes, items, **options)
    return in_elements.times(item_bytes)


@checked(
    size=listed, n_bytes=count, alpha_s=duration, beta_s_per_byte=duration, item_bytes=ranks,
    eager_bytes=count,
)  # fmt: skip
def predicted_s(
    collective: str,
    size: int,
    n_bytes: int,
    alpha_s: float,
    beta_s_per_byte: float,
    *,
    item_bytes: int = 1,
    eager_bytes: int = EAGER_BYTES,
    **options: Any,
) -> float:
    """Predict how long a collective takes: alpha for each latency, beta for each byte in turn.

    It is the simulator's time where messages do not get in each other's way, and a bound otherwise.

    Parameters
    ----------
    collective : str
        The name of its function, such as ``"allreduce_ring"``.
    size : int
        How many ranks, P.
    n_bytes : int
        The bytes of the array that the docstring of the collective calls n.
    alpha_s : float
        Seconds from sending a message's first byte until it arrives.
    beta_s_per_byte : float
        Seconds that a NIC is busy with one byte.
    item_bytes : int, default: 1
        The bytes of one element.
    eager_bytes : int, default: 16384
        Up to this size, a message does not wait for its receive.
    **options : int
        What the collective takes besides: ``root``, ``segments`` or ``ranks_per_host``.

    Returns
    -------
    float
        Seconds; an ``AtMost``, a float that prints as a bound, where the price is not exact.

    Examples
    --------
    >>> predicted_s("allreduce_tree", 4, 1_000_000, alpha_s=0.0, beta_s_per_byte=1e-9)
    at most 0.008
    >>> round(predicted_s("allreduce_ring", 4, 1_000_000, alpha_s=2e-5, beta_s_per_byte=1e-9), 6)
    0.00162
    """
    found = price(collective, size, n_bytes, item_bytes, eager_bytes=eager_bytes, **options)
    return found.time_s(alpha_s, beta_s_per_byte)


@checked(size=listed, rendezvous=flag)
def crossover(
    few_rounds: str, few_bytes: str, size: int, rendezvous: bool = False
) -> Fraction | None:
    """Say from which size on the collective that moves fewer bytes is faster.

    With k1 latencies and c1 n bytes in turn for the one, k2 and c2 n for the other, both take
    equally long at n = (k2 - k1) / (c1 - c2) times alpha / beta.

    Parameters
    ----------
    few_rounds, few_bytes : str
        The names of two functions, such as ``"allreduce_butterfly"`` and ``"allreduce_ring"``.
    size : int
        How many ranks, P.
    rendezvous : bool, default: False
        Whether a send waits for its receive.

    Returns
    -------
    Fraction or None
        The size in units of alpha / beta: times alpha in seconds, by beta in seconds a byte, it is
        a number of bytes. 0 if the second is never slower, None if it never gets faster.

    Raises
    ------
    ValueError
        If a price has no closed form at this size, so that no size can be told.

    Examples
    --------
    >>> crossover("allreduce_butterfly", "allreduce_ring", 4)
    Fraction(8, 1)
    >>> crossover("allreduce_butterfly", "allreduce_ring", 8)
    Fraction(44, 5)
    """
    n_bytes = math.lcm(size, 1 << size.bit_length())  # every chunk is a whole number of bytes
    first, second = (price(name, size, n_bytes, 1, rendezvous) for name in (few_rounds, few_bytes))
    for name, found in ((few_rounds, first), (few_bytes, second)):
        if not found.is_exact:
            raise ValueError(f"the time of {name} has no closed form with {size} ranks")
    more_latencies = second.latencies - first.latencies
    fewer_bytes = first.serial_bytes - second.serial_bytes
    if more_latencies <= 0 and fewer_bytes >= 0:
        return Fraction(0)
    if fewer_bytes <= 0:
        return None
    return max(Fraction(0), Fraction(more_latencies * n_bytes, fewer_bytes))


def check_collective(name: Any) -> None:
    """Refuse what is no collective that has a price.

    Raises
    ------
    ValueError
        Naming those that have.
    """
    if not isinstance(name, str) or name not in PRICES:
        raise ValueError(f"collective must be one of {', '.join(PRICES)}, got {name!r}")


def _check_options(collective: str, size: int, options: dict[str, Any]) -> None:
    """Refuse an option that the collective does not take, or a number that it cannot be."""
    parameters = inspect.signature(PRICES[collective]).parameters
    known = list(parameters)[3:]
    for name, value in options.items():
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise TypeError(f"{collective} has no option {name!r}; {takes}")
        if value is None and "None" in str(parameters[name].annotation):
            continue
        count(name, value, least=0 if name == "root" else 1)
        if name == "root" and value >= size:
            raise ValueError(f"root must be a rank from 0 to {size - 1}, got {value}")
