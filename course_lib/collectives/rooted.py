"""What is asked of the root, and of the array that it alone has."""

from typing import Any

from course_lib.comm.messages import Array, check_carried
from course_lib.words.whole import as_int

__all__ = ["check_given", "check_root"]


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
    TypeError
        If it is no int.
    ValueError
        If there is no such rank.
    """
    if as_int(root) is None:
        raise TypeError(
            f"root must be a rank, an int from 0 to {size - 1}, "
            f"got {root!r} of type {type(root).__name__}"
        )
    if not 0 <= root < size:
        raise ValueError(f"root must be a rank from 0 to {size - 1}, got {root}")


def check_given(array: Array | None, root: int) -> Array:
    """Return what the root gives away, or refuse it; what other ranks have does not count.

    Parameters
    ----------
    array : numpy.ndarray or torch.Tensor or None
        What was handed in on the root.
    root : int
        Its rank.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        The array.

    Raises
    ------
    ValueError
        If there is none.
    TypeError
        If no message could carry it, also where none is sent.
    """
    if array is None:
        raise ValueError(f"array must be given on the root, rank {root}, got None")
    check_carried(array)
    return array
