"""One case of an examination: the learner's function on simulated workers, and what was seen.

The function arrives as bytes and is loaded afresh by every simulated rank. Nothing is judged here:
plain copies of what was returned go back to the notebook, and the verdict is made there.
"""

import contextlib
import os
import re
import time
import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from course_lib.checks.arguments import copy_of, overlap, same
from course_lib.checks.originals import Originals
from course_lib.checks.paper import Paper
from course_lib.checks.plain import Unusable, plain
from course_lib.checks.starved import is_idle, starved_s
from course_lib.checks.steps import Weights, weigh
from course_lib.checks.task import Case, Task
from course_lib.checks.verbs import only
from course_lib.comm.communicator import EAGER_BYTES, Communicator
from course_lib.comm.errors import DeadlockError, RunError, WorkerError
from course_lib.comm.job import Job
from course_lib.comm.settings import Settings
from course_lib.comm.shipping import load_call
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace.trace import Trace
from course_lib.watch.listener import listen

__all__ = ["CASE_LIMIT_S", "Mishap", "Observation", "mishap_of", "observe"]

CASE_LIMIT_S = 3.0
"""How long one case may take, in wall seconds; a solution takes some milliseconds."""

_MOST_EVENTS = 20_000  # a solution makes a thousand at most, and all of them are drawn
_LATEST_START_S = 1e-3


@dataclass(frozen=True)
class Mishap:
    """Why a run gave no results.

    Attributes
    ----------
    kind : str
        The library's error.
    text : str
        What it says.
    original : str
        The exception of the learner's code; empty where there was none.
    rank : int or None
        Whose it is.
    idle : bool
        Whether nearly all of the time had passed in sleeping or waiting.
    graph, cycles : list
        Who waited for whom, and in which circles, as ``DeadlockError`` has it.
    """

    kind: str
    text: str
    original: str = ""
    rank: int | None = None
    idle: bool = False
    graph: list[tuple[int, int, str, str]] = field(default_factory=list)
    cycles: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class Observation:
    """What one case showed.

    Attributes
    ----------
    values : list of list
        ``values[call][rank]``: plain copies of what was returned; empty after a mishap.
    changed, shared : list of tuple
        ``(rank, call, position)`` of arguments that were modified, or that share memory with the
        result.
    trace : Trace or None
        What was sent.
    weights : dict
        What was in it, as far as a number or two tell, by communicator, sender and receiver.
    elapsed_s : float
        How long it took, in virtual seconds.
    printed : str
        What the function printed, all ranks in the order they ran; of much, beginning and end.
    mishap : Mishap or None
        What went wrong.
    replaced : tuple of str
        Functions and the like, not its own, in whose place the function had put others.
    wall_s : float
        How long it took in truth, without the time in which other programs had the processor.
    starved_s : float
        That time, as far as the system tells.
    idle : bool
        Whether nearly all of ``wall_s`` was sleeping or waiting.
    """

    values: list[list[Any]] = field(default_factory=list)
    changed: list[tuple[int, int, int]] = field(default_factory=list)
    shared: list[tuple[int, int, int]] = field(default_factory=list)
    trace: Trace | None = None
    weights: Weights = field(default_factory=dict)
    elapsed_s: float = 0.0
    printed: str = ""
    mishap: Mishap | None = None
    replaced: tuple[str, ...] = ()
    wall_s: float = 0.0
    starved_s: float = 0.0
    idle: bool = False


def observe(
    packed: bytes, task: Task, case: Case, originals: Originals | None = None,
    limit_s: float = CASE_LIMIT_S, thorough: bool = True,
) -> Observation:  # fmt: skip
    """Run the learner's function over one case.

    Parameters
    ----------
    packed : bytes
        The learner's function, as ``pack_call`` made it.
    task : Task
        Makes the arguments of every rank.
    case : Case
        What to run.
    originals : Originals or None, default: None
        What to put back after every call; None leaves all as the function left it.
    limit_s : float, default: 3.0
        How long it may take.
    thorough : bool, default: True
        Whether to look through all modules for what was replaced, also where nothing went wrong.

    Returns
    -------
    Observation
        What was seen.
    """
    began_s, worked_s, began_starved_s = time.perf_counter(), time.process_time(), starved_s()
    try:
        seen, failure = _observe(packed, task, case, originals, limit_s), None
    except Exception as error:  # not the function's own, which is a RunError
        seen, failure = Observation(), error
    replaced: tuple[str, ...] = ()
    if originals is not None:
        failed = failure is not None or seen.mishap is not None
        replaced = originals.after_case(thorough=thorough or failed)
    if failure is not None:
        if not replaced:
            raise failure
        text = f"the function replaced {', '.join(replaced)}, without which a run fails"
        seen = Observation(mishap=Mishap("ReplacedNames", text))
    starved = starved_s() - began_starved_s
    wall_s = max(0.0, time.perf_counter() - began_s - starved)
    idle = is_idle(wall_s, time.process_time() - worked_s)
    if seen.mishap is not None:
        seen = replace(seen, mishap=replace(seen.mishap, idle=idle))
    return replace(seen, replaced=replaced, wall_s=wall_s, starved_s=starved, idle=idle)


def _observe(
    packed: bytes, task: Task, case: Case, originals: Originals | None, limit_s: float
) -> Observation:
    from course_lib.comm.simulated import launcher

    weights: Weights = {}
    room[:] = [(packed, task, case, originals, os.getpid(), weights)]
    eager_bytes = 0 if case.rendezvous else EAGER_BYTES
    settings = Settings(eager_bytes, seed=case.seed % 2**32, trace=True)
    job = Job(fn=attempt, args=(), workers=case.workers, settings=settings, time_limit_s=limit_s)
    paper = Paper()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(paper),
            contextlib.redirect_stderr(paper),
        ):
            warnings.simplefilter("ignore")  # messages nobody received: judged from the trace
            result = launcher.launch(job, case.network, case.faults, max_events=_MOST_EVENTS)
    except RunError as error:
        if originals is not None:
            originals.after_call()
        mishap = mishap_of(error)
        return Observation(mishap=mishap, trace=error.trace, weights=weights, printed=paper.text)
    ranks = range(case.workers)
    return Observation(
        values=[[result.values[rank][0][call] for rank in ranks] for call in range(case.calls)],
        changed=[(rank, *place) for rank in ranks for place in result.values[rank][1]],
        shared=[(rank, *place) for rank in ranks for place in result.values[rank][2]],
        trace=result.trace,
        weights=weights,
        elapsed_s=result.elapsed_s,
        printed=paper.text,
    )


def mishap_of(error: RunError) -> Mishap:
    """Write down a failed run, without the frames that only called the learner's function."""
    original = "" if error.original is None else type(error.original).__name__
    text = _told_once(str(error.args[0])) if isinstance(error, WorkerError) else str(error)
    text = _OUR_FRAMES.sub("", text)
    waiting = (error.graph, error.cycles) if isinstance(error, DeadlockError) else ([], [])
    return Mishap(type(error).__name__, text, original, error.rank, False, *waiting)


def _told_once(text: str) -> str:
    """Leave out the end of a traceback where it repeats what the first line says."""
    head, title, frames = text.partition(" (most recent call last):\n")
    found = re.match(r"rank \d+ failed at .*?: (.*)\n\nTraceback of rank \d+$", head, re.DOTALL)
    return head + title + frames.replace("\n" + found[1], "", 1) if found else text


_OUR_FRAMES = re.compile(
    r"^  \S+\.py, line \d+, in (?:attempt|call)\n"
    r"    (?:value = task\.call\(|return fn\(|fn, _ = load_call\().*\n",
    re.MULTILINE,
)


room: list[tuple[bytes, Task, Case, Originals | None, int, Weights]] = []
"""The case on the table, the number of the process, and what is sent there. Ranks read it here, so
that only the learner's function is shipped."""


def attempt(comm: Communicator) -> tuple[list[Any], list[Any], list[Any]]:
    """Call the learner's function on one simulated rank, and watch its arguments."""
    packed, task, case, originals, process, weights = room[0]
    listen(comm, partial(weigh, weights, comm.rank))
    fn, _ = load_call(packed, comm.rank)
    values: list[Any] = []
    changed: list[tuple[int, int]] = []
    shared: list[tuple[int, int]] = []
    for call in range(case.calls):
        given = task.arguments(case, comm.rank, call)
        before = [copy_of(argument) for argument in given]
        if case.stagger:
            _start_late(comm, case, call)
        _leave_unless_in(process)
        try:
            with only(comm, task):
                value = task.call(fn, comm, given)
        finally:
            _leave_unless_in(process)
            if originals is not None:
                originals.after_call()
        values.append(plain(value))
        for position, argument in enumerate(given):
            if not same(before[position], argument):
                changed.append((call, position))
            if not isinstance(values[-1], Unusable) and overlap(value, argument):
                shared.append((call, position))
    return values, changed, shared


def _leave_unless_in(process: int) -> None:
    """End a copy of the process that compiled code has made, past all refusals."""
    if os.getpid() != process:
        os._exit(1)


def _start_late(comm: Communicator, case: Case, call: int) -> None:
    delay_s = case.rng(comm.rank, call).uniform(0, _LATEST_START_S)
    with comm.compute("a late start", flops=delay_s * DEFAULT.speeds(comm.size)[comm.rank]):
        pass
