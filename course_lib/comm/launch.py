"""``run``: the only way to start workers."""

import inspect
import math
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import NestedLaunchError
from course_lib.trace.trace import Trace

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = ["WORKER_VARIABLE", "Job", "Result", "run"]

WORKER_VARIABLE = "COURSE_LIB_WORKER"
"""The environment variable that marks a worker process; its value is the rank."""

_BACKENDS = ("processes", "simulated")
_MOST_WORKERS = {"processes": 61 if sys.platform == "win32" else 64, "simulated": 10_000}
_START_METHODS = (None, "forkserver", "spawn")
_here = threading.local()


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


@dataclass(frozen=True)
class Result:
    """What a run gave back.

    Attributes
    ----------
    values : list
        What each rank's function returned, by rank.
    elapsed_s : float
        How long it took: wall seconds, or virtual seconds on the simulator.
    backend : str
        The world it ran in.
    recorded : Trace or None
        The trace, or None where the run was made with ``trace=False``.
    """

    values: list[Any]
    elapsed_s: float
    backend: str
    recorded: Trace | None

    @property
    def trace(self) -> Trace:
        """Messages and compute spans of all ranks, on one clock.

        Raises
        ------
        ValueError
            If the run was made with ``trace=False``.
        """
        if self.recorded is None:
            raise ValueError("this run was made with trace=False: run it again with trace=True")
        return self.recorded

    def __repr__(self) -> str:
        """Summarise without any time, so that two runs of the same code print the same."""
        traffic = ""
        if self.recorded is not None:
            n_messages, n_bytes = self.recorded.n_messages, self.recorded.n_bytes
            traffic = f": {n_messages:,} messages, {n_bytes:,} bytes"
        return f"Result({len(self.values)} ranks, {self.backend}{traffic})"


def run(
    fn: Callable[..., Any],
    *args: Any,
    workers: int = 4,
    backend: str = "processes",
    network: "Network | None" = None,
    rendezvous: bool = False,
    trace: bool = True,
    time_limit_s: float = 60.0,
    seed: int = 0,
    start_method: str | None = None,
) -> Result:
    """Call ``fn(comm, *args)`` on many workers at once and wait until all of them are gone.

    The first failure ends the others and is raised, with the rank, the cell's line and the worker's
    traceback. Every rank works on its own copy of the arguments.

    Parameters
    ----------
    fn : callable
        The worker's function; its first argument is the rank's ``Communicator``. It may be defined
        in a notebook cell.
    *args
        Further arguments, the same for every rank.
    workers : int, default: 4
        How many ranks: 1 to 64 processes (61 on Windows), 1 to 10,000 simulated.
    backend : {"processes", "simulated"}, default: "processes"
        Real processes on this computer, or the simulator in virtual time.
    network : Network or None, default: None
        The simulator's network, ``networks.ethernet_10g`` for one; only for ``"simulated"``.
    rendezvous : bool, default: False
        Make every ``send`` wait for its receive, so that a hidden deadlock shows.
    trace : bool, default: True
        Whether to record what happens.
    time_limit_s : float, default: 60.0
        Wall seconds after which the run is ended and reported.
    seed : int, default: 0
        For each rank's ``comm.rng``.
    start_method : {None, "forkserver", "spawn"}, default: None
        How processes are started; None takes forkserver where there is one, else spawn.

    Returns
    -------
    Result
        ``values`` by rank, ``trace`` and ``elapsed_s``.

    Raises
    ------
    TypeError, ValueError
        If an argument is unusable; nothing has been started then.
    RunError
        If the run failed; see ``course_lib.comm.errors`` for its kinds.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def pass_on(comm):
    ...     if comm.rank == 0:
    ...         comm.send(np.arange(3), dst=1)
    ...         return 0
    ...     return int(comm.recv(src=0).sum())
    >>> run(pass_on, workers=2, backend="simulated").values
    [0, 3]
    """
    if backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {_BACKENDS}, got {backend!r}")
    _check_function(fn, args)
    job = Job(
        fn=fn,
        args=args,
        workers=_check_workers(workers, backend),
        eager_bytes=0 if _check_flag("rendezvous", rendezvous) else EAGER_BYTES,
        trace=_check_flag("trace", trace),
        time_limit_s=_check_limit(time_limit_s),
        seed=_check_seed(seed),
    )
    if start_method not in _START_METHODS:
        raise ValueError(f"start_method must be one of {_START_METHODS}, got {start_method!r}")
    _refuse_nested()
    if backend == "simulated":
        if start_method is not None:
            raise ValueError('start_method is only for backend="processes"')
        from course_lib.comm.simulated import launcher as simulated

        return simulated.launch(job, network)
    if network is not None:
        raise ValueError(
            'network is only for backend="simulated"; real processes are what they are'
        )
    from course_lib.comm.processes import launcher as processes

    return processes.launch(job, start_method)


@contextmanager
def inside_worker(rank: int) -> Iterator[None]:
    """Mark this thread as running workers, so that a nested ``run`` is refused.

    Parameters
    ----------
    rank : int
        A rank that runs in this thread.

    Yields
    ------
    None
        While the workers run.
    """
    _here.rank = rank
    try:
        yield
    finally:
        _here.rank = None


def _refuse_nested() -> None:
    if getattr(_here, "rank", None) is not None or WORKER_VARIABLE in os.environ:
        raise NestedLaunchError(
            "run was called inside a worker; workers cannot start workers: "
            "call run once, outside, with as many workers as are needed"
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


def _check_function(fn: Any, args: tuple[Any, ...]) -> None:
    if not callable(fn):
        raise TypeError(
            f"fn must be a function that takes a communicator, got {fn!r} ({type(fn).__name__}); "
            "pass the function itself, without calling it"
        )
    kind = inspect.unwrap(fn)
    if inspect.iscoroutinefunction(kind) or inspect.isasyncgenfunction(kind):
        raise TypeError(f"fn must be a plain function, got the async function {kind.__name__}")
    if inspect.isgeneratorfunction(kind):
        raise TypeError(f"fn must be a plain function, got the generator function {kind.__name__}")
    try:
        signature = inspect.signature(fn)
    except ValueError:  # some built-in functions have no signature to look at
        return
    try:
        signature.bind(None, *args)
    except TypeError as error:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise TypeError(
            f"fn is called as {name}(comm, *args) with {len(args)} further argument(s), but its "
            f"signature is {name}{signature}: {error}"
        ) from None


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
