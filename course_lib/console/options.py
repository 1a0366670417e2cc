"""Options that several commands take: each word is read once, and refused by name."""

import argparse
import math
import time
from typing import TYPE_CHECKING, NoReturn

from course_lib.comm.communicator import Communicator
from course_lib.comm.job import MOST_WORKERS, check_job
from course_lib.comm.mpi_backend.start import mpi_size, why_no_mpi
from course_lib.comm.simulated import networks
from course_lib.comm.started import started_by

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = [
    "NETWORKS",
    "Parser",
    "as_option",
    "backend_named",
    "check_run",
    "is_first_of_computer",
    "is_first_program",
    "joins",
    "network_named",
    "number",
    "usual_workers",
    "whole",
]

NETWORKS = {
    name: network
    for name, network in vars(networks).items()
    if isinstance(network, networks.Network) and name != "DEFAULT"
}
"""The simulator's networks by name."""

_OWN_WORKERS = ("processes", "torch")
_HOW_MPI = "put mpiexec -n 4 before the same command"
_FIRST_SPEAKS_S = 5.0
_MOST_DIGITS = 100
_MOST, _FEW_DIGITS = 2**63 - 1, 18  # a number of so few digits is always below


def is_first_program() -> bool:
    """Say whether this program shall print: of those that a launcher has started, one does."""
    try:
        here = started_by()
    except ValueError:  # what is wrong with the environment has to be told by somebody
        return True
    return here is None or here.rank == 0


def is_first_of_computer() -> bool:
    """Say whether this program shall tell of a failure: one of each computer does."""
    here = started_by()
    return here is None or here.place == 0


def joins(backend: str) -> bool:
    """Say whether the ranks of this backend are programs that a launcher has started.

    Parameters
    ----------
    backend : str
        What ``run`` takes.

    Returns
    -------
    bool
        If not, of several programs one is enough: each would do the same.
    """
    here = started_by()
    return backend == "mpi" or (here is not None and backend == here.backend)


def as_option(name: str) -> str:
    """Return how an option of that name is written: ``--batch-size`` for ``batch_size``."""
    return f"--{name.replace('_', '-')}"


class Parser(argparse.ArgumentParser):
    """A parser that says in a sentence what is wrong; the options themselves are in ``--help``."""

    def error(self, message: str) -> NoReturn:
        """End this program with status 2; of those that a launcher has started, one says why."""
        if is_first_program():
            self.exit(2, f"{self.prog}: error: {message}\n")
        time.sleep(_FIRST_SPEAKS_S)  # the launcher ends all as soon as one ends
        self.exit(2)


def backend_named(name: str | None) -> str:
    """Return the backend; where none is named, the one that the ranks are already there for.

    Parameters
    ----------
    name : str or None
        What ``--backend`` was given.

    Returns
    -------
    str
        What was given; for None ``"torch"`` under torchrun, ``"mpi"`` under mpiexec, else
        ``"processes"``.

    Raises
    ------
    ValueError
        If each of the launcher's programs would start processes, and train or measure on its own;
        or if there is no MPI to join.
    """
    here = started_by()
    if here is not None and name in _OWN_WORKERS and name != here.backend:
        raise ValueError(
            f"--backend {name} starts its own workers, and {here.launcher} has started "
            f"{here.size} ranks already: leave --backend out, then they are the workers"
        )
    backend = name or ("processes" if here is None else here.backend)
    if backend == "mpi" and (told := why_no_mpi("--backend mpi", _HOW_MPI)):
        raise ValueError(told)
    return backend


def usual_workers(backend: str, most: int | None = None) -> str:
    """Return how many ranks there are where nobody says: all that have been started, or 4.

    Parameters
    ----------
    backend : str
        What ``run`` takes.
    most : int or None, default: None
        How many there can be, where it is known.

    Returns
    -------
    str
        As ``--workers`` would be given.
    """
    here = started_by()
    if here is not None and backend == here.backend:
        return str(here.size)
    if backend == "mpi":
        return str(mpi_size())
    return str(4 if most is None else min(4, most))


def whole(option: str, text: str, least: int = 1, most: int | None = None) -> int:
    """Read a whole number.

    Parameters
    ----------
    option : str
        How the option is called, for the error.
    text : str
        What was given.
    least : int, default: 1
        The smallest number allowed.
    most : int or None, default: None
        The largest; None goes as far as a checkpoint can hold it, below 2**63.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ValueError
        Naming the option, what was expected and what was given.
    """
    if most is None and len(text) > _FEW_DIGITS:
        most = _MOST
    allowed = f"of {least} or more" if most is None else f"from {least} to {most:,}"
    # Python reads no number of more than some thousand digits, and nobody needs one.
    value = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else -1
    if value < least or (most is not None and value > most):
        raise ValueError(f"{option} takes whole numbers {allowed}, got {_shortened(text)!r}")
    return value


def number(option: str, text: str) -> float:
    """Read a finite number.

    Parameters
    ----------
    option : str
        How the option is called, for the error.
    text : str
        What was given.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        Naming the option, what was expected and what was given.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{option} takes a number, got {_shortened(text)!r}")
    return value


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_DIGITS else f"{text[:_MOST_DIGITS]}..."


def network_named(name: str | None, backend: str) -> "Network | None":
    """Return the simulator's network of that name; the usual one for None; None in real worlds.

    Parameters
    ----------
    name : str or None
        What ``--network`` was given.
    backend : str
        What ``run`` takes.

    Returns
    -------
    Network or None
        What ``run`` takes.

    Raises
    ------
    ValueError
        If there is no such network, or the backend is a real one.
    """
    if name is None:
        return networks.DEFAULT if backend == "simulated" else None
    if backend != "simulated":
        raise ValueError(
            f"--network is for --backend simulated; with {backend}, messages take what they take"
        )
    if name not in NETWORKS:
        raise ValueError(f"--network knows {', '.join(NETWORKS)}; not {name!r}")
    return NETWORKS[name]


def check_run(workers: int, backend: str, time_limit_s: float) -> None:
    """Refuse what ``run`` would refuse: what backends there are, and how many workers they take.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.
    """
    most = MOST_WORKERS.get(backend)
    if most is not None and workers > most and not joins(backend):
        raise ValueError(_too_many(workers, backend, most))
    check_job(
        _stand_in, (), workers=workers, backend=backend, rendezvous=False, trace=False,
        time_limit_s=time_limit_s, seed=0,
    )  # fmt: skip


def _too_many(workers: int, backend: str, most: int) -> str:
    """Say how many workers there can be, in words of the command line."""
    told = f"--workers goes from 1 to {most:,} with --backend {backend}, got {workers:,}"
    if backend == "simulated":
        return told
    simulated = MOST_WORKERS["simulated"]
    return f"{told}: each one is a process; --backend simulated goes to {simulated:,}"


def _stand_in(comm: Communicator) -> None:
    """Stand for the worker's function while the other arguments of ``run`` are checked."""
