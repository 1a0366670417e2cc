"""The command line: ``python -m course_lib train``."""

import os
import shlex
import subprocess
import sys
from dataclasses import replace

from course_lib.cli.train_arguments import Arguments, read_arguments
from course_lib.comm.errors import RunError
from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.started import started_by
from course_lib.console.files import write
from course_lib.console.options import is_first_of_computer, is_first_program, joins
from course_lib.console.outputs import say, tell
from course_lib.costs.choice import choose_allreduce
from course_lib.train.auto import is_auto
from course_lib.train.catalogue import SCHEMES
from course_lib.train.checkpoint import read_index
from course_lib.train.errors import CheckpointError, ProblemError, ScoreError
from course_lib.train.live import shown
from course_lib.train.row import Row
from course_lib.train.table import EpochTable
from course_lib.train.worker import TrainingTask, past_edge_of, work

__all__ = ["main"]

_TOLD = CheckpointError | FloatingPointError | ProblemError | ScoreError


def main(words: list[str]) -> int:
    """Train as the words ask for and print a table, each line when its epoch is over.

    Parameters
    ----------
    words : list of str
        The command line after ``train``.

    Returns
    -------
    int
        The exit status: 0, or 1 if a worker failed, or 130 after Ctrl-C.
    """
    asked = read_arguments(words)
    try:
        return _train(asked, words)
    finally:
        if asked.claim is not None:
            asked.claim.release()


def _train(asked: Arguments, words: list[str]) -> int:
    is_first = is_first_program()
    if not is_first and not joins(asked.backend):  # of the launcher's programs, one is enough
        return 0
    task, kind = asked.task, asked.task.kind
    table = EpochTable(kind, task.plan.epochs, asked.backend == "simulated", asked.kept)
    if is_first:
        if told := past_edge_of(task, asked.workers):
            tell(f"warning: {told}")
        lines = [_title(asked), *_choice(asked), *_begun(asked), table.head]
        lines += map(table.line, asked.kept)
        for line in lines:
            say(line)

    def in_words(row: Row) -> str:
        return f"epoch {row.epoch}: {kind.score_name} {kind.score_in_words(row.score)}"

    try:
        with shown(in_words, table.line, is_first) as progress:
            result = run(
                work, replace(task, progress=progress), workers=asked.workers,
                backend=asked.backend, network=asked.network,
                trace=asked.trace is not None or asked.perfetto is not None,
                time_limit_s=asked.time_limit_s, seed=task.plan.seed,
            )  # fmt: skip
    except (KeyboardInterrupt, RunError) as error:  # told to every rank
        is_stopped = isinstance(error, KeyboardInterrupt)
        if is_first_of_computer():
            # These say what is wrong in a sentence; where in our code does not help.
            original = getattr(error, "original", None)
            is_told = isinstance(original, _TOLD)
            why = original if is_told else error
            tell("stopped" if is_stopped else str(why))
        if is_first:
            tell(_what_is_kept(task, words))
        return 130 if is_stopped else 1
    return _keep(asked, result) if is_first else 0


def _keep(asked: Arguments, result: Result) -> int:
    """Say what is kept and where; return the status: 1 if the trace is not where it should be."""
    if asked.task.keeping.folder is not None:
        told = f"checkpoint kept in {asked.task.keeping.folder}"
        if not SCHEMES[asked.task.scheme].settles:
            told += ": the server's state, without what was on its way to it"
        say(told)
    status, what, where = 0, "the trace", "trace written to"
    if asked.trace is not None:
        status |= write(what, where, asked.trace, result.trace.to_json().encode())
    if asked.perfetto is not None:
        status |= write(what, where, asked.perfetto, result.trace.to_perfetto_json().encode())
    return status


def _title(asked: Arguments) -> str:
    task = asked.task
    made_with = task.keeping.made_with
    options = "".join(f", {name} {value}" for name, value in task.options.items())
    where = f"backend {asked.backend}"
    if asked.network is not None:
        where = f"simulated network {asked.network.name}, virtual time"
    workers = "1 worker" if asked.workers == 1 else f"{asked.workers:,} workers"
    return (
        f"{task.scheme}{options}, {workers}, {where}\n{made_with.get('problem', task.model)} of "
        f"{made_with['parameters']:,} parameters on {made_with['data']}"
    )


def _choice(asked: Arguments) -> list[str]:
    """Say which all-reduce is taken for the whole model, and why, where it is left to us."""
    if not is_auto(asked.task.options):
        return []
    rates = asked.rates
    n_bytes = asked.task.keeping.made_with["parameters"] * asked.item_bytes
    choice = choose_allreduce(asked.workers, n_bytes, asked.item_bytes, *rates.numbers)
    return [f"allreduce auto: {choice} ({rates.source})"]


def _begun(asked: Arguments) -> list[str]:
    """Say where a training goes on that has been begun before."""
    if not asked.kept:
        return []
    last, epochs = asked.kept[-1].epoch, asked.task.plan.epochs
    if last == epochs:
        return [f"nothing is left to do: the checkpoint has all {epochs} epochs"]
    return [f"goes on after epoch {last} of {epochs}; those before are the checkpoint's"]


def _what_is_kept(task: TrainingTask, words: list[str]) -> str:
    """Say after which epoch one can go on, and how."""
    folder = task.keeping.folder
    if folder is None:
        return "nothing is kept; --checkpoint DIR keeps what has been trained"
    try:
        epoch = read_index(folder)["epoch"]
    except CheckpointError as error:
        return f"nothing is kept: {error}"
    how = "the same command and --resume"
    if started_by() is None:
        command = [sys.executable, "-m", "course_lib", "train", *words]
        command += [] if task.keeping.resume else ["--resume"]
        join = subprocess.list2cmdline if os.name == "nt" else shlex.join
        how = join(command)
    return f"{folder} holds epoch {epoch} of {task.plan.epochs}; go on with\n  {how}"
