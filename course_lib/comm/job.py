"""A call of ``run``, checked: every argument is refused by name before anything is started."""

import reprlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.functions import check_function
from course_lib.comm.memory import worker_bytes
from course_lib.comm.rates import USUAL, kept_rates
from course_lib.comm.settings import Settings
from course_lib.comm.started import torchrun_size
from course_lib.words.real import finite
from course_lib.words.units import in_bytes
from course_lib.words.whole import whole

__all__ = [
    "MOST_RESTARTS",
    "MOST_WORKERS",
    "USUAL_METHOD",
    "USUAL_WORKERS",
    "Job",
    "check_job",
]

USUAL_METHOD = "forkserver" if sys.platform.startswith("linux") else "spawn"
"""How processes are started where nobody says otherwise."""


class _Usual(int):
    """A number that nobody has written: it may stand for another."""


USUAL_WORKERS = _Usual(4)
"""How many ranks there are where nobody says how many; under torchrun, all that it has started."""

_START_METHODS = (None, "forkserver", "spawn")
_BACKENDS = ("processes", "simulated", "torch", "mpi")
_WITHOUT_LOSSES = {"torch": "torch.distributed", "mpi": "MPI"}
_MOST_PROCESSES = 61 if sys.platform == "win32" else 64
MOST_RESTARTS = 100
"""How often a rank may be started again."""

MOST_WORKERS = {"processes": _MOST_PROCESSES, "simulated": 10_000, "torch": _MOST_PROCESSES}


@dataclass(frozen=True)
class Job:
    """A checked call of ``run``, as a world receives it.

    Attributes
    ----------
    fn, args : callable and tuple
        What every rank calls, after its communicator.
    workers : int
        How many ranks.
    settings : Settings
        What they go by.
    time_limit_s : float
        Wall seconds after which the run is ended.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    workers: int
    settings: Settings
    time_limit_s: float


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
    max_workers: Any = None,
    start_method: Any = None,
    network: Any = None,
    faults: Any = None,
    max_events: Any = None,
    survive: Any = False,
    restart: Any = 0,
) -> Job:
    """Check the arguments of ``run``, which describes them.

    What only the simulator knows (``network``, ``faults``, ``max_events``) it checks itself; here
    they are refused in other worlds.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.
    """
    if backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {_BACKENDS}, got {backend!r}")
    if backend == "mpi" and start_method is not None:
        raise ValueError('start_method is only for backend="processes" and "torch"')
    check_function(fn, args)
    job = Job(
        fn=fn,
        args=args,
        workers=_check_workers(workers, backend, max_workers),
        settings=Settings(
            eager_bytes=0 if _check_flag("rendezvous", rendezvous) else EAGER_BYTES,
            seed=whole("seed", seed, least=0),
            trace=_check_flag("trace", trace),
            rates=USUAL["processes"] if backend == "simulated" else kept_rates(backend),
            survive=_check_survive(survive, backend),
            restart=_check_restart(restart, survive),
        ),
        time_limit_s=_check_limit(time_limit_s),
    )
    _check_for_world(backend, start_method, network, faults, max_events)
    return job


def _check_for_world(
    backend: str, start_method: Any, network: Any, faults: Any, max_events: Any
) -> None:
    """Refuse what is for another world."""
    if start_method not in _START_METHODS:
        raise ValueError(f"start_method must be one of {_START_METHODS}, got {start_method!r}")
    if backend == "simulated":
        if start_method is not None:
            raise ValueError('start_method is only for backend="processes" and "torch"')
        return
    if network is not None:
        raise ValueError(
            'network is only for backend="simulated"; real processes are what they are'
        )
    if faults is not None:
        raise ValueError(
            'faults is only for backend="simulated"; real processes fail by themselves'
        )
    if max_events is not None:
        raise ValueError('max_events is only for backend="simulated"')


def _check_workers(workers: Any, backend: str, max_workers: Any) -> int:
    if backend == "torch" and (size := torchrun_size()) is not None:
        if workers is not USUAL_WORKERS and workers != size:
            raise ValueError(
                f"torchrun has started {size} ranks, got workers={workers!r}: leave it out, then "
                "the same text runs with any number of them"
            )
        return size
    if backend == "mpi":
        return _check_mpi_workers(workers, max_workers)
    most = MOST_WORKERS[backend]
    if max_workers is not None:
        most = _check_most(max_workers, backend)
    try:
        return whole("workers", workers, 1, most)
    except ValueError as problem:
        if workers < 1 or backend == "simulated":
            raise
        memory = in_bytes(workers * worker_bytes(USUAL_METHOD))
        allowed = (
            "" if sys.platform == "win32" else f"max_workers={workers} allows it all the same, "
        )
        raise ValueError(
            f"{problem}: each one is a process, together they would take about {memory} of memory "
            f'before they have any data; {allowed}backend="simulated" goes to 10,000'
        ) from None


def _check_mpi_workers(workers: Any, max_workers: Any) -> int:
    from course_lib.comm.mpi_backend.start import mpi_size

    if max_workers is not None:
        raise ValueError('max_workers is only for backend="processes" and "torch"')
    size = mpi_size()
    if workers is not USUAL_WORKERS and workers != size:
        raise ValueError(
            f"mpiexec has started {size} ranks, got workers={workers!r}: leave it out, then "
            "the same text runs with any number of them"
        )
    return size


def _check_most(max_workers: Any, backend: str) -> int:
    if backend == "simulated":
        raise ValueError('max_workers is only for backend="processes" and "torch"')
    if sys.platform == "win32":
        raise ValueError("max_workers cannot be raised on Windows: a program waits for 63 things")
    return whole("max_workers", max_workers, least=1)


def _check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")
    return value


def _check_survive(survive: Any, backend: str) -> bool:
    if _check_flag("survive", survive) and backend in _WITHOUT_LOSSES:
        raise ValueError(
            'survive=True is only for backend="processes" and "simulated": a group of '
            f"{_WITHOUT_LOSSES[backend]} cannot go on without one of its ranks"
        )
    return bool(survive)


def _check_restart(restart: Any, survive: bool) -> int:
    n_times = whole("restart", restart, 0, MOST_RESTARTS)
    if n_times and not survive:
        raise ValueError(
            f"restart={n_times} needs survive=True: else the loss of a rank ends the run"
        )
    return n_times


def _check_limit(limit_s: Any) -> float:
    is_number = isinstance(limit_s, Real) and not isinstance(limit_s, bool)
    if not is_number:
        raise TypeError(
            f"time_limit_s must be a number of seconds, got {limit_s!r} "
            f"({type(limit_s).__name__}); there is always a limit"
        )
    if not (limit_s > 0 and finite(limit_s)):
        raise ValueError(f"time_limit_s must be above 0 and finite, got {reprlib.repr(limit_s)}")
    return float(limit_s)
