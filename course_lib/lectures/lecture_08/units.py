"""A net whose units are divided, as DistBelief drew it: which activations are on which rank."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.lectures.lecture_08.held import Cells, in_order
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.schemes import split_weights
from course_lib.split import split_by_units, split_in_pairs
from course_lib.trace.events import Compute
from course_lib.trace.trace import Trace
from course_lib.training import Plan
from course_lib.viz import Player, player

__all__ = ["WAYS", "one_step", "units_player"]

WAYS: dict[str, Callable[..., Chain]] = {
    "by units": split_by_units,
    "column and row": split_in_pairs,
}
"""How fully connected layers are split, by name."""


def one_step(
    way: str, *widths: int, examples: int = 64, workers: int = 4, network: Network = DEFAULT,
) -> Trace:  # fmt: skip
    """Simulate one step of a net whose layers are split.

    Parameters
    ----------
    way : str
        A name of ``WAYS``.
    *widths : int
        The inputs of a net of fully connected layers, its units layer by layer, and its classes.
    examples : int, default: 64
        Of the batch.
    workers : int, default: 4
        How many ranks.
    network : Network, default: networks.ethernet_10g
        What connects them.

    Returns
    -------
    Trace
        What happened.
    """
    model, rng = deep_mlp(*widths), np.random.default_rng(8)
    X, y = rng.normal(size=(examples, widths[0])), rng.integers(0, widths[-1], size=examples)
    scheme: Callable[..., Any] = partial(split_weights, divide=WAYS[way])
    return run(
        scheme, model, X, y, Plan(batch_size=examples),
        workers=workers, backend="simulated", network=network,
    ).trace  # fmt: skip


def units_player(trace: Trace, title: str) -> Player:
    """Play a step by units: in each box a cell for each rank's units of the layer at hand.

    A cell is full while the rank has the activations of those units; on the way back, while it has
    what it says of their slopes.

    Parameters
    ----------
    trace : Trace
        Of a net split by units.
    title : str
        What stands above it.

    Returns
    -------
    Player
        It shows where the activations are.
    """
    ranks, cells = range(trace.size), Cells(trace, trace.size, called="part")
    for at in in_order(trace):
        if isinstance(at.event, Compute):
            word = at.event.label.rsplit(" ", 1)[0]
            others = [rank for rank in ranks if rank != at.rank]
            if word == "forward":  # what it has made are units of the next layer
                cells.put(at.rank, others, 0, at.time_s)
                cells.put(at.rank, [at.rank], 1, at.time_s)
            elif word == "input gradient":
                cells.put(at.rank, ranks, 1, at.time_s)
            elif word == "weight gradient":  # the slopes in what has been gathered are used
                cells.put(at.rank, others, 0, at.time_s)
        elif at.event.tag == "part":  # an activation, to whom needs it
            cells.carry(at.number, at.event.src)
            if at.what == "received":
                cells.put(at.rank, [at.event.src], 1, at.time_s)
        else:  # a slope, to whom the units belong
            cells.carry(at.number, at.event.dst)
            if at.what == "sent":
                cells.put(at.rank, [at.event.dst], 0, at.time_s)
    return player(
        trace, "ring", contributions=cells.contributions, title=title, even_steps=True, moments=4
    )
