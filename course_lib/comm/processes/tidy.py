"""Importing this has the fork server remove the folder with its socket when it ends."""

import os
import signal
from pathlib import Path
from types import FrameType

from course_lib.comm.processes.sockets import FOLDER_VARIABLE, remove_at_exit

_owner = os.getpid()


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    if os.getpid() == _owner:
        # Without an exception: where the server is ending already, that would be told as an error.
        _remove()
        os._exit(0)
    signal.signal(number, signal.SIG_DFL)  # a worker that is just being born
    os.kill(os.getpid(), number)


if FOLDER_VARIABLE in os.environ:
    _remove = remove_at_exit(Path(os.environ[FOLDER_VARIABLE]))
    # A notebook's kernel that shuts down ends its children by this signal before it ends itself.
    signal.signal(signal.SIGTERM, _leave)
