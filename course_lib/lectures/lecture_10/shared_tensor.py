"""The same steps on memory that processes share: PyTorch's, and ours. And a counter on both."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator

__all__ = ["RATE", "count_with_torch", "count_with_us", "torch_steps", "two_halves"]

RATE = 0.1


def two_halves(
    rows: int = 100, touched: int = 5, columns: int = 1000, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Draw sparse rows for two workers that have no column in common.

    Parameters
    ----------
    rows, touched : int, default: 100 and 5
        How many rows each has, and how many columns a row has.
    columns : int, default: 1000
        How many there are; the first half is one worker's.
    seed : int, default: 0
        Of the rows.

    Returns
    -------
    where : numpy.ndarray of int, shape (2, rows, touched)
        The columns of each row.
    values : numpy.ndarray, shape (2, rows, touched)
        What stands there.
    targets : numpy.ndarray, shape (2, rows)
        What the row is to give.
    """
    rng = np.random.default_rng(seed)
    half = columns // 2
    where = np.array([
        [start + np.sort(rng.permutation(half)[:touched]) for _ in range(rows)]
        for start in (0, half)
    ])  # fmt: skip
    return where, rng.normal(size=where.shape), rng.normal(size=where.shape[:2])


def torch_steps(process: int, w: Any, where: Any, values: Any, targets: Any) -> None:
    """Take a step for each row of this process, on a tensor that all processes share.

    Parameters
    ----------
    process : int
        Which one it is.
    w : torch.Tensor, shape (columns,)
        The parameters, in shared memory.
    where, values, targets : torch.Tensor
        As ``two_halves`` draws them.
    """
    for j, x, target in zip(where[process], values[process], targets[process], strict=True):
        w[j] -= RATE * (w[j] @ x - target) * x


def count_with_torch(process: int, counter: Any, ready: Any, n: int) -> None:
    """Add 1 to a shared tensor, many times, once all processes are there.

    Parameters
    ----------
    process : int
        Which one it is.
    counter, ready : torch.Tensor
        In shared memory: the counter, and a number for each process.
    n : int
        How often.
    """
    ready[process] = 1
    while not ready.all():
        pass
    for _ in range(n):
        counter[0] += 1


def count_with_us(comm: Communicator, n: int) -> int:
    """Add 1 to a shared array, many times.

    Parameters
    ----------
    comm : Communicator
        The ranks that do.
    n : int
        How often each.

    Returns
    -------
    int
        What the counter says in the end.
    """
    counter = comm.shared_array(1)
    comm.barrier()
    for _ in range(n):
        counter[0] += 1
    comm.barrier()
    return int(counter[0])
