"""What a copy of the program (``os.fork``) begins with: all locks free, and no run under way.

Only the thread that has called ``os.fork`` goes on in the copy. What another one was doing there is
never finished: a lock that it held would be held for ever, and what a run has put in the place of
the program's own would stay. So whoever keeps such things says here how they begin anew.
"""

import os
from collections.abc import Callable
from typing import Any

from course_lib.comm.result import runs_ranks

__all__ = ["free_in_copies", "in_copies"]


def in_copies(begin_anew: Callable[[], None]) -> Callable[[], None]:
    """Have a function called where a copy of the program begins.

    It is not called where a rank has made the copy, which is still in the middle of its run.

    Parameters
    ----------
    begin_anew : callable
        Without arguments.

    Returns
    -------
    callable
        The same.
    """

    def begin() -> None:
        if not runs_ranks():
            begin_anew()

    if hasattr(os, "register_at_fork"):  # not on Windows, where nothing can be copied
        os.register_at_fork(after_in_child=begin)
    return begin_anew


def free_in_copies(lock: Any) -> Any:
    """Have a lock be free where a copy of the program begins; return it."""
    in_copies(lock._at_fork_reinit)
    return lock
