"""Importing this has the fork server remove the folder with its socket when it ends."""

import os
from pathlib import Path

from course_lib.comm.processes.sockets import FOLDER_VARIABLE, remove_at_exit

if FOLDER_VARIABLE in os.environ:
    remove_at_exit(Path(os.environ[FOLDER_VARIABLE]))
