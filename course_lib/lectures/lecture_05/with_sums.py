"""A run of an all-reduce in which every rank says which sum it holds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from course_lib.comm.simulated.networks import DEFAULT, Network
from course_lib.trace.events import Note
from course_lib.trace.trace import Trace
from course_lib.watch import watch_collective

__all__ = ["with_sums"]


def with_sums(
    allreduce: Callable[..., Any],
    values: Sequence[int],
    n_bytes: int = 65_536,
    network: Network = DEFAULT,
) -> Trace:
    """Run an all-reduce and note on its trace which sum each rank holds, from when on.

    What is in a rank's sum is read off the run itself: ``watch_collective`` finds whose
    contributions it holds.

    Parameters
    ----------
    allreduce : callable
        One that sends whole vectors: central, a tree, a butterfly.
    values : sequence of int
        What each rank fills its vector with; as many ranks as there are values.
    n_bytes : int, default: 65,536
        How long the vectors are, a multiple of 8.
    network : Network, default: networks.ethernet_10g
        What connects the ranks.

    Returns
    -------
    Trace
        With notes ``"holds"``, which players show beside each rank.

    Raises
    ------
    ValueError
        If the run sends parts of the vector: then a rank has no one sum.
    """
    watched = watch_collective(allreduce, workers=len(values), length=n_bytes // 8, network=network)
    contributions = watched.contributions
    if len(contributions.goals) > 1:
        raise ValueError(
            f"allreduce must send whole vectors, got {watched.name} with "
            f"{len(contributions.goals)} chunks"
        )
    notes = [Note(rank, "holds", value, 0.0) for rank, value in enumerate(values)]
    for fill in contributions.fills:
        counted = zip(fill.counts or (), values, strict=True)
        total = sum(times * value for times, value in counted)
        notes.append(Note(fill.rank, "holds", total, fill.time_s))
    return replace(watched.trace, notes=notes)
