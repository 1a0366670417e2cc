"""A call of ``run``, checked: every argument is refused by name before anything is started."""

import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.functions import check_function

__all__ = ["Job", "check_job"]

_BACKENDS = ("processes", "simulated")
_MOST_WORKERS = {"processes": 61 if sys.platform == "win32" else 64, "simulated": 10_000}


@dataclass(frozen=True)
class Job:
    """A checked call of ``run``, as a world receives it.

    Attributes
    ----------
    fn, args : callable and tuple
        What every rank calls, after its communicator.
    workers : int
        How many ranks.
    eager_bytes : int
        Up to what size ``send`` returns after copying.
    trace : bool
        Whether to record what happens.
    time_limit_s : float
        Wall seconds after which the run is ended.
    seed : int
        For the ranks' random generators.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    workers: int
    eager_bytes: int
    trace: bool
    time_limit_s: float
    seed: int


def check_job(
    fn: Any,
    args: tuple[Any, ...],
    *,
    workers: Any,
    backend: Any,
    rendezvous: Any,
    trace: Any,
    time_limit_s: Any,
    seed: Any,
) -> Job:
    """Check the arguments of ``run`` that every world shares; they are described there.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.
    """
    if backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {_BACKENDS}, got {backend!r}")
    check_function(fn, args)
    return Job(
        fn=fn,
        args=args,
        workers=_check_workers(workers, backend),
        eager_bytes=0 if _check_flag("rendezvous", rendezvous) else EAGER_BYTES,
        trace=_check_flag("trace", trace),
        time_limit_s=_check_limit(time_limit_s),
        seed=_check_seed(seed),
    )


def _check_workers(workers: Any, backend: str) -> int:
    most = _MOST_WORKERS[backend]
    if isinstance(workers, bool) or not hasattr(workers, "__index__"):
        raise TypeError(
            f"workers must be an int from 1 to {most}, got {workers!r} ({type(workers).__name__})"
        )
    workers = operator.index(workers)
    if workers < 1 or (workers > most and backend == "simulated"):
        raise ValueError(f"workers must be an int from 1 to {most:,}, got {workers:,}")
    if workers > most:
        raise ValueError(
            f"workers must be an int from 1 to {most} on real processes, got {workers:,}: each one "
            'is a process of about 50 MB; backend="simulated" goes to 10,000'
        )
    return int(workers)


def _check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")
    return value


def _check_limit(limit_s: Any) -> float:
    if isinstance(limit_s, bool) or not isinstance(limit_s, int | float):
        raise TypeError(
            f"time_limit_s must be a number of seconds, got {limit_s!r} "
            f"({type(limit_s).__name__}); there is always a limit"
        )
    if not (limit_s > 0 and math.isfinite(limit_s)):
        raise ValueError(f"time_limit_s must be above 0 and finite, got {limit_s!r}")
    return float(limit_s)


def _check_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise TypeError(f"seed must be an int of 0 or more, got {seed!r} ({type(seed).__name__})")
    seed = operator.index(seed)
    if seed < 0:
        raise ValueError(f"seed must be an int of 0 or more, got {seed}")
    return int(seed)
