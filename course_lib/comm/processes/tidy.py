"""Importing this has the fork server remove the folder with its socket when it ends."""

import os
import signal
import sys
from pathlib import Path

from course_lib.comm.processes.sockets import FOLDER_VARIABLE, remove_at_exit

if FOLDER_VARIABLE in os.environ:
    remove_at_exit(Path(os.environ[FOLDER_VARIABLE]))
    # A notebook's kernel that shuts down ends its children this way first. Workers undo it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
