"""What is wrong, told: a sentence, both sides, where, and a hint."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.checks.sandbox import CASE_LIMIT_S, Mishap, Observation
from course_lib.checks.slips import slip, who_left, who_waits
from course_lib.checks.task import Case, Hint, Task, listed

__all__ = ["Diagnosis", "mishap_fault", "replaced_fault", "slow_fault", "was_starved"]

_NAME_OF_YOUR_OWN = Hint(
    "replaces-names", "all other code uses it too: give what you write a name of its own, in a def"
)
_NOT_FOR_LEARNERS = (
    " (time_limit_s)", " (max_events)", ", or raise time_limit_s", ", or raise max_events",
    "\nlook for a loop that does not end", "\nlook for a loop that sends or notes without end",
)  # fmt: skip
_EXIT = re.compile(r"\b(exit|quit)\b")
_RUN_CALLED = re.compile(r"rank \d+, (.+?): run was called")
_OUR_LINES = re.compile(r",(?: at)? \w+\.py, line \d+")
_OUR_FILES = "|".join(
    re.escape(path.name)
    for folder in (Path(__file__).parent, Path(__file__).parents[1] / "watch")
    for path in sorted(folder.rglob("[!_]*.py"))
)
_OUR_FRAMES = re.compile(
    rf"^  (?:{_OUR_FILES}), line \d+, in .*\n(?:    .*(?:\n|$))?", re.MULTILINE
)
_BETWEEN_CALLS = re.compile(
    rf"(rank \d+) could go on, at (?:contextlib\.py|{_OUR_FILES}), line \d+"
)
_FAILED_IN_OURS = re.compile(rf"(rank \d+|function) failed at (?:{_OUR_FILES}), line \d+: ")
_OURS = ("the built-in ", "course_lib.", "sys.")
_LOOK_FOR_A_LOOP = (
    f"it did not end in the {CASE_LIMIT_S:g} s that a case has: is there a loop whose end never "
    "comes, or a line that does far more than is needed?"
)
_SLOW_S = 2.0  # for all cases; a solution takes a third of a second
_LEAVE_OUT_SLEEP = (
    "it slept, or waited for something that did not come (time.sleep, input, a lock), for most of "
    "the time: leave that out; recv waits by itself"
)


@dataclass(frozen=True)
class Diagnosis:
    """The first failing case, told.

    Attributes
    ----------
    says : str
        What is wrong.
    hint : Hint
        What may be behind it.
    expected, got : str
        Both sides; empty where nothing was compared.
    rank : int or None
        Where.
    step : str
        When: which call, or what happened there.
    """

    says: str
    hint: Hint
    expected: str = ""
    got: str = ""
    rank: int | None = None
    step: str = ""


def mishap_fault(task: Task, case: Case | None, mishap: Mishap) -> Diagnosis:
    """Explain a run that gave no results.

    Parameters
    ----------
    task : Task
        Brings the hint for a deadlock.
    case : Case or None
        What was run; None if nothing was.
    mishap : Mishap
        What went wrong.

    Returns
    -------
    Diagnosis
        The run's own explanation, and a hint.
    """
    hint = _mishap_hint(task, case, mishap)
    says = mishap.text
    if hint.id == "library-answer":
        says = says.splitlines()[0].partition("LibraryAnswerError: ")[2] or says
    elif hint.id == "other-verb":
        says = says.splitlines()[0].replace("OtherVerbError: ", "")
    elif hint.id == "arguments":
        says = says.splitlines()[0].partition("TypeError: ")[2]
    elif hint.id == "too-slow":
        for ours in _NOT_FOR_LEARNERS:
            says = says.replace(ours, "")
    elif mishap.original == "ForkRefusedError":
        says = says.splitlines()[0].partition("ForkRefusedError: ")[2] or says
    elif hint.id == "starts-workers":
        called = _RUN_CALLED.match(says)
        says = f"run was called in the function{f': {called[1]}' if called else ''}"
    elif mishap.kind == "DeadlockError" and not (task.tells_the_cure and "sendrecv" in task.verbs):
        says = "\n".join(line for line in says.splitlines() if "use sendrecv" not in line)
    if task.carried_out:
        says = _OUR_LINES.sub("", says)
    if case is not None and case.alone:
        says = says.replace("rank 0 failed at", "the function failed at", 1)
        says = says.replace("\n\nTraceback of rank 0 (", "\n\nTraceback (", 1)
        return Diagnosis(without_our_lines(says), hint)
    return Diagnosis(without_our_lines(says), hint, rank=mishap.rank)


def without_our_lines(says: str) -> str:
    """Leave out the lines of the check itself, which tell a learner nothing."""
    says = _OUR_FRAMES.sub("", says)
    says = _BETWEEN_CALLS.sub(r"\1 is between two calls", says)
    says = _FAILED_IN_OURS.sub(r"\1 failed: ", says)
    return says.rstrip().removesuffix("Traceback of rank 0 (most recent call last):").rstrip()


def replaced_fault(task: Task, seen: Observation) -> Diagnosis | None:
    """Name what a function has replaced on which the check itself stands.

    Parameters
    ----------
    task : Task
        Says what may not be used.
    seen : Observation
        A case. Functions of NumPy's and the like are put back, and may be what one likes.

    Returns
    -------
    Diagnosis or None
        None if nothing was replaced.
    """
    for name in seen.replaced:
        if name == "sys.meta_path":
            says = "sys.meta_path, without which modules that hold the answer could be imported"
            hint = Hint("library-answer", f"write it yourself: {task.enough}")
            return Diagnosis(f"the function changed {says}", hint)
        if name.startswith(_OURS):
            return Diagnosis(f"the function replaced {name}", _NAME_OF_YOUR_OWN)
    return None


def slow_fault(seen: Sequence[Observation], n_cases: int) -> Diagnosis:
    """Explain that time was up before all cases had been run.

    Parameters
    ----------
    seen : sequence of Observation
        The cases that were run; all are right.
    n_cases : int
        How many there are.

    Returns
    -------
    Diagnosis
        How long a case took, and whether in sleeping or in computing.
    """
    if was_starved(seen):
        says = (
            f"undecided: {len(seen)} of {n_cases} cases were run, and are right; then time was up"
        )
        busy = "other programs had the processors: close them, or wait for them, and check again"
        return Diagnosis(says, Hint("too-busy", busy))
    longest_s = max(one.wall_s for one in seen)
    idle = sum(one.idle for one in seen) > len(seen) / 2
    says = (
        f"it is right in the first {len(seen)} of {n_cases} cases, but slow: then the time was up. "
        f"A case took up to {longest_s:.1f} s{', asleep or waiting' if idle else ''}; a solution "
        "takes less than half a second for all cases together"
    )
    slow = "which line takes so long? The same with fewer steps, or in operations of NumPy"
    return Diagnosis(says, Hint("too-slow", _LEAVE_OUT_SLEEP if idle else slow))


def was_starved(seen: Sequence[Observation]) -> bool:
    """Tell whether other programs had the processor for the time that a solution needs.

    Parameters
    ----------
    seen : sequence of Observation
        The cases that were run.

    Returns
    -------
    bool
        Also True if there was no time for a single one. Not if the function itself took several
        times as long as a solution.
    """
    own_s = sum(one.wall_s for one in seen)
    return own_s < _SLOW_S and own_s <= sum(one.starved_s for one in seen)


def _mishap_hint(task: Task, case: Case | None, mishap: Mishap) -> Hint:
    if "LibraryAnswerError" in (mishap.original, mishap.kind) or "LibraryAnswer" in mishap.text:
        return Hint("library-answer", "write it yourself: that is the task")
    if mishap.original == "OtherVerbError":
        return Hint("other-verb", f"of comm, use {listed(task.verbs)} only")
    if case is not None and (known := task.explain_mishap(case, mishap.kind, mishap.text)):
        return known
    if mishap.kind == "DeadlockError" and case is not None and case.rendezvous:
        return Hint(
            "hidden-deadlock",
            "it worked only because small messages are copied at once and send did not have to "
            f"wait; {task.deadlock_hint}",
        )
    if mishap.kind == "DeadlockError":
        return Hint("deadlock", who_waits(mishap.text) + task.deadlock_hint)
    if mishap.kind == "PeerFinishedError":
        return Hint(
            "peer-finished",
            "one rank waits for a message that nobody sends any more: "
            + who_left(mishap.text)
            + "count, for each pair of ranks, the sends and the receives",
        )
    if mishap.kind == "MessageMismatchError":
        return Hint("mismatch", "sender and receiver do not agree on what this message is")
    if mishap.kind in ("LaunchTimeout", "SimulationError"):
        return Hint("too-slow", _LEAVE_OUT_SLEEP if mishap.idle else _LOOK_FOR_A_LOOP)
    if mishap.original == "ForkRefusedError":
        return Hint("starts-workers", task.nested_run_hint.replace("leave out run", "leave it out"))
    if mishap.kind == "MemoryError" or mishap.original.endswith("MemoryError"):
        return Hint(
            "too-much-memory",
            "a case holds some thousand numbers: print the shapes of what the lines before make",
        )
    if mishap.kind in ("WorkerExited", "WorkerStartError"):
        return Hint("exited", "a worker ends by returning: leave out exit() and the like")
    if mishap.kind == "ReplacedNames":
        return _NAME_OF_YOUR_OWN
    if mishap.kind == "ClosedFiles":
        return Hint("closes-files", "close only what the function has opened itself")
    if mishap.kind == "WorkerKilled":
        return Hint(
            "exited",
            "its process was ended, by itself (os.abort, os.kill) or because compiled code crashed "
            "or took all memory: leave that out",
        )
    if mishap.kind == "SerializationError" and _EXIT.search(mishap.text):
        return Hint("exited", "leave out exit() and quit(): a function ends by returning")
    if mishap.kind == "SerializationError":
        return Hint("cannot-travel", "make it inside the function instead of in the notebook")
    if _is_call_of_the_task(task, mishap):
        return Hint("arguments", "compare the arguments with those in the docstring of the task")
    if known := slip(task, case, mishap.original, mishap.text):
        return known
    if mishap.kind == "NestedLaunchError":
        return Hint("starts-workers", task.nested_run_hint)
    if task.talks and ("inhomogeneous shape" in mishap.text or "'tuple' object" in mishap.text):
        return Hint(
            "pair-for-array",
            "a tuple stands where an array should: recv_any returns two values, "
            "src, part = comm.recv_any()",
        )
    if mishap.original == "NameError":
        return Hint("unknown-name", "is it misspelt, or set in a cell that has not been run yet?")
    if case is not None and case.workers == 1 and not case.alone:
        return Hint("one-worker", "with one worker there is nobody to send to or receive from")
    return Hint(
        "exception",
        "print the values that this line uses, just before it, and check again: the report shows "
        "what was printed",
    )


def _is_call_of_the_task(task: Task, mishap: Mishap) -> bool:
    """Tell whether the function could not even be called: the line is the check's own."""
    called = re.search(r"failed at (\w+)\.py, line \d+: TypeError: ", mishap.text)
    return (
        called is not None
        and called[1] in ("task", "prediction", task.name)
        and ("argument" in mishap.text.partition("\n")[0])
    )
