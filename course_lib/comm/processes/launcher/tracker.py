"""The helper process that removes shared memory of programs that are killed starts sooner."""

from typing import Any

from multiprocess import util

__all__ = ["start_without_dill"]

_start_program = util.spawnv_passfds


def start_without_dill() -> None:
    """Have ``multiprocess`` start its resource tracker without dill, half of what it would load.

    The tracker is sent names alone. Other programs that ``multiprocess`` starts are left as they
    are: they may be sent what needs dill.
    """
    util.spawnv_passfds = _start


def _start(path: Any, args: list[str], passfds: Any) -> Any:
    if "multiprocess.resource_tracker" in args[-1]:
        args = [*args[:-1], f"import sys; sys.modules['dill'] = None; {args[-1]}"]
    return _start_program(path, args, passfds)
