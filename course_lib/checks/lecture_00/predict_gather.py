"""Everybody sends to rank 0, rank 0 answers everybody: the price of it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run

__all__ = ["TASK", "sum_at_rank_0"]


def sum_at_rank_0(comm: Communicator, x: Any) -> Any:
    """Add the arrays of all ranks on rank 0, and send the sum to all.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    x : numpy.ndarray, any shape
        This rank's numbers, the same shape and dtype on every rank.

    Returns
    -------
    numpy.ndarray
        The sum over all ranks, on every rank.

    Notes
    -----
    Cost: 2 rounds; P - 1 messages of n bytes in and P - 1 out, all of them over rank 0's NIC.
    """
    if comm.rank != 0:
        comm.send(x, dst=0)
        return comm.recv(src=0)
    total = x.copy()
    for src in range(1, comm.size):
        comm.recv(src, out=total, op="sum")
    for dst in range(1, comm.size):
        comm.send(total, dst)
    return total


class PredictGather(PredictTask):
    """Messages and bytes of ``sum_at_rank_0``."""

    name = "predict_gather"
    title = "Predict the messages and bytes of a sum at rank 0, then measure them."
    units: ClassVar[Mapping[str, str]] = {
        "messages": "messages",
        "n_bytes": "bytes",
        "bytes_into_rank_0": "bytes",
    }
    questions = ("n_workers", "n_numbers")

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with more workers than four, so that a 4 means nothing."""
        return (6, 1000), (9, 300), (2, 1), (1, 50), (32, 0), (10, 4000)

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Run ``sum_at_rank_0`` on float64 numbers."""
        n_workers, n_numbers = numbers
        trace = run(
            sum_at_rank_0, np.zeros(n_numbers), workers=n_workers, backend="simulated"
        ).trace
        return {
            "messages": trace.n_messages,
            "n_bytes": trace.n_bytes,
            "bytes_into_rank_0": trace.bytes_received()[0],
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        workers, length = numbers
        others, n = workers - 1, 8 * length
        bits = ("bits", "these are bits; bytes are asked for: a float64 number has 8")
        answers = ("forgot-answers", "rank 0 answers everybody: those are messages too")
        self_send = (
            "counts-rank-0",
            "P - 1 come in and P - 1 go out, one for each of the others: rank 0 "
            "sends nothing to itself",
        )
        width = ("counts-numbers", "a float64 number has 8 bytes")
        return {
            "messages": [(*answers, others), (*self_send, 2 * workers), (*self_send, workers)],
            "n_bytes": [
                (*width, 2 * others * length), (*self_send, 2 * workers * n),
                (*bits, 16 * others * n),
                ("one-message", "these are the bytes of one message: how many are there?", n),
                ("object-size", "sys.getsizeof counts the object's header too: array.nbytes",
                 2 * others * (n + 112)),
                ("four-bytes", "float64 is 64 bits, which are 8 bytes", 2 * others * n // 2),
            ],
            "bytes_into_rank_0": [
                (*width, others * length), (*self_send, workers * n), (*bits, 8 * others * n),
                ("both-directions", "its answers go out of rank 0, not in", 2 * others * n),
                ("one-message", "one vector arrives from each of the others", n),
            ],
        }  # fmt: skip


TASK = PredictGather()
