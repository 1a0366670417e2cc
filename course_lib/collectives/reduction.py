"""What all reductions share: the operations, a flat working copy, the finish."""

from functools import cache
from typing import Any

import array_api_compat
import numpy as np

from course_lib.collectives.rows import check_same, check_writable
from course_lib.comm.messages import Array, check_op

__all__ = [
    "combine_into",
    "finish",
    "message_op",
    "working_copy",
]

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
    TypeError
        If such elements cannot be combined so: a sum of bools, for one, would be a logical or.
    """
    return _message_op(op, array.dtype)


@cache
def _message_op(op: str, dtype: Any) -> str:
    if op not in _MESSAGE_OP:
        raise ValueError(f"op must be one of {', '.join(map(repr, _MESSAGE_OP))}, got {op!r}")
    kind = _kind(dtype)
    if op == "mean" and kind not in "fc":
        raise ValueError(
            f"op='mean' needs floating-point numbers, got dtype {dtype}: "
            "the mean of whole numbers is rarely whole; convert the array, or use op='sum'"
        )
    check_op(_MESSAGE_OP[op], kind, dtype, op)
    return _MESSAGE_OP[op]


def _kind(dtype: Any) -> str:
    """Say with NumPy's letter what elements of a dtype are, NumPy's or torch's."""
    if isinstance(dtype, np.dtype):
        return dtype.kind
    name = str(dtype)
    letters = {"bool": "b", "complex": "c", "float": "f"}
    return next((letter for word, letter in letters.items() if word in name), "i")


def working_copy(array: Array, out: Array | None) -> Array:
    """Copy an array of any shape and memory order into a contiguous vector to work on.

    Parameters
    ----------
    array : numpy.ndarray or torch.Tensor, any shape
        What to copy.
    out : array or None
        Where the result is wanted; the vector is a view of it where its elements lie in one run,
        so that nothing has to be copied at the end.

    Returns
    -------
    numpy.ndarray or torch.Tensor, shape (n,)
        The elements in C order.

    Raises
    ------
    ValueError
        If ``out`` is read-only, or has another shape or dtype than ``array``.
    """
    if out is None:
        xp = array_api_compat.array_namespace(array)
        return xp.reshape(array, (-1,), copy=True)
    check_writable(out)
    if out is not array:
        check_same(out, array.shape, array.dtype)
    if not _is_contiguous(out):
        return working_copy(array, None)
    if out is not array:
        out[...] = array
    return out.reshape(-1)


def finish(total: Array, op: str, n_ranks: int, like: Array, out: Array | None) -> Array:
    """Give a reduced vector its shape, and divide it where a mean was asked for.

    Parameters
    ----------
    total : numpy.ndarray or torch.Tensor, shape (n,)
        What all ranks have together, in what ``working_copy`` returned; it is modified.
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
    if out is None:
        return total.reshape(like.shape)
    if not _is_contiguous(out):
        out[...] = total.reshape(like.shape)
    return out


def combine_into(total: Array, part: Array, op: str) -> None:
    """Combine ``part`` into ``total``, as ``recv`` does with a message while it arrives.

    Parameters
    ----------
    total, part : numpy.ndarray or torch.Tensor
        Arrays of one shape and dtype; ``total`` is modified.
    op : {"add", "max", "min"}
        How two elements become one.
    """
    if op == "add":
        total += part
        return
    xp = array_api_compat.array_namespace(total)
    total[...] = (xp.maximum if op == "max" else xp.minimum)(total, part)


def _is_contiguous(array: Any) -> bool:
    if isinstance(array, np.ndarray):
        return array.flags.c_contiguous
    return bool(array.is_contiguous())
