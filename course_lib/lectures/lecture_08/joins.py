"""The join of a hybrid: whose examples are where, in Krizhevsky's three ways."""

import re

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.lectures.lecture_08.held import Cells, in_order
from course_lib.split import JOINS
from course_lib.trace.events import Compute, Message
from course_lib.viz import Player, player
from course_lib.words.split import split_evenly

__all__ = ["JOIN_NAMES", "join_player"]

JOIN_NAMES = {
    "(a) all at once": "all_at_once",
    "(b) by turns": "by_turns",
    "(c) by slices": "by_slices",
}
"""What a page calls the functions of ``JOINS``."""

_EXAMPLES, _FEATURES = 32, 512  # of a rank, and of an example before the split layers
_EXAMPLE_S = 4e-6  # what a rank's units take for one, forward and back
_STARTED = re.compile(r"start (\d+)$")

Array = NDArray[np.float64]


def join_player(join: str, workers: int = 4) -> Player:
    """Play a join: in each box a cell for the examples of each rank, as far as they are there.

    Parameters
    ----------
    join : str
        A name of ``JOINS``.
    workers : int, default: 4
        How many ranks.

    Returns
    -------
    Player
        Examples come, are computed with and let go; their slopes go back.
    """
    trace = run(_joined, join, workers=workers, backend="simulated").trace
    cells = Cells(trace, workers, workers, called="examples of rank")
    turns = [0] * workers
    for rank in range(workers):
        cells.begin(rank, rank, workers)
    for at in in_order(trace):
        others = [rank for rank in range(workers) if rank != at.rank]
        if isinstance(at.event, Compute):
            turn, turns[at.rank] = turns[at.rank], turns[at.rank] + 1
            if join == "by_slices":
                for rank in others:
                    cells.add(at.rank, rank, -1, at.time_s)
            else:
                done = others if join == "all_at_once" else [turn]
                cells.put(at.rank, set(done) - {at.rank}, 0, at.time_s)
        elif _brings_examples(at.event, workers):
            cells.carry(at.number, at.event.src)
            if at.what == "received":
                more = 1 if join == "by_slices" else workers
                cells.add(at.rank, at.event.src, more, at.time_s)
    return player(trace, "ring", contributions=cells.contributions, moments=4)


def _joined(comm: Communicator, join: str) -> None:
    """Let the examples of all ranks come to this rank's units, which take a while for each."""
    parts = split_evenly(comm.size * _EXAMPLES, comm.size)

    def through(x: Array, numbers: NDArray[np.int64]) -> Array:
        flops = len(numbers) * _EXAMPLE_S * DEFAULT.speeds(1)[0]
        with comm.compute("forward and back", flops=flops):
            return np.zeros_like(x)

    JOINS[join](comm, np.zeros((_EXAMPLES, _FEATURES)), parts, through)


def _brings_examples(message: Message, workers: int) -> bool:
    """Tell examples from slopes: turns are started one ahead, so every second start is of them."""
    started = _STARTED.search(message.comm)
    if started is None:
        return message.tag == "part"
    number = int(started[1])
    return number == 1 or (number % 2 == 0 and number < 2 * workers)
