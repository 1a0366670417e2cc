"""The end of the program: runs in daemon threads, for which nobody waits, end before it.

Python leaves such threads where they are. But before that it waits for all processes that were
started, and so for the end of the run.
"""

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from course_lib.comm.forks import in_copies
from course_lib.comm.interrupts import Interrupts

__all__ = ["ended_with_the_program"]

_PATIENCE_S = 10.0
_under_way: dict[Interrupts, threading.Event] = {}
_program_ends = False


@contextmanager
def ended_with_the_program(interrupts: Interrupts) -> Iterator[None]:
    """End a run when the program ends, as if it had been interrupted.

    Parameters
    ----------
    interrupts : Interrupts
        The run's own.

    Yields
    ------
    None
        While the run is under way.
    """
    over = threading.Event()
    _under_way[interrupts] = over
    atexit.unregister(_end_all)
    atexit.register(_end_all)  # the last is called first: all that a run needs is still there
    try:
        if _program_ends:
            raise SystemExit
        yield
    finally:
        _under_way.pop(interrupts, None)
        over.set()


def _end_all() -> None:
    global _program_ends
    _program_ends = True
    runs = dict(_under_way)
    for interrupts in runs:
        interrupts.note(SystemExit())  # which ends a thread without a word
    for over in runs.values():
        over.wait(_PATIENCE_S)


in_copies(_under_way.clear)
