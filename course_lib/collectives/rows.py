"""What collectives that move rows share: checks of their arguments, copies, rows put together."""

from typing import Any

import array_api_compat
import numpy as np

from course_lib.comm.messages import Array, no_array

__all__ = ["check_root", "check_rows", "check_same", "check_writable", "copy_into", "join"]


def check_root(root: Any, size: int) -> None:
    """Refuse a root that is no rank.

    Parameters
    ----------
    root : int
        The rank that has, or gets, everything.
    size : int
        How many ranks there are.

    Raises
    ------
    ValueError
        If there is no such rank.
    """
    if not 0 <= root < size:
        raise ValueError(f"root must be a rank from 0 to {size - 1}, got {root}")


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
    ValueError
        If it is read-only.
    """
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
        return array_api_compat.array_namespace(array).asarray(array, copy=True)
    if out is not array:
        check_same(out, array.shape, array.dtype)
        out[...] = array
    return out


def join(parts: list[Array], out: Array | None) -> Array:
    """Put arrays one after another along their first axis.

    Parameters
    ----------
    parts : list of arrays, shape (rows, ...)
        One or more, all alike but for their number of rows.
    out : array or None
        Where to put the result.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        ``out`` where it was given, else a new array.

    Raises
    ------
    ValueError
        If ``out`` has another shape or dtype than the result.
    """
    xp = array_api_compat.array_namespace(parts[0])
    joined = xp.concat(parts, axis=0)
    return joined if out is None else copy_into(joined, out)
