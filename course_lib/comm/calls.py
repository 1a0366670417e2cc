"""Which call of ``run`` this is, where each rank is a program that torchrun has started.

The k-th call of one program belongs to the k-th of every other. So a call counts from its first
line, also one that is refused or interrupted before the ranks have met: the others are told that
it will not come, and the next calls still belong together.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

from course_lib.comm.result import is_worker, runs_ranks

__all__ = ["Call", "counted", "this_call"]

_numbers = count(1)
_here = threading.local()


class Call:
    """A call of ``run``.

    Parameters
    ----------
    number : int
        The how manieth of this program.
    name : str
        What it calls.

    Attributes
    ----------
    has_met : bool
        Whether what becomes of it has been settled with the other ranks.
    """

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.has_met = False


def this_call() -> Call:
    """Return the call of ``run`` that this thread is in."""
    call: Call = _here.call
    return call


@contextmanager
def counted(fn: Callable[..., Any], backend: str) -> Iterator[None]:
    """Count a call of ``run``; if it ends before the ranks have met, tell the others.

    Parameters
    ----------
    fn : callable
        What it calls.
    backend : str
        As given to ``run``.

    Yields
    ------
    None
        For the call.
    """
    if backend != "torch" or "TORCHELASTIC_RUN_ID" not in os.environ or is_worker() or runs_ranks():
        yield
        return
    name = getattr(fn, "__qualname__", None)
    call = Call(next(_numbers), name if isinstance(name, str) else type(fn).__name__)
    before = getattr(_here, "call", None)
    _here.call = call
    try:
        yield
    except BaseException as error:
        if not call.has_met:
            with suppress(Exception):  # where there is no torchrun, what is raised says so
                from course_lib.comm.torch_backend.roll_call import tell_absence

                tell_absence(call.number, error)
        raise
    finally:
        _here.call = before
