"""What ``python -m course_lib bench`` is told: every word is read, or refused by name."""

import argparse
from pathlib import Path

import psutil

from course_lib.cli.own_allreduce import OwnAllreduce, load_allreduce
from course_lib.cli.sizes import read_size
from course_lib.collectives import ALLREDUCES
from course_lib.comm.simulated import networks
from course_lib.console.files import are_one_file, check_file
from course_lib.console.options import (
    NETWORKS,
    Parser,
    backend_named,
    check_run,
    network_named,
    usual_workers,
    whole,
)
from course_lib.console.own_file import fix_names
from course_lib.measure.allreduce import ITEM_BYTES, TIME_LIMIT_S, batch_bytes
from course_lib.words.units import in_bytes

__all__ = ["read_options"]

_USUAL_REPEATS = 5
_MOST_REPEATS = 1_000_000


def read_options(words: list[str]) -> argparse.Namespace:
    """Read the words; what is wrong is told before anything is started, with what is allowed.

    Parameters
    ----------
    words : list of str
        The command line after ``bench``.

    Returns
    -------
    argparse.Namespace
        What is to be measured; in ``own`` all-reduces that are not the library's, by name.
    """
    parser = _parser()
    chosen = parser.parse_args(words)
    try:
        _check(chosen)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    return chosen


def _parser() -> Parser:
    parser = Parser(
        prog="python -m course_lib bench",
        description="Time all-reduces; every sum is checked. On the simulator, time is virtual.",
    )
    parser.add_argument(
        "what", metavar="allreduce", nargs="?",
        help="what to measure; may be left out with --allreduce",
    )  # fmt: skip
    parser.add_argument(
        "--allreduce", action="append", default=[], metavar="FILE.py:FUNCTION",
        help="one of your own beside the others, f(comm, array); the file is code, and is run. Or "
        "MODULE:FUNCTION; may be given more than once",
    )  # fmt: skip
    parser.add_argument(
        "--algorithms", default=",".join(ALLREDUCES), metavar="NAMES",
        help=f"some, with commas, of {', '.join(ALLREDUCES)}; all of them if left out",
    )  # fmt: skip
    parser.add_argument(
        "--sizes",
        default="1KB,64KB,1MB",
        help="bytes of each rank's array; KB and MB are powers of 1000, KiB and MiB of 1024",
    )
    parser.add_argument(
        "--workers",
        help="how many ranks, such as 2,4; 4 if left out, under torchrun or mpiexec all",
    )
    parser.add_argument(
        "--backend", metavar="NAME",
        help="processes, simulated, torch, or mpi under mpiexec; processes if left out, under "
        "torchrun torch, under mpiexec mpi",
    )  # fmt: skip
    parser.add_argument(
        "--network", metavar="NAME",
        help=f"of the simulator: {', '.join(NETWORKS)}; {networks.DEFAULT.name} if left out",
    )  # fmt: skip
    parser.add_argument("--repeats", metavar="N",
        help=f"how often each is measured: {_USUAL_REPEATS} if left out, once on the simulator",
    )  # fmt: skip
    _add_kept(parser)
    return parser


def _add_kept(parser: Parser) -> None:
    """Add what stays when it is over."""
    parser.add_argument(
        "--keep", action="store_true",
        help="measure messages, and have allreduce and train --allreduce auto choose by them",
    )  # fmt: skip
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw time by size")
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="write all repeats")


def _check(chosen: argparse.Namespace) -> None:
    """Turn words into what they mean, or raise a sentence."""
    if chosen.what is None and not chosen.allreduce:
        raise ValueError("the following arguments are required: allreduce")
    if chosen.what not in ("allreduce", None):
        raise ValueError(f"bench measures allreduce, not {chosen.what!r}")
    chosen.algorithms = chosen.algorithms.split(",")
    if unknown := [name for name in chosen.algorithms if name not in ALLREDUCES]:
        raise ValueError(f"--algorithms knows {', '.join(ALLREDUCES)}; not {unknown[0]!r}")
    chosen.sizes = [read_size(text, ITEM_BYTES) for text in chosen.sizes.split(",")]
    chosen.backend = backend_named(chosen.backend)
    most = 1 if chosen.backend == "simulated" else _MOST_REPEATS
    chosen.repeats = whole("--repeats", chosen.repeats or str(min(_USUAL_REPEATS, most)), 1, most)
    words = usual_workers(chosen.backend) if chosen.workers is None else chosen.workers
    chosen.workers = [whole("--workers", text) for text in words.split(",")]
    for workers in chosen.workers:
        check_run(workers, chosen.backend, TIME_LIMIT_S)
    chosen.network = network_named(chosen.network, chosen.backend)
    if chosen.keep and (chosen.backend == "simulated" or max(chosen.workers) < 2):
        raise ValueError("--keep is for real processes that send messages, so for 2 or more")
    check_file("--plot", chosen.plot, ".png")
    check_file("--json", chosen.json, ".json")
    if chosen.plot and chosen.json and are_one_file(chosen.plot, chosen.json):
        raise ValueError(f"--plot {chosen.plot} and --json {chosen.json} are one file: name two")
    if chosen.allreduce:
        fix_names(chosen, "plot", "json")
    chosen.own = _own(chosen.allreduce)
    _check_memory(max(chosen.sizes), max(chosen.workers), chosen.backend == "simulated")


def _own(texts: list[str]) -> dict[str, OwnAllreduce]:
    """Load all-reduces that are not the library's, by the names that the table shows."""
    found: dict[str, OwnAllreduce] = {}
    for text in texts:
        own = load_allreduce(text)
        if own.__name__ in (*ALLREDUCES, *found):
            raise ValueError(f"--allreduce {text}: there is {own.__name__!r} already, rename yours")
        found[own.__name__] = own
    return found


def _check_memory(n_bytes: int, workers: int, is_virtual: bool) -> None:
    needed = batch_bytes(n_bytes, is_virtual) * workers
    free = psutil.virtual_memory().available
    if needed > free:
        raise ValueError(
            f"{workers} workers with {in_bytes(n_bytes)} each need about {in_bytes(needed)} of "
            f"memory, and {in_bytes(free)} are free: take smaller --sizes or fewer --workers"
        )
