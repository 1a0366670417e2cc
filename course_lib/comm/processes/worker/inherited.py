"""What a process has from the program that starts it; copies of a fork server have it from that.

The server was started for an earlier run, perhaps. Limits are not among what is taken on: the
program may have lowered its own for what it does itself.
"""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from course_lib.comm.umask import current_umask

__all__ = ["Inherited"]


@dataclass(frozen=True)
class Inherited:
    """What the launcher has when it starts workers.

    Attributes
    ----------
    variables : mapping
        Of the environment.
    umask : int
        Who may not read new files.
    """

    variables: Mapping[str, str]
    umask: int = field(default_factory=current_umask)

    def take_on(self) -> None:
        """Have it in this process; of most a fork server's copy has it already."""
        for name in os.environ.keys() - self.variables.keys():
            del os.environ[name]
        os.environ.update(
            {name: text for name, text in self.variables.items() if os.environ.get(name) != text}
        )
        os.umask(self.umask)
        if sys.platform != "win32":
            time.tzset()
        if "tempfile" in sys.modules:
            import tempfile

            tempfile.tempdir = None  # it is looked for again, by the variables
