"""What the tasks of this set share: examples, training on paper, and the price of all-reduces."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.task import Hint, Price
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.models.linear_regression import LinearRegression

__all__ = ["left_out", "most", "random_examples", "reference", "simulate"]

Array = NDArray[np.float64]
Rows = Sequence[Any]
"""For each rank, what selects its rows."""


def random_examples(rng: np.random.Generator, n_rows: int, n_features: int) -> tuple[Array, Array]:
    """Draw examples whose columns have neither mean 0 nor equal scales."""
    scales = np.arange(1, n_features + 1)
    X = rng.normal(size=(n_rows, n_features)) / scales + 0.3
    return X, X @ (scales - 2.0) + 5 + rng.normal(size=n_rows)


def simulate(
    starts: Sequence[Array],
    batches: Sequence[Rows],
    X: Array,
    y: Array,
    combine: Callable[[list[Array], list[int]], list[Array]],
    rate: float,
) -> list[Array]:
    """Train on paper: what every rank holds at the end.

    Parameters
    ----------
    starts : sequence of numpy.ndarray, shape (d + 1,)
        Each rank's first parameters.
    batches : sequence of sequence
        For each step and each rank, which rows it takes; perhaps none.
    X, y : numpy.ndarray, shapes (m, d) and (m,)
        The examples.
    combine : callable
        Makes, of the ranks' mean gradients (zeros without rows) and numbers of rows, the
        gradient that each rank steps along.
    rate : float
        The learning rate.

    Returns
    -------
    list of numpy.ndarray
        The parameters by rank.
    """
    model = LinearRegression(X.shape[1])
    held = [w.copy() for w in starts]
    for parts in batches:
        counts = [len(y[rows]) for rows in parts]
        grads = [
            model.gradient(w, (X[rows], y[rows]))[1] if count else np.zeros_like(w)
            for w, rows, count in zip(held, parts, counts, strict=True)
        ]
        along = combine(grads, counts)
        held = [w - rate * grad for w, grad in zip(held, along, strict=True)]
    return held


def left_out(kind: str, text: str) -> Hint | None:
    """Explain an all-reduce that some rank never enters, and ranks in different collectives."""
    entered = set(re.findall(r"\bin (\w+) #", text))
    if kind == "CollectiveMismatchError" and len(entered) > 1:
        return Hint(
            "other-collective",
            f"one rank is in {' while another is in '.join(sorted(entered))}: all ranks call the "
            "same collectives in the same order, also where a rank has nothing to add",
        )
    if kind == "DeadlockError" and " of allreduce" not in text and " of broadcast" not in text:
        return None
    if kind not in ("PeerFinishedError", "DeadlockError", "CollectiveMismatchError"):
        return None
    return Hint(
        "left-out",
        "a rank leaves out an all-reduce that the others wait in: it takes part in every one, and "
        "adds zeros where it has no examples",
    )


@cache
def reference(size: int, lengths: tuple[int, ...], broadcast: int = 0) -> Price:
    """Count what rings of so many numbers cost, and a broadcast of so many down a tree."""
    from course_lib.collectives import allreduce_ring, broadcast_tree

    def program(comm: Communicator) -> None:
        if broadcast:
            broadcast_tree(comm, np.zeros(broadcast))
        for length in lengths:
            allreduce_ring(comm, np.zeros(length))

    trace = run(program, workers=size, backend="simulated").trace
    busiest = max([*trace.bytes_sent(), *trace.bytes_received()])
    return Price(trace.n_messages, trace.n_bytes, busiest)


def most(size: int, lengths: Sequence[int], broadcast: int = 0) -> Price:
    """Leave room for a server, a tree, a butterfly or a ring; not for everybody telling all."""
    core = 1 << (size.bit_length() - 1)  # the largest power of two that is not above P
    butterfly = core * (core.bit_length() - 1) + 2 * (size - core)
    others, numbers = size - 1, sum(lengths)
    return Price(
        len(lengths) * 2 * size * others + others * (broadcast > 0),
        8 * (max(2 * others, butterfly) * numbers + others * broadcast),
        8 * others * (numbers + broadcast),
    )
