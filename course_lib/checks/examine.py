"""What happens in the examination room: a process that the learner's code cannot leave.

The function arrives as bytes and is loaded afresh by every simulated rank. Nothing is judged here:
plain copies of what was returned go back to the notebook, and the verdict is made there.
"""

import contextlib
import importlib
import io
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_lib.checks.comparator import plain
from course_lib.checks.task import Case, Task
from course_lib.comm.communicator import EAGER_BYTES, Communicator
from course_lib.comm.errors import RunError, WorkerError
from course_lib.comm.job import Job
from course_lib.comm.shipping import load_call
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace.trace import Trace

__all__ = ["Mishap", "Observation", "examine", "mishap_of"]

CASE_LIMIT_S = 3.0
_LATEST_START_S = 1e-3
_MOST_PRINTED = 1_000


@dataclass(frozen=True)
class Mishap:
    """Why a run gave no results: the library's error, and the exception of the learner's code."""

    kind: str
    text: str
    original: str
    rank: int | None


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
    elapsed_s : float
        How long it took, in virtual seconds.
    printed : str
        The beginning of what the function printed, all ranks in the order they ran.
    mishap : Mishap or None
        What went wrong.
    """

    values: list[list[Any]] = field(default_factory=list)
    changed: list[tuple[int, int, int]] = field(default_factory=list)
    shared: list[tuple[int, int, int]] = field(default_factory=list)
    trace: Trace | None = None
    elapsed_s: float = 0.0
    printed: str = ""
    mishap: Mishap | None = None


def examine(_: Communicator, packed: bytes, task: Task, cases: Sequence[Case]) -> list[Any]:
    """Run the learner's function over the cases, until one of them fails to return.

    Parameters
    ----------
    _ : Communicator
        This process's own; it is alone, and needs nobody.
    packed : bytes
        The learner's function, as ``pack_call`` made it.
    task : Task
        Makes the arguments of every rank.
    cases : sequence of Case
        What to run.

    Returns
    -------
    list of Observation
        One for each case, up to the first mishap.
    """
    observations = []
    with forbidding(task.forbidden, task.forbidden_functions, task.enough):
        for case in cases:
            observations.append(_observe(packed, task, case))
            if observations[-1].mishap is not None:
                break
    return observations


def _observe(packed: bytes, task: Task, case: Case) -> Observation:
    from course_lib.comm.simulated import launcher

    room[:] = [(packed, task, case)]
    job = Job(
        fn=attempt, args=(), workers=case.workers, trace=True,
        eager_bytes=0 if case.rendezvous else EAGER_BYTES,
        time_limit_s=CASE_LIMIT_S, seed=case.seed % 2**32,
    )  # fmt: skip
    paper = _Paper()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(paper):
            warnings.simplefilter("ignore")  # messages nobody received: judged from the trace
            result = launcher.launch(job, case.network)
    except RunError as error:
        return Observation(mishap=mishap_of(error), trace=error.trace, printed=paper.text)
    ranks = range(case.workers)
    return Observation(
        values=[[result.values[rank][0][call] for rank in ranks] for call in range(case.calls)],
        changed=[(rank, *place) for rank in ranks for place in result.values[rank][1]],
        shared=[(rank, *place) for rank in ranks for place in result.values[rank][2]],
        trace=result.trace,
        elapsed_s=result.elapsed_s,
        printed=paper.text,
    )


def mishap_of(error: RunError) -> Mishap:
    """Write down a failed run, without the frames that only called the learner's function."""
    original = "" if error.original is None else type(error.original).__name__
    text = _told_once(str(error.args[0])) if isinstance(error, WorkerError) else str(error)
    return Mishap(type(error).__name__, _OUR_FRAMES.sub("", text), original, error.rank)


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


class _Paper(io.TextIOBase):
    """Keep the beginning of what is printed, however much it is."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        """Write while there is room."""
        self.text += text[: _MOST_PRINTED - len(self.text)]
        return len(text)


room: list[tuple[bytes, Task, Case]] = []
"""The case on the table. Ranks read it here, so that only the learner's function is shipped."""


def attempt(comm: Communicator) -> tuple[list[Any], list[Any], list[Any]]:
    """Call the learner's function on one simulated rank, and watch its arguments."""
    packed, task, case = room[0]
    fn, _ = load_call(packed, comm.rank)
    values: list[Any] = []
    changed: list[tuple[int, int]] = []
    shared: list[tuple[int, int]] = []
    for call in range(case.calls):
        given = task.arguments(case, comm.rank, call)
        before = [_copy(argument) for argument in given]
        if case.stagger:
            _start_late(comm, case, call)
        value = task.call(fn, comm, given)
        values.append(plain(value))
        for position, argument in enumerate(given):
            if not _same(before[position], argument):
                changed.append((call, position))
            if _overlap(value, argument):
                shared.append((call, position))
    return values, changed, shared


def _start_late(comm: Communicator, case: Case, call: int) -> None:
    delay_s = case.rng(comm.rank, call).uniform(0, _LATEST_START_S)
    with comm.compute("a late start", flops=delay_s * DEFAULT.speeds(comm.size)[comm.rank]):
        pass


def _copy(value: Any) -> Any:
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, list):
        return len(before) == len(after) and all(map(_same, before, after))
    if isinstance(before, np.ndarray):
        return bool(before.tobytes() == after.tobytes() and before.shape == after.shape)
    return bool(before == after)


def _overlap(value: Any, argument: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(_overlap(item, argument) for item in value)
    if isinstance(argument, list):
        return any(_overlap(value, item) for item in argument)
    both = isinstance(value, np.ndarray) and isinstance(argument, np.ndarray)
    return both and bool(np.shares_memory(value, argument))


@contextlib.contextmanager
def forbidding(
    names: Sequence[str], functions: Sequence[str] = (), enough: str = Task.enough
) -> Iterator[None]:
    """Let no code use the named modules, what lies in them, or the named functions, in the block.

    Parameters
    ----------
    names : sequence of str
        Modules.
    functions : sequence of str, default: ()
        Functions with their module, ``"numpy.array_split"``.
    enough : str, default: "send and receive are enough"
        What the refusal says that will do instead.

    Yields
    ------
    None
    """
    hidden = {
        name: module
        for name, module in sys.modules.items()
        if any(name == banned or name.startswith(f"{banned}.") for banned in names)
    }
    for name in hidden:
        del sys.modules[name]
    guard = _Guard(tuple(names), enough)
    sys.meta_path.insert(0, guard)
    try:
        with contextlib.ExitStack() as refusals:
            for function in functions:
                refusals.enter_context(_refusing(function, enough))
            yield
    finally:
        sys.meta_path.remove(guard)
        sys.modules.update(hidden)


class LibraryAnswerError(ImportError):
    """The learner's function uses a module that holds the answer."""


def _refusal(name: str, enough: str) -> LibraryAnswerError:
    return LibraryAnswerError(f"this task is to be written without {name}: {enough}")


@contextlib.contextmanager
def _refusing(function: str, enough: str) -> Iterator[None]:
    """Put a function in the place of the named one that only refuses."""

    def refuse(*_: Any, **__: Any) -> None:
        raise _refusal(function, enough)

    home, _, name = function.rpartition(".")
    module = importlib.import_module(home)
    original = getattr(module, name)
    setattr(module, name, refuse)
    try:
        yield
    finally:
        setattr(module, name, original)


class _Guard:
    def __init__(self, names: tuple[str, ...], enough: str) -> None:
        self.names, self.enough = names, enough

    def find_spec(self, name: str, *_: Any) -> None:
        """Refuse a forbidden module; leave all others to the usual finders."""
        if any(name == banned or name.startswith(f"{banned}.") for banned in self.names):
            raise _refusal(name, self.enough)
