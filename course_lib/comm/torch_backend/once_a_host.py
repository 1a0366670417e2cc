"""An error that all programs of a launcher raise is written in full by one of each computer.

Each of them knows it, and if nobody catches it, each would write the same fifty lines. So the first
of a computer writes it, without our own lines between the script's and the function's, and every
other one a line. Torchrun ends all programs of a computer as soon as one ends; so the others wait
a little. Who is not ended meanwhile is one whose first program is gone, or goes on: it writes all.
Mpiexec waits for all of them; there the others end at once.
"""

import os
import sys
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from course_lib.comm.started import started_by

__all__ = ["write_once"]

_FIRST_WRITES_S = 10.0
_MARK = "_all_ranks_raise_it"
_OURS = str(Path(__file__).resolve().parents[2]) + os.sep


def write_once(error: BaseException) -> None:
    """Have an error that every rank raises written in full once a computer, if nobody catches it.

    Parameters
    ----------
    error : BaseException
        What this rank is about to raise; Ctrl-C is left alone. Python's ``sys.excepthook`` is
        replaced, and does with other errors what it did before.
    """
    if issubclass(type(error), Exception):
        setattr(error, _MARK, True)
        if not (isinstance(sys.excepthook, partial) and sys.excepthook.func is _tell):
            sys.excepthook = partial(_tell, sys.excepthook)


def _tell(
    before: Any, kind: type[BaseException], error: BaseException, tb: TracebackType | None
) -> None:
    """Stand in for what was Python's ``sys.excepthook`` before."""
    if not hasattr(error, _MARK):
        before(kind, error, tb)
        return
    delattr(error, _MARK)  # somebody may have put another in between, and this one comes again
    here = started_by()
    if here is not None and here.place != 0:
        first, *more = str(error).splitlines() or [""]
        told = f"[rank{here.rank}]: {kind.__name__}: {first}"
        told += " (in full from the first rank of this computer)" if more else ""
        sys.stderr.write(f"{told}\n")
        sys.stderr.flush()
        if here.launcher == "mpiexec":
            return
        time.sleep(_FIRST_WRITES_S)
    before(kind, error, _without_ours(tb))


def _without_ours(tb: TracebackType | None) -> TracebackType | None:
    """Cut off what comes after the last line that is not the library's, if there is one."""
    last, at = None, tb
    while at is not None:
        if not os.path.realpath(at.tb_frame.f_code.co_filename).startswith(_OURS):
            last = at
        at = at.tb_next
    if last is not None:
        last.tb_next = None
    return tb
