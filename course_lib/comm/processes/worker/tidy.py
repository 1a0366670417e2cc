"""Importing this has the fork server end well: silent, and without the folder with its socket.

It also hears all signals but Ctrl-C, whatever the program blocks that has started it: by one of
them it learns that a worker has ended.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType, TracebackType

from course_lib.comm.processes.launcher.fork_server_folder import FOLDER_VARIABLE, remove_at_exit

_owner = os.getpid()


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    if os.getpid() == _owner:
        # Without an exception: where the server is ending already, that would be told as an error.
        _remove()
        os._exit(0)
    signal.signal(number, signal.SIG_DFL)  # a worker that is just being born
    os.kill(os.getpid(), number)


def _tell(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
    # The system refused it a file or a process (files that did not all arrive are an assertion that
    # failed). The launcher sees it end, and says so in words; what else there may be is printed.
    if os.getpid() != _owner or not isinstance(error, OSError | AssertionError | RuntimeError):
        sys.__excepthook__(kind, error, tb)


if FOLDER_VARIABLE in os.environ:
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGINT})
    sys.excepthook = _tell
    _remove = remove_at_exit(Path(os.environ[FOLDER_VARIABLE]))
    # A notebook's kernel that shuts down ends its children by this signal before it ends itself.
    signal.signal(signal.SIGTERM, _leave)
