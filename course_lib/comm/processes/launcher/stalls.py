"""Ranks whose processes the system has stopped, and how long the launcher itself was away."""

import time
from collections.abc import Mapping
from contextlib import suppress

__all__ = ["STALL_LIMIT_S", "StallWatch", "WakingClock", "resume"]

STALL_LIMIT_S = 5.0
"""How long a rank's process may be stopped before the run is ended."""

_EVERY_S = 1.0
_SUSPENDED_S = 1.0


class WakingClock:
    """A clock that stands still while this process does: stopped, or on a computer that sleeps.

    What the workers did not do in that time is not their fault: they may have been asleep as well.
    """

    def __init__(self) -> None:
        self._last_s = time.monotonic()
        self._lost_s = 0.0

    def tick(self, expected_s: float) -> float:
        """Return the time; ``expected_s`` is how long after the last tick this one should come."""
        now_s = time.monotonic()
        late_s = now_s - self._last_s - expected_s
        if late_s > _SUSPENDED_S:
            self._lost_s += late_s
        self._last_s = now_s
        return now_s - self._lost_s


class StallWatch:
    """Finds ranks that have been stopped (SIGSTOP, Ctrl-Z, a suspended process on Windows).

    A process that waits, sleeps or computes is none of these. One that is stopped and continued
    again and again has run in between, which its number of context switches shows.
    """

    def __init__(self) -> None:
        self._stopped: dict[int, tuple[int, float]] = {}
        self._next_look_s: float | None = None

    def look(self, pids: Mapping[int, int], now_s: float) -> list[int]:
        """Return the ranks that are stopped, if one has been for too long.

        It looks once a second at most.

        Parameters
        ----------
        pids : mapping of int to int
            The process of each rank that has not returned.
        now_s : float
            The time, on a ``WakingClock``.

        Returns
        -------
        list of int
            Ranks, those that were stopped first before the others.
        """
        if self._next_look_s is not None and now_s < self._next_look_s:
            return []
        first = self._next_look_s is None
        self._next_look_s = now_s + min(_EVERY_S, STALL_LIMIT_S / 5)
        if first:  # most runs are over before there is anything to see
            return []
        stopped = {}
        for rank, pid in pids.items():
            switches = _switches_if_stopped(pid)
            if switches is not None:
                before, since_s = self._stopped.get(rank, (switches, now_s))
                stopped[rank] = (switches, since_s if before == switches else now_s)
        self._stopped = stopped
        ranks = sorted(stopped, key=lambda rank: stopped[rank][1])
        too_long = ranks and now_s - stopped[ranks[0]][1] >= STALL_LIMIT_S
        return ranks if too_long else []


def _switches_if_stopped(pid: int) -> int | None:
    """Count the context switches of a process that is stopped; None of any other."""
    import psutil  # not before a run has lasted a while: it takes long to load

    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_STOPPED:
            return None
        return int(sum(process.num_ctx_switches()))
    except psutil.Error:
        return None  # it has just ended


def resume(pid: int) -> None:
    """Let a stopped process go on, unless it has ended."""
    import psutil

    with suppress(psutil.Error):
        psutil.Process(pid).resume()
