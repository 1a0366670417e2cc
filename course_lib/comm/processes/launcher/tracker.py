"""What ``multiprocess`` starts beside workers: its resource tracker, and its fork server."""

import sys
from pathlib import Path
from typing import Any

from multiprocess import util

__all__ = ["start_without_dill", "with_safe_path"]

_TRACKER = (
    "import signal, sys; sys.modules['dill'] = None; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
)
"""What the resource tracker does before all else."""
_HELPERS = ("resource_tracker", "forkserver")
_start_program = util.spawnv_passfds


def start_without_dill() -> None:
    """Have ``multiprocess`` start its resource tracker without dill, and deaf to a closed terminal.

    dill is half of what it would load. Its death with the terminal would be told in tracebacks by
    the next one, if this program still puts away what it has.

    The tracker, which removes shared memory of programs that are killed, is sent names alone. Other
    programs that ``multiprocess`` starts are left as they are: they may be sent what needs dill.
    """
    util.spawnv_passfds = _start


def with_safe_path(command: list[str]) -> list[str]:
    """Have a Python import nothing from the working directory, unless this one does so, too.

    ``python -c`` looks there before anywhere else; ``python folder/script.py`` does not. A worker
    of that script would load the working directory's ``random.py``, or another copy of this course,
    in place of what the script itself has loaded.

    Parameters
    ----------
    command : list of str or bytes
        The interpreter, and what follows it.

    Returns
    -------
    list of str
        The command to run.
    """
    # Words may be bytes, and `python -bb` takes a comparison with those for an error.
    if any(isinstance(word, str) and word == "-P" for word in command) or any(
        _is_here(path) for path in sys.path
    ):
        return command
    return [command[0], "-P", *command[1:]]


def _is_here(path: str) -> bool:
    try:
        return path == "" or path == str(Path.cwd())
    except FileNotFoundError:  # the working directory has been removed: nothing can be in it
        return False


def _start(path: Any, args: list[str], passfds: Any) -> Any:
    if "multiprocess.resource_tracker" in args[-1]:
        args = [*args[:-1], _TRACKER + args[-1]]
    if any(f"multiprocess.{name} import main" in args[-1] for name in _HELPERS):
        args = with_safe_path(args)
    return _start_program(path, args, passfds)
