"""What a call has done to its arguments: changed them, or returned a part of them."""

from typing import Any

import numpy as np

__all__ = ["copy_of", "overlap", "same"]

_MOST_WORK = 1_000_000


def copy_of(value: Any) -> Any:
    """Copy arrays, and the lists, tuples, sets and dicts they are in; leave others as they are.

    Parameters
    ----------
    value : object
        An argument.

    Returns
    -------
    object
        What stays as it is, whatever happens to the argument.
    """
    if type(value) in (list, tuple, set):
        return type(value)(copy_of(item) for item in value)
    if type(value) is dict:
        return {key: copy_of(item) for key, item in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def same(before: Any, after: Any) -> bool:
    """Tell whether two values are alike: numbers to the last bit, and dicts in their order.

    Parameters
    ----------
    before, after : object
        Arguments or results, perhaps lists, tuples, sets or dicts of them.

    Returns
    -------
    bool
        False of different types.
    """
    if type(before) is not type(after):
        return False
    if type(before) in (list, tuple):
        return len(before) == len(after) and all(map(same, before, after))
    if type(before) is dict:
        return same(list(before.items()), list(after.items()))
    if isinstance(before, np.ndarray):
        return bool(before.shape == after.shape and before.tobytes() == after.tobytes())
    return before is after or bool(before == after)  # NaN is not even itself


def overlap(value: Any, argument: Any) -> bool:
    """Tell whether a result and an argument share memory.

    Parameters
    ----------
    value, argument : object
        Arrays, or lists of them; others share none.

    Returns
    -------
    bool
        True also where it is too hard to tell.
    """
    if isinstance(value, tuple | list):
        return any(overlap(item, argument) for item in value)
    if isinstance(argument, list):
        return any(overlap(value, item) for item in argument)
    if not (isinstance(value, np.ndarray) and isinstance(argument, np.ndarray)):
        return False
    try:
        return bool(np.shares_memory(value, argument, max_work=_MOST_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:  # woven into each other, if not the same
        return True
