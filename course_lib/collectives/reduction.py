"""What all reductions share: the names of the operations, a flat working copy, the finish."""

from typing import Any

import array_api_compat

from course_lib.comm.messages import Array

__all__ = ["finish", "flat_copy", "message_op"]

_MESSAGE_OP = {"sum": "add", "mean": "add", "max": "max", "min": "min"}


def message_op(op: str, array: Array) -> str:
    """Translate a collective's ``op`` into the one that ``recv`` applies to each message.

    Parameters
    ----------
    op : {"sum", "mean", "max", "min"}
        What the collective computes.
    array : numpy.ndarray or torch.Tensor
        What will be combined; its dtype decides whether there is a mean.

    Returns
    -------
    {"add", "max", "min"}
        A mean is added up first and divided at the end.

    Raises
    ------
    ValueError
        If ``op`` is unknown, or asks for the mean of whole numbers, which is rarely whole.
    """
    if op not in _MESSAGE_OP:
        raise ValueError(f"op must be one of {', '.join(map(repr, _MESSAGE_OP))}, got {op!r}")
    if op == "mean" and not _is_floating(array):
        raise ValueError(
            f"op='mean' needs floating-point numbers, got dtype {array.dtype}: "
            "the mean of whole numbers is rarely whole; convert the array, or use op='sum'"
        )
    return _MESSAGE_OP[op]


def flat_copy(array: Array) -> Array:
    """Copy an array of any shape and memory order into a new contiguous vector.

    Parameters
    ----------
    array : numpy.ndarray or torch.Tensor, any shape
        What to copy.

    Returns
    -------
    numpy.ndarray or torch.Tensor, shape (n,)
        The elements in C order.
    """
    xp = array_api_compat.array_namespace(array)
    return xp.reshape(array, (-1,), copy=True)


def finish(total: Array, op: str, n_ranks: int, like: Array, out: Array | None) -> Array:
    """Give a reduced vector its shape, and divide it where a mean was asked for.

    Parameters
    ----------
    total : numpy.ndarray or torch.Tensor, shape (n,)
        What all ranks have together; it is modified.
    op : {"sum", "mean", "max", "min"}
        What the collective computes.
    n_ranks : int
        What to divide by for a mean.
    like : numpy.ndarray or torch.Tensor
        The array whose shape the result gets.
    out : array or None
        Where to put the result.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        ``out`` where it was given.
    """
    if op == "mean":
        total /= n_ranks
    xp = array_api_compat.array_namespace(total)
    result = xp.reshape(total, like.shape)
    if out is None:
        return result
    out[...] = result
    return out


def _is_floating(array: Any) -> bool:
    xp = array_api_compat.array_namespace(array)
    return bool(xp.isdtype(array.dtype, ("real floating", "complex floating")))
