"""What collectives do with their arguments: checks, copies, the shape of a result."""

from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from course_lib.comm.messages import OPS, Array, check_op, no_array, unknown_op
from course_lib.words.namespace import namespace
from course_lib.words.whole import whole

__all__ = [
    "check_combines", "check_rows", "check_same", "check_writable",
    "combine_into", "copy_into", "finish", "join", "whole", "working_copy",
]  # fmt: skip


def check_combines(op: str, array: Array) -> None:
    """Refuse an operation that there is not, or that cannot combine such elements.

    Parameters
    ----------
    op : {"sum", "max", "min"}
        What the collective computes.
    array : numpy.ndarray or torch.Tensor
        What will be combined.

    Raises
    ------
    ValueError
        If ``op`` is unknown.
    TypeError
        If such elements cannot be combined so: a sum of bools, for one, would be a logical or.
    """
    if not isinstance(op, str):  # a list could not even be looked up
        raise unknown_op(op)
    _check_combines(op, array.dtype)


@cache  # a small all-reduce takes a few microseconds
def _check_combines(op: str, dtype: Any) -> None:
    check_op(op, _kind(dtype), dtype)


def _kind(dtype: Any) -> str:
    """Say with NumPy's letter what elements of a dtype are, NumPy's or torch's."""
    if isinstance(dtype, np.dtype):
        return dtype.kind
    name = str(dtype)
    letters = {"bool": "b", "complex": "c", "float": "f"}
    return next((letter for word, letter in letters.items() if word in name), "i")


def check_rows(array: Array) -> None:
    """Refuse a single number where rows are to be cut or put together.

    Parameters
    ----------
    array : numpy.ndarray or torch.Tensor
        What was handed in.

    Raises
    ------
    TypeError
        If it is no array.
    ValueError
        If it has no first axis.
    """
    try:
        n_axes = len(array.shape)
    except AttributeError:
        raise no_array(array) from None
    if n_axes == 0:
        raise ValueError("array must have at least one axis, got a single number of shape ()")


def check_writable(out: Array | None) -> None:
    """Refuse an ``out`` that cannot be written, before anything has been sent.

    Parameters
    ----------
    out : array or None
        What was handed in.

    Raises
    ------
    TypeError
        If it is a number of NumPy's, which looks like an array without axes and never changes.
    ValueError
        If it is read-only.
    """
    if isinstance(out, np.generic):
        raise TypeError(f"out must be an array, got a number, {out!r}: np.zeros(()) is an array")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out must be writable, got a read-only array; pass out=array.copy()")


def check_same(out: Array, shape: Any, dtype: Any) -> None:
    """Refuse an ``out`` that the result does not fit.

    Parameters
    ----------
    out : numpy.ndarray or torch.Tensor
        What was handed in.
    shape : tuple of int
        The result's shape.
    dtype : numpy or torch dtype
        The result's dtype.

    Raises
    ------
    ValueError
        If they differ; it names both sides.
    """
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(
            f"out must have shape {tuple(shape)} and dtype {dtype}, got shape {tuple(out.shape)} "
            f"and dtype {out.dtype}"
        )


def copy_into(array: Array, out: Array | None) -> Array:
    """Return a copy of ``array``, in ``out`` where that is given.

    Parameters
    ----------
    array : numpy.ndarray or torch.Tensor, any shape
        What to copy.
    out : array or None
        Where to put it.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        ``out`` where it was given, else a new array.

    Raises
    ------
    ValueError
        If ``out`` has another shape or dtype than ``array``.
    """
    if out is None:
        xp = namespace(array)  # rows one after the other, however they lay: they are sent alone
        return xp.reshape(xp.reshape(array, (-1,), copy=True), array.shape)
    if out is not array:
        check_same(out, array.shape, array.dtype)
        out[...] = array
    return out


def join(parts: list[Array], out: Array | None) -> Array:
    """Put arrays one after another along their first axis.

    Parameters
    ----------
    parts : list of arrays, shape (rows, ...)
        One of each rank, all alike but for their number of rows.
    out : array or None
        Where to put the result.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        ``out`` where it was given, else a new array.

    Raises
    ------
    ValueError
        If rows have different shapes, or ``out`` has another shape or dtype than the result.
    """
    for rank, part in enumerate(parts):
        if part.ndim == 0 or part.shape[1:] != parts[0].shape[1:]:
            raise ValueError(
                "arrays may differ between ranks in their number of rows only, got shape "
                f"{tuple(parts[0].shape)} from rank 0 and {tuple(part.shape)} from rank {rank}"
            )
    xp = namespace(parts[0])
    if len({part.dtype for part in parts}) > 1:
        joined = xp.concat(parts, axis=0)  # of a dtype that holds them all
    else:
        joined = _joined(parts, xp)
    return joined if out is None else copy_into(joined, out)


def _joined(parts: list[Array], xp: Any) -> Array:
    """Copy them; ``concat`` would change the order of bytes, and refuses float16 under autocast."""
    first, begin = parts[0], 0
    shape = (sum(len(part) for part in parts), *first.shape[1:])
    joined = xp.empty(shape, dtype=first.dtype, device=first.device)
    for part in parts:
        joined[begin : begin + len(part)] = part
        begin += len(part)
    return joined


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
        xp = namespace(array)
        return xp.reshape(array, (-1,), copy=True)
    check_writable(out)
    if out is not array:
        check_same(out, array.shape, array.dtype)
    if not _is_contiguous(out):
        return working_copy(array, None)
    if out is not array:
        out[...] = array
    return out.reshape(-1)


def finish(total: Array, like: Array, out: Array | None) -> Array:
    """Give a reduced vector its shape.

    Parameters
    ----------
    total : numpy.ndarray or torch.Tensor, shape (n,)
        What all ranks have together, in what ``working_copy`` returned.
    like : numpy.ndarray or torch.Tensor
        The array whose shape the result gets.
    out : array or None
        Where to put the result.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        ``out`` where it was given.
    """
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
    op : {"sum", "max", "min"}
        How two elements become one.
    """
    views = total, part
    if not isinstance(total, np.ndarray):
        # As messages do, with NumPy: torch adds complex numbers in another way.
        with suppress(TypeError, RuntimeError):  # bfloat16, for one, or on a GPU
            views = total.numpy(), part.numpy()
    if isinstance(views[0], np.ndarray):
        OPS[op](*views, out=views[0])
    elif op == "sum":
        total += part
    else:
        xp = namespace(total)
        total[...] = (xp.maximum if op == "max" else xp.minimum)(total, part)


def _is_contiguous(array: Any) -> bool:
    if isinstance(array, np.ndarray):
        return array.flags.c_contiguous
    return bool(array.is_contiguous())
