"""What a process has from the program that starts it; copies of a fork server have it from that.

The server was started for an earlier run, perhaps, and the program may have set a limit since.
"""

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

__all__ = ["Inherited"]


def _umask() -> int:
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mask


def _limits() -> dict[int, tuple[int, int]]:
    if sys.platform == "win32":
        return {}
    import resource

    kinds = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
    return {kind: resource.getrlimit(kind) for kind in kinds}


@dataclass(frozen=True)
class Inherited:
    """What the launcher has when it starts workers.

    Attributes
    ----------
    variables : mapping
        Of the environment.
    umask : int
        Who may not read new files.
    limits : dict of int to (int, int)
        What the system grants: soft and hard; empty on Windows.
    """

    variables: Mapping[str, str]
    umask: int = field(default_factory=_umask)
    limits: Mapping[int, tuple[int, int]] = field(default_factory=_limits)

    def take_on(self) -> None:
        """Have it in this process; of most a fork server's copy has it already."""
        for name in os.environ.keys() - self.variables.keys():
            del os.environ[name]
        os.environ.update(
            {name: text for name, text in self.variables.items() if os.environ.get(name) != text}
        )
        os.umask(self.umask)
        if sys.platform != "win32":
            import resource

            time.tzset()
            for kind, limits in self.limits.items():
                if resource.getrlimit(kind) != limits:
                    with suppress(OSError, ValueError):  # a hard one cannot be raised again
                        resource.setrlimit(kind, limits)
        if "tempfile" in sys.modules:
            import tempfile

            tempfile.tempdir = None  # it is looked for again, by the variables
