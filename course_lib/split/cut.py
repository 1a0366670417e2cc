"""A cut: which rank has which units of a layer, channels of an image, rows of it."""

from collections.abc import Sequence
from typing import TypeAlias

from course_lib.words.split import split_evenly

__all__ = ["Cut", "checked_cut"]

Cut: TypeAlias = Sequence[slice]
"""One slice for each rank, in their order; together they are everything, none is empty."""


def checked_cut(cut: Cut | None, n_items: int, size: int, what: str) -> list[slice]:
    """Return a cut that can be used, or say what is wrong with it.

    Parameters
    ----------
    cut : sequence of slice or None
        What was asked for; None cuts evenly, into parts that differ by one at most.
    n_items : int
        How many units there are to distribute.
    size : int
        How many ranks there are.
    what : str
        What is cut, for the error: ``"outputs of fc6"``.

    Returns
    -------
    list of slice
        One for each rank.

    Raises
    ------
    ValueError
        If a rank would have none, or the parts are not everything, in order.
    """
    if cut is None and n_items < size:
        raise ValueError(
            f"each of {size} ranks must have one of the {n_items} {what} at least: "
            f"use {n_items} ranks at most"
        )
    parts = split_evenly(n_items, size) if cut is None else list(cut)
    if len(parts) != size:
        raise ValueError(f"cut must have a part for each of {size} ranks, got {len(parts)} parts")
    ends = [0]
    for part in parts:
        if part.step is not None or part.start != ends[-1]:
            raise ValueError(f"cut must distribute the {n_items} {what} in order, got {parts}")
        ends.append(part.stop)
    if ends[-1] != n_items:
        raise ValueError(f"cut must distribute all {n_items} {what}, got parts up to {ends[-1]}")
    for rank, part in enumerate(parts):
        if part.stop <= part.start:
            raise ValueError(
                f"cut must leave no rank without work: rank {rank} of {size} would have none of "
                f"the {n_items} {what}"
            )
    return parts
