"""How a function and its arguments travel to a worker: by value, as cloudpickle bytes.

Functions from notebook cells bring the helpers, classes, imports and globals they use with them.
Every rank, in every world, loads its own copy, so that ranks share nothing (``pickling`` says how);
see ``course_lib.comm.ambient`` for what is neither in a function nor in its arguments.
"""

import functools
import inspect
import io
import types
from collections.abc import Callable, Iterator
from typing import Any

from course_lib.comm.errors import NestedLaunchError, SerializationError
from course_lib.comm.frames import frames_of, place, user_frame
from course_lib.comm.limits import no_room_for
from course_lib.comm.pickling import dump, dumps, is_dispatching, load_anew, load_here

__all__ = [
    "largest_part",
    "load_call",
    "load_value",
    "no_room",
    "pack_call",
    "pack_value",
]

_FAILURES = (Exception, SystemExit)
"""What a learner's own packing and loading may raise; an interrupt is none of its doing."""


def pack_call(fn: Callable[..., Any], args: tuple[Any, ...], *, alike: bool = False) -> bytes:
    """Pack a function and its arguments, before any worker is started.

    Parameters
    ----------
    fn, args : callable and tuple
        What to pack.
    alike : bool, default: False
        Whether each rank's program packs its own, and all are to know each other's classes.

    Returns
    -------
    bytes
        For ``load_call``.

    Raises
    ------
    SerializationError
        Naming the argument, or the variable that the function uses, that cannot travel.
    """
    try:
        return dumps((fn, args), alike=alike)
    except MemoryError as error:
        what, n_bytes = largest_part(fn, args)
        raise SerializationError(
            f"there is not enough memory to pack {_name(fn)} and its arguments for the workers; "
            f"the largest part is {what} ({n_bytes:,} bytes): let each rank make or load its own "
            "part of the data"
        ) from error
    except _FAILURES as error:
        raise SerializationError(_culprit(fn, args, error)) from error


def load_call(data: bytes, rank: int | None = None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Load what ``pack_call`` packed; every call makes new copies, also of classes.

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
        If loading runs into an exception of any kind, or into ``sys.exit``.
    """
    try:
        fn, args = load_anew(data)
    except MemoryError as error:
        raise no_room(rank) from error
    except NestedLaunchError as error:
        line = place(user_frame(frames_of(error.__traceback__)))
        raise SerializationError(
            f"{_who(rank)} could not load the function or its arguments: it imports their module, "
            f"and that calls run() meanwhile, at {line}; "
            "put the call into a function, or under if __name__ == '__main__':",
            rank=rank,
        ) from error
    except _FAILURES as error:
        raise SerializationError(
            f"{_who(rank)} could not load the function or its arguments: {_reason(error)}; "
            "the worker must be able to import what they use, and to make its own copy of every "
            "argument",
            rank=rank,
        ) from error
    return fn, args


def no_room(rank: int | None) -> SerializationError:
    """Return the error for a rank whose own copy of the function and its arguments does not fit."""
    return SerializationError(
        f"{_who(rank)} ran out of memory while it loaded its own copy of the function and its "
        "arguments; use fewer workers, or let each rank make or load its own part of the data",
        rank=rank,
    )


def _who(rank: int | None) -> str:
    return "a process" if rank is None else f"rank {rank}"


def pack_value(value: Any, rank: int) -> bytes:
    """Pack what a rank returned.

    Raises
    ------
    SerializationError
        If it cannot travel back.
    """
    try:
        return dumps(value, of_rank=True)
    except _FAILURES as error:
        raise SerializationError(
            f"rank {rank} returned a {type(value).__name__}, which cannot travel back: "
            f"{_reason(error)}; return arrays, numbers, texts or lists and dicts of them",
            rank=rank,
        ) from error


def load_value(data: bytes, rank: int) -> Any:
    """Load what ``pack_value`` packed; classes that are known here stay as they are.

    Raises
    ------
    SerializationError
        If that runs into an exception of any kind, or into ``sys.exit``, or out of memory.
    """
    try:
        bytes(len(data))  # where this has no room, arrays fail with stray words
        return load_here(data)
    except MemoryError as error:
        raise no_room_for(rank, len(data)) from error
    except _FAILURES as error:  # whatever a learner's class does
        raise SerializationError(
            f"what rank {rank} returned could not be loaded here: {_reason(error)}; "
            "return arrays, numbers, texts or lists of them",
            rank=rank,
        ) from error


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
        if isinstance(current, functools._lru_cache_wrapper):
            current = current.__wrapped__
        if is_dispatching(current) and id(current) not in seen:
            seen.add(id(current))  # its own variables are nobody's here
            for one in current.registry.values():
                visit(one)
        current = getattr(current, "__func__", getattr(current, "func", current))
        if not isinstance(current, types.FunctionType) or id(current) in seen:
            return
        seen.add(id(current))
        known = current.__globals__
        used = {name: known[name] for name in _names(current.__code__) if name in known}
        used |= inspect.getclosurevars(current).nonlocals
        for name, value in used.items():
            visit(value)
            found.setdefault(name, value)

    visit(fn)
    return found


def _names(code: types.CodeType) -> Iterator[str]:
    """List the names in a function, also those in what it defines: a lambda, a comprehension."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names(part)


def _travels(value: Any) -> bool:
    try:
        _size(value)
    except _FAILURES:
        return False
    return True


def largest_part(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, int]:
    """Find what makes a function large to copy.

    Parameters
    ----------
    fn, args : callable and tuple
        What ``pack_call`` packs.

    Returns
    -------
    what : str
        The argument, or the variable that the function uses, in words.
    n_bytes : int
        How large it is, packed.
    """
    parts = {f"argument {k + 1}, {_kind(value)}": _n_bytes(value) for k, value in enumerate(args)}
    for name, value in {_name(fn): fn, **_captured(fn)}.items():
        if isinstance(value, types.FunctionType):  # its own variables are in the list themselves
            defaults = (value.__defaults__, value.__kwdefaults__)
            parts[f"the default arguments of {name}"] = _n_bytes(defaults)
        else:
            parts[f"the variable {name!r} that it uses, {_kind(value)}"] = _n_bytes(value)
    return max(parts.items(), key=lambda part: part[1])


def _n_bytes(value: Any) -> int:
    try:
        return _size(value)
    except _FAILURES:  # no room for a copy of it, for one
        return int(getattr(value, "nbytes", 0))


def _kind(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"of type {type(value).__name__}{f' and shape {tuple(shape)}' if shape else ''}"


class _Count(io.RawIOBase):
    """A file that only counts what is written to it."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def writable(self) -> bool:
        """Take everything."""
        return True

    def write(self, data: Any, /) -> int:
        """Count it."""
        n_bytes = memoryview(data).nbytes
        self.n_bytes += n_bytes
        return n_bytes


def _size(value: Any) -> int:
    count = _Count()
    dump(value, count)
    return count.n_bytes
