"""How everything is timed: a round that warms up, rounds that count, the slowest rank of each."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["calls_a_round", "slowest", "time_rounds"]

Done = TypeVar("Done")

_ROUND_BYTES = 4 * 2**20
_MOST_CALLS = 100


def time_rounds(
    begin: Callable[[], Callable[[], Done]],
    rounds: int,
    *,
    calls: int = 1,
    warm_up: int = 1,
    check: Callable[[Done], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Take the time of what is done again and again, without what comes before and after.

    Parameters
    ----------
    begin : callable
        Gets ready for a round, a barrier at its end if there are other ranks; what it returns does
        the work, timed.
    rounds : int
        How many are counted.
    calls : int, default: 1
        How often a round does what is asked for.
    warm_up : int, default: 1
        How many rounds come before those that are counted.
    check : callable or None, default: None
        Called with what the work returns, outside the time.
    clock : callable, default: time.perf_counter
        Seconds; a communicator's, where time may be virtual.

    Returns
    -------
    list of float
        Seconds a call, one for each round that counts.

    Examples
    --------
    >>> ticks = iter([0, 9, 10, 12, 20, 24])  # a clock of two ticks a round
    >>> time_rounds(lambda: list, rounds=2, calls=2, clock=lambda: next(ticks))
    [1.0, 2.0]
    """
    seconds = []
    for number in range(warm_up + rounds):
        work = begin()
        start_s = clock()
        done = work()
        took_s = clock() - start_s
        if check is not None:
            check(done)
        del work, done  # as in a training loop, where the next sum replaces the last
        if number >= warm_up:
            seconds.append(took_s / calls)
    return seconds


def calls_a_round(n_bytes: int, least: int = 1) -> int:
    """Say how often something is done in a round: short things often, so that the clock tells.

    Parameters
    ----------
    n_bytes : int
        What one call moves.
    least : int, default: 1
        How often at least.

    Returns
    -------
    int
        As often as 4 MiB are moved, and 100 times at most.
    """
    return min(max(_ROUND_BYTES // n_bytes, least), _MOST_CALLS)


def slowest(by_rank: Sequence[Sequence[float]]) -> list[float]:
    """Return the slowest rank's seconds of each round: then it was over.

    Parameters
    ----------
    by_rank : sequence of sequence of float
        What each rank measured.

    Returns
    -------
    list of float
        One for each round.

    Examples
    --------
    >>> slowest([[1.0, 2.0], [3.0, 1.0]])
    [3.0, 2.0]
    """
    return list(map(max, zip(*by_rank, strict=True)))
