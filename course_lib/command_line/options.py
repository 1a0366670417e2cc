"""Options that several commands take: each word is read once, and refused by name."""

import argparse
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from course_lib.comm.communicator import Communicator
from course_lib.comm.job import check_job
from course_lib.comm.simulated import networks

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = [
    "NETWORKS",
    "check_file",
    "check_run",
    "is_first_program",
    "network_named",
    "number",
    "refuse",
    "usual_workers",
    "whole",
]

NETWORKS = {
    name: network
    for name, network in vars(networks).items()
    if isinstance(network, networks.Network) and name != "DEFAULT"
}
"""The simulator's networks by name."""


def is_first_program() -> bool:
    """Say whether this program shall print: of those that torchrun has started, one does."""
    return os.environ.get("RANK", "0") == "0"


def usual_workers(backend: str) -> str:
    """Return how many ranks there are where nobody says: all that torchrun has started, or 4."""
    return os.environ.get("WORLD_SIZE", "4") if backend == "torch" else "4"


def refuse(parser: argparse.ArgumentParser, error: Exception) -> NoReturn:
    """End this program with status 2 because an option is wrong; the first program says why."""
    if is_first_program():
        parser.error(str(error))
    sys.exit(2)


def whole(option: str, text: str, least: int = 1) -> int:
    """Read a whole number.

    Parameters
    ----------
    option : str
        How the option is called, for the error.
    text : str
        What was given.
    least : int, default: 1
        The smallest number allowed.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ValueError
        Naming the option, what was expected and what was given.
    """
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{option} takes whole numbers of {least} or more, got {text!r}")
    return int(text)


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
        raise ValueError(f"{option} takes a number, got {text!r}")
    return value


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


def check_file(option: str, file: Path | None, ending: str) -> None:
    """Refuse a file that could not be written when all is done.

    Parameters
    ----------
    option : str
        How the option is called, for the error.
    file : Path or None
        The file, if one was named.
    ending : str
        How its name has to end, such as ``".json"``.

    Raises
    ------
    ValueError
        If its name ends otherwise, or there is no such folder.
    """
    if file is None:
        return
    if file.suffix.lower() != ending:
        raise ValueError(f"{option} must be a file that ends in {ending}, got {file}")
    if not file.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {file.absolute().parent} to put {file.name} in")


def check_run(workers: int, backend: str, time_limit_s: float) -> None:
    """Refuse what ``run`` would refuse: what backends there are, and how many workers they take.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, what was expected and what was given.
    """
    check_job(
        _stand_in, (), workers=workers, backend=backend, rendezvous=False, trace=False,
        time_limit_s=time_limit_s, seed=0,
    )  # fmt: skip


def _stand_in(comm: Communicator) -> None:
    """Stand for the worker's function while the other arguments of ``run`` are checked."""
