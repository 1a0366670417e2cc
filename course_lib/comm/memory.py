"""How much memory a run on real processes takes: told before it starts, if it is much."""

import sys
from collections.abc import Callable
from typing import Any

from course_lib.comm.shipping import largest_part
from course_lib.comm.warn import warn_caller
from course_lib.words.units import in_bytes

__all__ = ["MUCH_BYTES", "available_bytes", "warn_of_memory", "worker_bytes"]

MUCH_BYTES = 256 * 2**20
"""Copies that are larger in total are worth a word: from here on they cost a second and more."""

_WORKER_MIB = {
    ("forkserver", False): 10,
    ("forkserver", True): 40,
    ("spawn", False): 25,
    ("spawn", True): 160,
}
"""What one of four workers takes (its share of shared pages counted, "PSS"), by start method and by
whether torch is loaded; measured on Linux with Python 3.11, NumPy 2 and torch 2.13."""


def worker_bytes(method: str) -> int:
    """Return about how much memory one worker takes before it has any data.

    Parameters
    ----------
    method : {"forkserver", "spawn"}
        How it is started.

    Returns
    -------
    int
        Bytes; more where this program has loaded torch, as its workers will then.
    """
    return _WORKER_MIB[method, "torch" in sys.modules] * 2**20


def available_bytes() -> int:
    """Return how much memory this computer can give without swapping."""
    import psutil  # only where a run is large: it takes a while to load

    return int(psutil.virtual_memory().available)


def warn_of_memory(
    fn: Callable[..., Any], args: tuple[Any, ...], n_call_bytes: int, workers: int, method: str
) -> None:
    """Warn if a run will copy much, or take more than half of the memory that is available.

    Parameters
    ----------
    fn, args : callable and tuple
        What is to run.
    n_call_bytes : int
        How large they are, packed.
    workers : int
        How many ranks get a copy.
    method : {"forkserver", "spawn"}
        How workers are started.
    """
    n_copied = n_call_bytes * workers
    n_taken = n_copied + worker_bytes(method) * workers
    if n_taken <= MUCH_BYTES:  # as nearly always: ask nothing
        return
    n_available = available_bytes()
    if n_copied > MUCH_BYTES:
        what, n_bytes = largest_part(fn, args)
        warn_caller(
            f"the function and its arguments are {in_bytes(n_call_bytes)}, which are copied to "
            f"each of {workers} workers: {in_bytes(n_copied)} in all; the largest part is "
            f"{what} ({in_bytes(n_bytes)}): let each rank make or load its own part, if it can"
        )
    if 2 * n_taken > n_available:
        warn_caller(
            f"{workers} workers will take about {in_bytes(n_taken)} of memory, "
            f"{in_bytes(n_available)} are available; use fewer workers if the computer gets slow"
        )
