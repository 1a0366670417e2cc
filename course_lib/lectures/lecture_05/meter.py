"""What tells all-reduces apart whose sums are all right: the bytes that they send."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.measure import virtual_s
from course_lib.viz import Table, table

__all__ = ["meter", "vectors_sent"]


def vectors_sent(allreduce: Callable[..., Any], workers: int, length: int) -> float:
    """Return how many vectors' worth of bytes the busiest rank sends.

    Parameters
    ----------
    allreduce : callable
        What to run.
    workers : int
        How many ranks.
    length : int
        How many numbers the vector has.

    Returns
    -------
    float
        Bytes sent, by the bytes of the vector.
    """
    made = run(_of_ranks, allreduce, length, workers=workers, backend="simulated")
    return float(max(made.trace.bytes_sent()) / (8 * length))


def meter(allreduces: Mapping[str, Callable[..., Any]], n_bytes: int) -> Table:
    """Lay out the sum of 1, 2, 3 and 4, the vectors that a rank sends, and the time.

    Parameters
    ----------
    allreduces : mapping of str to callable
        What to run, by name.
    n_bytes : int
        How long the vectors are, a multiple of 128.

    Returns
    -------
    Table
        With 4 and with 16 ranks, on ten-gigabit Ethernet.
    """
    rows = {}
    for name, allreduce in allreduces.items():
        made = run(_of_ranks, allreduce, 4, workers=4, backend="simulated").values
        rows[name] = {
            "sum on all four": ", ".join(sorted({f"{x:g}" for total in made for x in total})),
            **{
                f"a rank sends, P = {P}": f"{vectors_sent(allreduce, P, n_bytes // 8):g} n"
                for P in (4, 16)
            },
            "time, P = 16": virtual_s(allreduce, 16, n_bytes),
        }
    return table(rows, units={"time, P = 16": "s"})


def _of_ranks(
    comm: Communicator, allreduce: Callable[..., Any], length: int
) -> NDArray[np.float64]:
    total: NDArray[np.float64] = allreduce(comm, np.full(length, comm.rank + 1.0))
    return total
