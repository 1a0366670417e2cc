"""Pushes that are sent again, and a server that should apply each of them once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.trace.trace import Trace

__all__ = ["History", "history_of", "push_and_repeat"]

History = list[tuple[int, int, int]]


def push_and_repeat(
    comm: Communicator, sent: Mapping[int, Sequence[int]], applies: Callable[..., bool]
) -> int:
    """Push numbered gradients, some of them again, as after a lost answer; rank 0 serves.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    sent : dict of int to sequence of int
        By rank, the numbers of its pushes in the order in which it sends them.
    applies : callable
        ``applies(seen, rank, number)`` says whether the server applies a push; ``seen`` are all
        pushes before it, as (rank, number).

    Returns
    -------
    int
        On rank 0 how many updates it has made; else 0.
    """
    if comm.rank:
        for turn, number in enumerate(sent.get(comm.rank, ())):
            with comm.compute("gradient", flops=1e6 * (1 + (2 * comm.rank + turn) % 5)):
                push = np.array([float(number)])
            comm.send(push, 0, tag="gradient")
            comm.recv(0)
        return 0
    seen: list[tuple[int, int]] = []
    version = 0
    for _ in range(sum(map(len, sent.values()))):
        src, push = comm.recv_any()
        version += applies(seen, src, int(push[0]))
        seen.append((src, int(push[0])))
        comm.note("push", [src, int(push[0]), version])
        comm.send(np.array([float(version)]), src, tag="confirmed")
    return version


def history_of(trace: Trace) -> History:
    """Read off what the server received, in its order, and how many updates it had made then.

    Parameters
    ----------
    trace : Trace
        Of a run of ``push_and_repeat``.

    Returns
    -------
    list of (int, int, int)
        For each push the rank, its number there, and the updates after it.
    """
    noted = (note.value for note in trace.notes_named("push"))
    return [(src, number, version) for src, number, version in noted]
