"""Which verbs of the communicator a task is to be written with; the others refuse."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from course_lib.checks.task import Task, listed
from course_lib.comm.communicator import Communicator

__all__ = ["OtherVerbError", "only"]

_REACHING = frozenset((
    "send", "recv", "recv_any", "sendrecv", "isend", "irecv", "barrier", "split", "start",
    "shared_array",
))  # fmt: skip
"""The verbs that reach other ranks. The clock, notes and the like are open to all tasks."""


class OtherVerbError(RuntimeError):
    """The learner's function uses a verb that is not among those of the task."""


@contextlib.contextmanager
def only(comm: Communicator, task: Task) -> Iterator[None]:
    """Refuse other verbs than those of the task, in the block.

    Parameters
    ----------
    comm : Communicator
        The one that the learner's function is handed.
    task : Task
        Says which verbs it may use. Collectives of the library may need all of them, and so may
        a check that carries out itself what the function returns.

    Yields
    ------
    None
    """
    is_open = task.may_use_collectives or task.carried_out
    refused = set() if is_open else _REACHING.difference(task.verbs)
    for verb in refused:
        comm.__dict__[verb] = _refuser(task, verb)
    try:
        yield
    finally:
        for verb in refused:
            comm.__dict__.pop(verb, None)


def _refuser(task: Task, verb: str) -> Callable[..., None]:
    def refuse(*_: Any, **__: Any) -> None:
        enough = listed(task.verbs)
        raise OtherVerbError(f"this task is to be written without comm.{verb}: {enough} will do")

    return refuse
