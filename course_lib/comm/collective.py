"""The one decorator of all collectives: it puts them on the trace."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["collective"]

P = ParamSpec("P")
R = TypeVar("R")


def collective(fn: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as a collective, so that the trace shows who was in it and when.

    Parameters
    ----------
    fn : callable
        A function whose first argument is a communicator.

    Returns
    -------
    callable
        The same function, traced.
    """

    @wraps(fn)
    def traced(*args: P.args, **kwargs: P.kwargs) -> R:
        comm: Any = args[0]
        entered_s = comm.clock()
        result = fn(*args, **kwargs)
        comm._collective(fn.__name__, entered_s)
        return result

    return traced
