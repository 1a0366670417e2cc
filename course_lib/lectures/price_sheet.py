"""The price sheet: what an exchange costs by each scheme met so far, also on this computer."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import ALLREDUCES, allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.communicator import Communicator
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.lectures.lecture_00 import this_computer
from course_lib.measure import real_times, weigh
from course_lib.viz import Table, table

__all__ = ["prices_so_far"]

_PIECES = 10


def _shards(comm: Communicator, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let every rank add up its shard of all vectors, then collect the others'."""
    total: NDArray[np.float64] = allgather_ring(comm, reduce_scatter_ring(comm, x))
    return total


def _ten_pieces(comm: Communicator, x: NDArray[np.float64]) -> None:
    """All-reduce ten layers of equal size, one after the other."""
    for piece in np.split(x, _PIECES):
        allreduce_ring(comm, piece)


_EXCHANGES: tuple[tuple[int, str, Any], ...] = (
    (2, "combiner, or one server", ALLREDUCES["central"]),
    (3, "ring", allreduce_ring),
    (4, "a shard on every rank", _shards),
    (5, "all-to-all", ALLREDUCES["direct"]),
    (5, "tree", ALLREDUCES["tree"]),
    (5, "butterfly", ALLREDUCES["butterfly"]),
    (5, "halving-doubling", ALLREDUCES["halving_doubling"]),
    (6, "ring, ten layers one by one", _ten_pieces),
)
"""The lecture that brings it, its name, and what every rank runs."""

_REPEATS = 11


def prices_so_far(
    lecture: int, workers: int = 4, n_bytes: int = 1_000_000, folder: Path | None = None
) -> Table:
    """Lay out what everybody's having the sum costs by the schemes of the lectures so far.

    Parameters
    ----------
    lecture : int
        The last lecture that counts, 2 to 6.
    workers : int, default: 4
        How many ranks.
    n_bytes : int, default: 1_000_000
        How long each rank's vector is, a multiple of 80 and of ``8 * workers``.
    folder : Path or None, default: None
        Where the notebook lies; None takes the current folder.

    Returns
    -------
    Table
        A row each: latencies and vectors that are waited for, counted in virtual time; the seconds
        that they make on 10 Gbit/s Ethernet and, by the alpha and beta that were kept in lecture
        00, on this computer; and what real processes took here, the fastest of 11.
    """
    mine, rows = this_computer(folder), {}
    for since, name, exchange in _EXCHANGES:
        if since <= lecture:
            weight = weigh(exchange, workers, n_bytes)
            counted = float(weight.latencies), float(weight.vectors)
            row = {"α": counted[0], "nβ": counted[1]}
            for heading, network in (("10 Gbit/s", DEFAULT), (mine.name, mine)):
                beta = network.beta_s_per_byte
                row[heading] = counted[0] * network.latency_s + counted[1] * n_bytes * beta
            row["measured here"] = float(real_times(exchange, [n_bytes], workers, _REPEATS)[0])
            rows[name] = row
    return table(rows, units=dict.fromkeys(("10 Gbit/s", mine.name, "measured here"), "s"))
