"""How a function and its arguments travel to a worker: by value, as cloudpickle bytes.

Functions from notebook cells bring the helpers, imports and globals they use with them. Every rank,
in every world, loads its own copy, so that ranks share nothing.
"""

import inspect
import io
import pickle
import types
from collections.abc import Callable
from typing import Any

import cloudpickle

from course_lib.comm.errors import SerializationError

__all__ = ["load_call", "pack_call", "pack_value"]


def pack_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Pack a function and its arguments, before any worker is started.

    Raises
    ------
    SerializationError
        Naming the argument, or the variable that the function uses, that cannot travel.
    """
    try:
        return _dumps((fn, args))
    except Exception as error:
        raise SerializationError(_culprit(fn, args, error)) from error


def load_call(data: bytes, rank: int | None = None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Load what ``pack_call`` packed; every call makes new copies.

    Parameters
    ----------
    data : bytes
        What ``pack_call`` returned.
    rank : int or None, default: None
        Who loads it, for the error.

    Returns
    -------
    fn : callable
        The function.
    args : tuple
        Its arguments.

    Raises
    ------
    SerializationError
        If loading runs into an exception, of any kind.
    """
    try:
        fn, args = pickle.loads(data)
    except Exception as error:
        raise SerializationError(
            f"{'a process' if rank is None else f'rank {rank}'} could not load the function or its "
            f"arguments: {_reason(error)}; "
            "the worker must be able to import what they use, and to make its own copy of every "
            "argument",
            rank=rank,
        ) from error
    return fn, args


def pack_value(value: Any, rank: int) -> bytes:
    """Pack what a rank returned.

    Raises
    ------
    SerializationError
        If it cannot travel back.
    """
    try:
        return _dumps(value)
    except Exception as error:
        raise SerializationError(
            f"rank {rank} returned a {type(value).__name__}, which cannot travel back: "
            f"{_reason(error)}; return arrays, numbers, texts or lists and dicts of them",
            rank=rank,
        ) from error


def _dumps(value: Any) -> bytes:
    buffer = io.BytesIO()
    cloudpickle.Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _culprit(fn: Callable[..., Any], args: tuple[Any, ...], error: BaseException) -> str:
    for position, value in enumerate(args):
        if not _travels(value):
            return (
                f"argument {position + 1} of {_name(fn)}, a {type(value).__name__}, cannot travel "
                f"to a worker: {_reason(error)}; pass plain data and open or make it in the worker"
            )
    for name, value in _captured(fn).items():
        if not _travels(value):
            return (
                f"{_name(fn)} uses the variable {name!r}, a {type(value).__name__}, which cannot "
                f"travel to a worker: {_reason(error)}; make it inside the function instead"
            )
    return f"{_name(fn)} cannot travel to a worker: {_reason(error)}"


def _name(fn: Any) -> str:
    return getattr(fn, "__qualname__", type(fn).__name__)


def _captured(fn: Any) -> dict[str, Any]:
    """Collect the globals and enclosing variables that a function uses, helpers' ones first."""
    found: dict[str, Any] = {}
    seen: set[int] = set()

    def visit(current: Any) -> None:
        current = getattr(current, "__func__", getattr(current, "func", current))
        if not isinstance(current, types.FunctionType) or id(current) in seen:
            return
        seen.add(id(current))
        closure = inspect.getclosurevars(current)
        for name, value in {**closure.globals, **closure.nonlocals}.items():
            visit(value)
            found.setdefault(name, value)

    visit(fn)
    return found


def _travels(value: Any) -> bool:
    try:
        _dumps(value)
    except Exception:
        return False
    return True
