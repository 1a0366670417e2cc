"""Where a message may be put: what ``out`` and ``op`` have to be, asked before anything is sent."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.messages import (
    ALLOWED_KINDS,
    COMBINED_KINDS,
    OPS,
    check_op,
    to_numpy,
    unknown_op,
)
from course_lib.comm.tensors import is_tensor, overwritten

__all__ = ["check_gradless", "check_out"]

_MOST_WORK = 100_000  # to answer exactly takes time exponential in the axes


def check_gradless(out: Any) -> None:
    """Refuse to receive into a tensor that requires grad.

    Raises
    ------
    ValueError
        If it does; nothing has been sent or received then.
    """
    if getattr(out, "requires_grad", False):
        raise ValueError(
            "out must be a tensor that does not require grad: autograd ends at a message; pass "
            "out=out.detach(), which shares its memory, when nothing is left to differentiate"
        )


def check_out(
    out: Any,
    op: Any,
    to_data: Callable[[Any, str], tuple[NDArray[Any], str]] = to_numpy,
) -> NDArray[Any] | None:
    """Return ``out`` as a writable NumPy array (or None), or say why it cannot be received into.

    ``to_data`` is what makes that array of it; a world that moves other tensors has its own.
    """
    if op is not None and not (isinstance(op, str) and op in OPS):
        raise unknown_op(op, " or None")
    if out is None:
        if op is not None:
            raise ValueError(f"op={op!r} combines a message into out, but out was not given")
        return None
    if type(out) is np.ndarray and (kind := out.dtype.kind) in ALLOWED_KINDS:
        data = out
    else:
        check_gradless(out)
        data, _ = to_data(out, "out")
        kind = data.dtype.kind
    if op is not None and kind not in COMBINED_KINDS[op]:
        check_op(op, kind, data.dtype)
    # What is no array of NumPy lies on a GPU; one in one writable piece needs no closer look.
    if type(data) is np.ndarray and not data.flags.carray:
        _check_memory(data)
    if data is not out and is_tensor(out):
        overwritten(out)
    return data


def _check_memory(data: NDArray[Any]) -> None:
    flags = data.flags
    if not flags.writeable:
        raise ValueError("out must be writable, got a read-only array; pass out=array.copy()")
    if not flags.forc and _overlaps_itself(data):
        raise ValueError(
            "out must have memory for each of its elements, got an expanded array, or another view "
            "whose elements share it; pass an array that was made in that shape"
        )


def _overlaps_itself(array: NDArray[Any]) -> bool:
    """Tell whether two elements share memory, and so cannot both be received.

    Two elements are at most as far apart in memory as all axes with smaller steps reach. Where each
    step is larger than that, as in every array that has been transposed or sliced, none overlap.
    Otherwise each axis is asked in turn whether elements that differ first in it meet. How far
    apart two of them are depends on their distance in each axis alone, so the one may be the first.
    """
    reach = array.itemsize
    for step, n in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if n > 1 and step < reach:
            break
        reach += step * (n - 1)
    else:
        return False
    # What is too hard to find out counts as shared: nobody makes such a view to receive into.
    firsts = (array[(0,) * axis] for axis in range(array.ndim))
    return any(
        np.may_share_memory(one[:1], one[1:], max_work=_MOST_WORK)  # type: ignore[arg-type]
        for one in firsts
    )
