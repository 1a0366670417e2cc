"""Whether a function can be called by a worker: asked before anything is started."""

import functools
import inspect
import reprlib
from typing import Any

__all__ = ["check_function"]


def check_function(fn: Any, args: tuple[Any, ...], first: str = "comm") -> None:
    """Refuse what cannot be called as ``fn(communicator, *args)`` and return a value.

    Parameters
    ----------
    fn : Any
        What the caller handed over.
    args : tuple
        Its further arguments.
    first : str, default: "comm"
        What an error calls the communicator.

    Raises
    ------
    TypeError
        If ``fn`` is no plain function, or takes other arguments.
    """
    if not callable(fn):
        raise TypeError(
            f"fn must be a function that takes a communicator, got {reprlib.repr(fn)} "
            f"({type(fn).__name__}); pass the function itself, without calling it"
        )
    kind, name = _called(fn)
    if inspect.iscoroutinefunction(kind) or inspect.isasyncgenfunction(kind):
        raise TypeError(f"fn must be a plain function, got the async function {name}")
    if inspect.isgeneratorfunction(kind):
        raise TypeError(f"fn must be a plain function, got the generator function {name}")
    try:
        signature = inspect.signature(fn)
    except ValueError:  # some built-in functions have no signature to look at
        return
    try:
        signature.bind(None, *args)
    except TypeError as error:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise TypeError(
            f"fn is called as {name}({first}, *args) with {len(args)} further argument(s), but its "
            f"signature is {name}{signature}: {error}"
        ) from None


def _called(fn: Any) -> tuple[Any, str]:
    """Return the function that a call ends in, and its name."""
    inner = inspect.unwrap(fn)
    while isinstance(inner, functools.partial):
        inner = inspect.unwrap(inner.func)
    if inspect.isroutine(inner) or inspect.isclass(inner):
        return inner, str(getattr(inner, "__name__", type(inner).__name__))
    return type(inner).__call__, type(inner).__name__
