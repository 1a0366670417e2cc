"""The one decorator of all collectives.

It puts them on the trace and their stamp on messages, and it ends autograd at their arguments.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from course_lib.comm.buffers import check_gradless
from course_lib.comm.collective_order import LAST, NUMBER_AT, ONE
from course_lib.comm.messages import ALLOWED_KINDS, check_carried, no_array
from course_lib.comm.tensors import is_tensor, overwritten, plain_tensor
from course_lib.comm.uncompiled import uncompiled

__all__ = ["collective"]

P = ParamSpec("P")
R = TypeVar("R")

_ARRAYS = ("array", "out")
_OURS = "course_lib.collectives."
_MISSING = np.empty(0)  # an array, so that Python says what is missing


def _is_plain(array: Any) -> bool:
    """Say whether it is none, or of a kind that computes without code of the learner's."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return array is None or type(array) in (np.ndarray, tensor)


def _no_communicator(name: str, args: Sequence[Any]) -> TypeError:
    got = f"{args[0]!r} ({type(args[0]).__name__})" if args else "none in that place"
    return TypeError(
        f"comm, the first argument of {name}(), must be the communicator that the function was "
        f"given, or one split from that; got {got}"
    )


def collective(fn: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as a collective: the trace shows who was in it and when.

    All ranks of a communicator must call its collectives in the same order and with the same
    options; while they are in one, their messages say in which, see
    ``course_lib.comm.collective_order``. One that is called inside another of the same communicator
    is a part of that.

    Autograd ends here, as at every message: the function sees an ``array`` without its graph, so
    what it returns has none, and never requires grad; an ``out`` that requires grad is refused.

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
    (at, only, usual), *further = options or [(sys.maxsize, "", None)]
    combines = any(option == "op" for _, option, _ in options)

    places = {p.name: at for at, p in enumerate(parameters, start=1) if p.name in _ARRAYS}
    array_at, out_at = (places.get(name, sys.maxsize) for name in _ARRAYS)
    # Where it may be left out, the root's alone counts, and the function asks there.
    array_counts = any(p.name == "array" and p.default is p.empty for p in parameters)
    stays_usual = False if fn.__module__.startswith(_OURS) else None

    def carried(array: Any, argument: str) -> None:
        """Refuse an array that no message could carry, also where none is sent of it."""
        if hasattr(array, "dtype"):  # what is no array at all, the function refuses
            check_carried(array, argument)

    def end_autograd(args: Any, kwargs: Any, array: Any, out: Any) -> tuple[Any, Any]:
        """Leave the graph of the array behind; refuse what no message can carry."""
        if is_tensor(out):
            check_gradless(out)
            plain_tensor(out, "out")
            overwritten(out)
        else:
            carried(out, "out")
        if not is_tensor(array):
            if array_counts:
                carried(array, "array")
            return args, kwargs
        array = plain_tensor(array, "array")
        if array_at < len(args):
            return (*args[:array_at], array, *args[array_at + 1 :]), kwargs
        return args, {**kwargs, "array": array}

    def agreed(args: Any, kwargs: Any) -> list[tuple[str, Any]]:
        """List what all ranks must agree on."""
        found = [
            (option, args[index] if index < len(args) else kwargs.get(option, default))
            for index, option, default in options
        ]
        if combines:
            array = args[1] if len(args) > 1 else kwargs.get("array", _MISSING)
            if not hasattr(array, "dtype"):
                raise no_array(array) from None
            found += [(name, getattr(array, name)) for name in ("shape", "dtype")]
        return found

    @wraps(fn)
    def traced(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            comm: Any = args[0]
            records = comm._records
        except (IndexError, AttributeError):
            raise _no_communicator(name, args) from None
        n_args = len(args)
        array: Any = args[array_at] if array_at < n_args else kwargs.get("array")
        out: Any = args[out_at] if out_at < n_args else kwargs.get("out")
        keeps = stays_usual
        if type(array) is not np.ndarray or (out is not None and type(out) is not np.ndarray):
            if not _is_plain(array) or not _is_plain(out):
                keeps = None  # arithmetic may be its own
            args, kwargs = end_autograd(args, kwargs, array, out)
        elif array_counts and array.dtype.kind not in ALLOWED_KINDS:
            check_carried(array)
        entered_s = comm._clock() if records else 0.0
        if comm._stamp:
            number = comm._stamp
            result = fn(*args, **kwargs)
        else:
            # In one piece, because a small all-reduce takes a few microseconds: what all ranks
            # must agree on, and from where it is called, is looked up as one key. A line may call
            # now one collective and now another.
            caller = sys._getframe(1)
            key: tuple[Any, ...] = ()
            try:
                value: Any = args[at] if at < n_args else kwargs.get(only, usual)
                if combines:
                    key = (fn, id(caller.f_code), caller.f_lasti, value, array.shape, array.dtype)
                else:
                    key = (fn, id(caller.f_code), caller.f_lasti, value)
                for index, option, default in further:
                    key += (args[index] if index < n_args else kwargs.get(option, default),)
                mark = comm._marks[key]
            except (AttributeError, KeyError, TypeError):  # new, or no array
                mark = comm._sites.add(key, name, agreed(args, kwargs), caller)
            number = comm._next_number
            comm._stamp = comm._last_stamp = number | mark
            comm._next_number = number + ONE & LAST
            comm._stays_usual = keeps
            try:
                result = fn(*args, **kwargs)
            except BaseException:
                comm._next_number = number  # what was refused does not count
                raise
            finally:
                comm._stamp = 0
                comm._stays_usual = None
        if records:
            comm._collective(name, number >> NUMBER_AT, entered_s)
        return result

    return uncompiled(traced)
