"""What is wrong, told: a sentence, both sides, where, and a hint."""

from dataclasses import dataclass

from course_lib.checks.examine import Mishap
from course_lib.checks.task import Case, Hint, Task

__all__ = ["Fault", "mishap_fault"]


@dataclass(frozen=True)
class Fault:
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


def mishap_fault(task: Task, case: Case | None, mishap: Mishap) -> Fault:
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
    Fault
        The run's own explanation, and a hint.
    """
    hint = _mishap_hint(task, case, mishap)
    says = mishap.text
    if hint.id == "library-answer":
        says = says.splitlines()[0].partition("LibraryAnswerError: ")[2] or says
    elif hint.id == "arguments":
        says = says.splitlines()[0].partition("TypeError: ")[2]
    elif hint.id == "too-slow":
        says = says.replace(" (time_limit_s)", "").replace(", or raise time_limit_s", "")
    elif hint.id == "starts-workers":
        says = "run was called in the function"
    elif mishap.kind == "DeadlockError" and "sendrecv" not in task.verbs:
        says = "\n".join(line for line in says.splitlines() if "use sendrecv" not in line)
    if case is not None and case.alone:
        says = says.replace("rank 0 failed at", "the function failed at", 1)
        says = says.replace("\n\nTraceback of rank 0 (", "\n\nTraceback (", 1)
        return Fault(says, hint)
    return Fault(says, hint, rank=mishap.rank)


def _mishap_hint(task: Task, case: Case | None, mishap: Mishap) -> Hint:
    if "LibraryAnswerError" in (mishap.original, mishap.kind) or "LibraryAnswer" in mishap.text:
        return Hint("library-answer", "write it yourself: that is the task")
    if case is not None and (known := task.explain_mishap(case, mishap.kind, mishap.text)):
        return known
    if mishap.kind == "DeadlockError" and case is not None and case.rendezvous:
        return Hint(
            "hidden-deadlock",
            "it worked only because small messages are copied at once and send did not have to "
            f"wait; {task.deadlock_hint}",
        )
    if mishap.kind == "DeadlockError":
        return Hint("deadlock", task.deadlock_hint)
    if mishap.kind == "PeerFinishedError":
        return Hint(
            "peer-finished",
            "one rank waits for a message that nobody sends any more: count, for each pair of "
            "ranks, the sends and the receives",
        )
    if mishap.kind == "MessageMismatchError":
        return Hint("mismatch", "sender and receiver do not agree on what this message is")
    if mishap.kind == "LaunchTimeout":
        return Hint("too-slow", "it did not end in time: is there a loop whose end never comes?")
    if mishap.kind in ("WorkerExited", "WorkerKilled", "WorkerStartError"):
        return Hint("exited", "a worker ends by returning: leave out exit() and the like")
    if mishap.kind == "SerializationError":
        return Hint("cannot-travel", "make it inside the function instead of in the notebook")
    if mishap.original == "TypeError" and "positional argument" in mishap.text:
        return Hint("arguments", "compare the arguments with those in the docstring of the task")
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
