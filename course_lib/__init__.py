"""A course that runs: distributed training, every scheme a short readable file.

``run`` starts the same function on many workers: real processes on this computer, or thousands of
virtual ones in a deterministic simulator. Everything else is imported where it is used, so that
``import course_lib`` stays fast and loads neither torch nor matplotlib nor Jupyter.
"""

import sys

# What is graded may lie in the current folder, from which `python -m` imports first: no typing.py
# of a student is to be run. What Python has imported before these lines cannot be helped here.
if sys.argv[:2] == ["-m", "grade"] and not sys.flags.safe_path:
    del sys.path[0]

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.comm.communicator import Communicator
    from course_lib.comm.errors import RankLost
    from course_lib.comm.launch import run
    from course_lib.comm.result import Lost, Result
    from course_lib.comm.simulated import faults, networks
    from course_lib.trace.trace import Trace

__all__ = [
    "Communicator", "Lost", "RankLost", "Result", "Trace", "__version__", "faults", "networks",
    "run",
]  # fmt: skip

__version__ = "0.1.0"

_HOME = {
    "Communicator": ("course_lib.comm.communicator", "Communicator"),
    "run": ("course_lib.comm.launch", "run"),
    "Lost": ("course_lib.comm.result", "Lost"),
    "RankLost": ("course_lib.comm.errors", "RankLost"),
    "Result": ("course_lib.comm.result", "Result"),
    "Trace": ("course_lib.trace.trace", "Trace"),
    "faults": ("course_lib.comm.simulated.faults", None),
    "networks": ("course_lib.comm.simulated.networks", None),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'course_lib' has no attribute {name!r}")
    module_name, attribute = _HOME[name]
    module = importlib.import_module(module_name)
    return module if attribute is None else getattr(module, attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
