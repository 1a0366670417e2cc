"""The one decorator of all collectives: it puts them on the trace, and their stamp on messages."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["collective"]

P = ParamSpec("P")
R = TypeVar("R")

_ARRAYS = ("array", "out")


def collective(fn: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as a collective: the trace shows who was in it and when.

    All ranks of a communicator must call its collectives in the same order and with the same
    options; while they are in one, their messages say in which, see ``course_lib.comm.order``. One
    that is called inside another of the same communicator is a part of that.

    Parameters
    ----------
    fn : callable
        A function whose first argument is a communicator. What it calls ``array`` and ``out`` may
        differ between ranks, but if it has an ``op``, their shapes and dtypes may not.

    Returns
    -------
    callable
        The same function, traced.
    """
    name = fn.__name__
    _, *parameters = inspect.signature(fn).parameters.values()
    options = [
        (index, option.name, option.default)
        for index, option in enumerate(parameters, start=1)
        if option.name not in _ARRAYS
    ]
    combines = any(option == "op" for _, option, _ in options)
    names = [option for _, option, _ in options] + ["shape", "dtype"] * combines

    def mark(args: Any, kwargs: Any, comm: Any) -> int:
        """Find what the stamps of this call have in common with those of the last one here."""
        caller = sys._getframe(2)
        n_args = len(args)
        key: tuple[Any, ...] = (id(caller.f_code), caller.f_lasti)
        for index, option, default in options:
            key += (args[index] if index < n_args else kwargs.get(option, default),)
        if combines:
            array = args[1] if n_args > 1 else kwargs.get("array")
            key += (getattr(array, "shape", ()), getattr(array, "dtype", None))
        found: int
        try:
            found = comm._sites.marks[key]
            return found
        except (KeyError, TypeError):
            found = comm._sites.add(key, name, list(zip(names, key[2:], strict=True)), caller)
            return found

    @wraps(fn)
    def traced(*args: P.args, **kwargs: P.kwargs) -> R:
        comm: Any = args[0]
        entered_s = comm._clock()
        if comm._stamp:
            result = fn(*args, **kwargs)
        else:
            comm._enter(mark(args, kwargs, comm))
            try:
                result = fn(*args, **kwargs)
            except BaseException:
                comm._leave(in_vain=True)
                raise
            comm._leave()
        comm._collective(name, entered_s)
        return result

    return traced
