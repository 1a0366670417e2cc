"""What ``python -m course_lib train`` is told: every word is read, or refused by name."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.cli.own_allreduce import try_allreduce
from course_lib.cli.train_model import MODEL, check_model, named, read_what, try_what
from course_lib.cli.train_options import check_servers, own_options
from course_lib.cli.train_plan import (
    add_plan,
    check_able,
    numbers_of,
    read_optimizer,
    read_plan,
    take_usual,
)
from course_lib.comm.rates import Rates, kept_rates
from course_lib.comm.simulated import networks
from course_lib.console.files import are_one_file, check_file
from course_lib.console.options import (
    NETWORKS,
    Parser,
    as_option,
    backend_named,
    check_run,
    is_first_program,
    joins,
    network_named,
    number,
    usual_workers,
    whole,
)
from course_lib.console.own_file import fix_names, is_own
from course_lib.train.auto import is_auto, kept
from course_lib.train.catalogue import FAMILIES, OPTIONS, SCHEMES
from course_lib.train.checkpoint import Checkpoint, is_of_checkpoint
from course_lib.train.claim import Claim
from course_lib.train.entries import Scheme
from course_lib.train.folder import open_folder
from course_lib.train.index import check_options
from course_lib.train.logbook import Keeping
from course_lib.train.problems import MODELS
from course_lib.train.row import Row
from course_lib.train.splitting import check_split
from course_lib.train.worker import TrainingTask, added_up

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network

__all__ = ["Arguments", "read_arguments"]

_EPILOG = """\
torchrun starts the ranks on this computer, or on several (the same line on each, on a network that
you trust):
  torchrun --standalone --nproc-per-node 4 -m course_lib train --scheme parameter_server
  torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint HOST:29500 \\
    -m course_lib train --scheme parameter_server
so does mpiexec, with mpi4py (docs/many_machines.md):
  mpiexec -n 4 python -m course_lib train --backend mpi --scheme parameter_server

a problem of your own is a function in a file that returns model, data and plan (docs/own_model.md).
The file is run as code, with all that you may do; a checkpoint keeps its name and never runs it:
  python -m course_lib train --problem my_file.py:problem --optimizer adamw --decay cosine
and so is an all-reduce of your own, f(comm, array) (docs/own_collective.md):
  python -m course_lib train --allreduce torus.py:allreduce_torus

a trace plays in a browser as a page, which two lines of Python make, and in a notebook as
player(trace):
  from course_lib import Trace; from course_lib.viz import export_page
  export_page(Trace.load("FILE.json"), "FILE.html")
"""


@dataclass(frozen=True)
class Arguments:
    """What is to be done.

    Attributes
    ----------
    task : TrainingTask
        What every rank does.
    workers, backend, network, time_limit_s
        What ``run`` takes.
    trace, perfetto : Path or None
        Where to write the trace, as it is and for other viewers.
    rates : Rates
        What messages cost, for an all-reduce that is left to us.
    item_bytes : int
        The bytes of one parameter, where an all-reduce is left to us; else 0.
    claim : Claim or None
        What keeps other trainings out of the folder for checkpoints; to be released at the end.
    kept : sequence of Row
        What the epochs came to that the checkpoint has, from which it goes on.
    """

    task: TrainingTask
    workers: int
    backend: str
    network: "Network | None"
    time_limit_s: float
    trace: Path | None
    perfetto: Path | None
    rates: Rates
    item_bytes: int
    claim: Claim | None = None
    kept: Sequence[Row] = ()


def read_arguments(words: list[str]) -> Arguments:
    """Read the command line; end this program with status 2 where something is wrong with it.

    Parameters
    ----------
    words : list of str
        The command line after ``train``.

    Returns
    -------
    Arguments
        Checked: nothing is started, and nothing but an empty folder for checkpoints is made, which
        no other training can have.
    """
    parser = _parser()
    chosen = parser.parse_args(words)
    try:
        return _check(chosen)
    except (OSError, TypeError, ValueError) as error:
        parser.error(str(error))


def _parser() -> Parser:
    parser = Parser(
        prog="python -m course_lib train",
        description="Train a model by a scheme of the course, on many workers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    families = (f"{family}: {', '.join(names)}" for family, names in FAMILIES.items())
    add("--scheme", default="data_parallel", metavar="NAME",
        help=f"data_parallel if left out. {'; '.join(families)}",
    )  # fmt: skip
    add("--workers", metavar="N",
        help="how many ranks, servers among them; 4 if left out, 1 for serial, under torchrun or "
        "mpiexec all",
    )  # fmt: skip
    add("--backend", metavar="NAME",
        help="processes, simulated, torch, or mpi under mpiexec; processes if left out, under "
        "torchrun torch, under mpiexec mpi",
    )  # fmt: skip
    add("--network", metavar="NAME",
        help=f"of the simulator: {', '.join(NETWORKS)}; {networks.DEFAULT.name} if left out",
    )  # fmt: skip
    add("--model", metavar="NAME",
        help=f"{', '.join(MODELS)}; {MODEL} if left out, or the first that the scheme can train",
    )  # fmt: skip
    add("--data", metavar="NAME", help="; ".join(
        f"{name}: {', '.join(kind.data)}" for name, kind in MODELS.items())
    )  # fmt: skip
    add("--problem", metavar="FILE.py:FUNCTION",
        help="train a model of your own: the file is code, and is run; its function returns a "
        "Problem of course_lib.train",
    )  # fmt: skip
    add_plan(parser)
    own = parser.add_argument_group("what only some schemes take")
    for name, option in OPTIONS.items():
        takers = [
            f"{scheme}: {one.usual[name]}" if name in one.usual else scheme
            for scheme, one in SCHEMES.items()
            if name in one.options
        ]
        usual = "" if option.usual is None else f"; {option.usual}"
        told = f"{option.help}{usual} if left out ({', '.join(takers)})"
        own.add_argument(as_option(name), metavar="X", help=told)
    kept = parser.add_argument_group("what is kept")
    add = kept.add_argument
    add("--checkpoint", metavar="DIR",
        help="keep checkpoints in this folder; where nobody waits for all, of the server's state",
    )  # fmt: skip
    add("--checkpoint-every", metavar="N", help="epochs between two of them; 1 if left out")
    add("--resume", action="store_true", help="go on from the checkpoint in the folder")
    add("--trace", type=Path, metavar="FILE.json",
        help="write every message and computation; a file of that name is overwritten",
    )  # fmt: skip
    add("--perfetto", type=Path, metavar="FILE.json",
        help="write the same for ui.perfetto.dev or chrome://tracing",
    )  # fmt: skip
    parser.add_argument("--time-limit", default="3600", metavar="S",
                        help="wall seconds after which it is ended; 3600 if left out")  # fmt: skip
    return parser


def _check(chosen: argparse.Namespace) -> Arguments:
    """Turn words into what they mean, or raise a sentence."""
    scheme = named("--scheme", SCHEMES, chosen.scheme)
    check_model(chosen, scheme)
    backend = backend_named(chosen.backend)
    workers, time_limit_s = _size_and_limit(chosen, scheme, backend)
    network = network_named(chosen.network, backend)
    files = _files(chosen)
    options, own = own_options(chosen)
    check_servers(options.get("servers", scheme.servers), workers, options.get("backups", 0))

    what = read_what(chosen)
    usual = take_usual(chosen, scheme, what.kind.usual)
    plan = read_plan(chosen, usual, what.examples.y_train.shape[0])
    check_able(chosen.scheme, plan, options)
    optimizer = read_optimizer(chosen, what.optimizer)
    # Made here first: the fork server then loads once what all workers need.
    model = what.kind.make(what.examples)
    if scheme.fits is not None:
        options = scheme.fits(model, workers, **options)
    if own is not None and is_first_program():
        sizes, dtype = added_up(chosen.scheme, model), model.initial().dtype
        try_allreduce(own, sizes, dtype, workers, time_limit_s)
    names = {"scheme": chosen.scheme, "workers": workers, **options, **what.names}
    made_with = names | numbers_of(plan, optimizer)
    n_examples = what.examples.y_train.shape[0]
    check_split(chosen.scheme, chosen.model, model, workers, plan, options, n_examples)
    try_what(chosen, what, model, scheme, plan.seed)
    made_with["parameters"] = model.n_parameters  # perhaps more than fit into one process
    shipped = what.names["data"] if backend == "simulated" else what.examples
    keeping = _keeping(chosen, made_with, backend == "simulated")
    claim, checkpoint = open_folder(keeping, plan.epochs)
    if claim is not None:
        keeping = replace(keeping, token=claim.token)
    ways = chosen.scheme, what.model, shipped, plan, options, keeping
    task = TrainingTask(*ways, optimizer=optimizer, allreduce=own, each_has_its_own=joins(backend))
    rates = _rates(checkpoint, backend, network or networks.DEFAULT)
    rows = () if checkpoint is None else checkpoint.rows
    item_bytes = model.initial().itemsize if is_auto(options) else 0
    return Arguments(
        task, workers, backend, network, time_limit_s, *files, rates, item_bytes, claim, rows
    )  # fmt: skip


def _files(chosen: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Return where the trace is to be written, or refuse what cannot be; before a file is run."""
    check_file("--trace", chosen.trace, ".json")
    check_file("--perfetto", chosen.perfetto, ".json")
    if chosen.trace and chosen.perfetto and are_one_file(chosen.trace, chosen.perfetto):
        raise ValueError(
            f"--trace {chosen.trace} and --perfetto {chosen.perfetto} are one file: name two"
        )
    if chosen.problem is not None or is_own(chosen.allreduce or ""):
        fix_names(chosen, "checkpoint", "trace", "perfetto")
    return chosen.trace, chosen.perfetto


def _size_and_limit(chosen: argparse.Namespace, scheme: Scheme, backend: str) -> tuple[int, float]:
    """Read how many workers there are, and how long they may take."""
    usual = usual_workers(backend, scheme.most_workers)
    workers = whole("--workers", usual if chosen.workers is None else chosen.workers)
    time_limit_s = number("--time-limit", chosen.time_limit)
    if time_limit_s <= 0:
        raise ValueError(f"--time-limit takes seconds above 0, got {time_limit_s:g}")
    check_run(workers, backend, time_limit_s)
    if scheme.most_workers is not None and workers > scheme.most_workers:
        raise ValueError(
            f"--scheme {chosen.scheme} takes --workers {scheme.most_workers} at most, got {workers}"
        )
    return workers, time_limit_s


def _rates(checkpoint: Checkpoint | None, backend: str, network: "Network") -> Rates:
    """Say what messages will cost, as far as this program knows before the run."""
    rates = network.rates if backend == "simulated" else kept_rates(backend)
    return rates if checkpoint is None else kept(checkpoint.made_with, rates)


def _keeping(chosen: argparse.Namespace, made_with: dict[str, Any], is_virtual: bool) -> Keeping:
    """Read the options of checkpoints."""
    for name in ("checkpoint_every", "resume"):
        if getattr(chosen, name) and chosen.checkpoint is None:
            raise ValueError(f"{as_option(name)} needs --checkpoint DIR")
    if chosen.checkpoint is not None and not chosen.checkpoint.strip():
        raise ValueError(
            f"--checkpoint takes the name of a folder, got {chosen.checkpoint!r}: "
            "is a variable of the shell not set? The current folder is --checkpoint ."
        )
    every = whole("--checkpoint-every", chosen.checkpoint_every or "1")
    folder = None if chosen.checkpoint is None else Path(chosen.checkpoint)
    for name, file in (("--trace", chosen.trace), ("--perfetto", chosen.perfetto)):
        if folder and file and is_of_checkpoint(file, folder):
            raise ValueError(
                f"{name} {file} would overwrite a file that --checkpoint {folder} keeps: "
                "give the trace another name"
            )
    if folder:
        check_options(made_with)
    return Keeping(folder, every, chosen.resume, made_with, is_virtual=is_virtual)
