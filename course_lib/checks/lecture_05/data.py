"""What the all-reduces of this set are tried on: arrays of every length, type and layout."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.task import Case
from course_lib.trace import fingerprint

__all__ = ["cases_of", "make", "n_bytes", "weights_case"]

_LONG = 20_000
"""Numbers whose eighth part does not fit into a message that ``send`` copies: 20,000 bytes."""


def cases_of(sizes: Sequence[int], secret: int) -> Iterator[Case]:
    """Yield cases for all numbers of workers: first those whose results can be decoded.

    Parameters
    ----------
    sizes : sequence of int
        The numbers of workers, the most readable first.
    secret : int
        Seeds the random cases.

    Yields
    ------
    Case
        With the settings ``data``, ``shape``, ``dtype`` and ``layout``.
    """
    for size in sizes:
        yield weights_case(size)
    for size in (4, 7):
        yield Case(size, f"rank r has 100 r, 100 r + 1, ... ({2 * size} numbers)", calls=1,
                   settings=_settings("positions", (2 * size,)))  # fmt: skip
    for number, size in enumerate(sizes):
        yield from _random_cases(size, secret + number)
    for size in (4, 8):
        yield Case(size, f"{_LONG:,} random numbers", seed=secret, calls=1,
                   settings=_settings("random", (_LONG,)))  # fmt: skip


def weights_case(size: int) -> Case:
    """Make the case whose sums tell who is in them, two numbers for each rank."""
    return Case(size, f"rank r has {size + 1}**r, {2 * size} times", calls=1,
                settings=_settings("weights", (2 * size,)))  # fmt: skip


def make(case: Case, rank: int, call: int) -> NDArray[Any]:
    """Make one rank's array."""
    data, shape, dtype = (case.settings[key] for key in ("data", "shape", "dtype"))
    if data == "weights":
        values = np.full(shape, fingerprint.weight(rank, case.workers), dtype)
    elif data == "positions":
        values = np.arange(100 * rank, 100 * rank + shape[0], dtype=dtype)
    elif dtype == "int64":  # too many digits for a float on the way
        values = case.rng(rank, call).integers(-(2**58), 2**58, size=shape)
    else:
        values = (case.rng(rank, call).normal(size=shape) * 100).astype(dtype)
    if case.settings["layout"] == "every second row":
        wide = np.zeros((2 * shape[0], *shape[1:]), dtype)
        wide[::2] = values
        return wide[::2]
    return values


def n_bytes(case: Case) -> int:
    """Say how many bytes one rank's array has."""
    return int(math.prod(case.settings["shape"]) * np.dtype(case.settings["dtype"]).itemsize)


def _settings(
    data: str, shape: tuple[int, ...], dtype: str = "float64", layout: str = "plain"
) -> dict[str, Any]:
    return {"data": data, "shape": shape, "dtype": dtype, "layout": layout}


def _random_cases(size: int, seed: int) -> Iterator[Case]:
    """Yield lengths that P does not divide, other dtypes and shapes, and every way of sending."""
    tried = set()
    for shape, dtype, layout, rendezvous, stagger in (
        ((size,), "float64", "plain", True, False),
        ((size + 1,), "int64", "plain", False, True),
        ((size - 1,), "float32", "plain", False, False),
        ((1,), "float64", "plain", False, True),
        ((0,), "float64", "plain", False, False),
        ((13, 2), "float64", "every second row", True, False),
    ):
        if shape in tried:  # 1 is 2 - 1, for example
            continue
        tried.add(shape)
        words = f"random {dtype} of shape {shape}"
        yield Case(
            size, words if layout == "plain" else f"{words}, {layout} of a larger array",
            seed=seed, rendezvous=rendezvous, stagger=stagger,
            settings=_settings("random", shape, dtype, layout),
        )  # fmt: skip
