"""Sharded data parallelism as it goes: parameters come to every rank and are let go again."""

import numpy as np

from course_lib.comm.launch import run
from course_lib.costs.sharding import bytes_held
from course_lib.lectures.lecture_08.held import Cells, in_order
from course_lib.models.deep_mlp import deep_mlp
from course_lib.schemes import sharded_parameters
from course_lib.trace.contributions import Contributions
from course_lib.trace.events import Compute
from course_lib.trace.trace import Trace
from course_lib.training import Plan
from course_lib.viz import Chart, Player, chart, player

__all__ = [
    "MODELS", "most_layers", "parameters_held", "sharded_step", "stages_chart", "zero_player"
]  # fmt: skip

MODELS = {"1.5 billion": 1_500_000_000, "7.5 billion": 7_500_000_000,
          "175 billion": 175_000_000_000}  # fmt: skip
"""Parameters of models, by what they are called."""


def sharded_step(workers: int = 4) -> Trace:
    """Simulate one step of three layers, of each of which every rank keeps a shard.

    Parameters
    ----------
    workers : int, default: 4
        How many ranks.

    Returns
    -------
    Trace
        Of ``sharded_parameters``.
    """
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(256, 128)), rng.integers(0, 16, size=256)
    job = deep_mlp(128, 128, 128, 16), X, y, Plan(batch_size=256)
    return run(sharded_parameters, *job, workers=workers, backend="simulated").trace


def parameters_held(trace: Trace) -> Contributions:
    """Say of which layers every rank has how many shards, at any time.

    Parameters
    ----------
    trace : Trace
        Of ``sharded_step``.

    Returns
    -------
    Contributions
        A cell for each layer, full where all its shards are there. Messages with parameters carry
        the number of their layer, those with gradients nothing.
    """
    P = trace.size
    names = [s.label for s in trace.computes if s.rank == 0 and s.label.startswith("forward")]
    layers = {name.split(" ", 1)[1]: number for number, name in enumerate(names)}
    cells = Cells(trace, len(layers), P, called="layer")
    for rank in range(P):
        for layer in layers.values():
            cells.begin(rank, layer, 1)
    coming = [0] * P  # the layer whose parameters come next, by rank
    gradients = [0] * P  # how many messages with gradients come before them
    for at in in_order(trace):
        if isinstance(at.event, Compute):
            word, _, name = at.event.label.rpartition(" ")
            if word == "forward":
                coming[at.rank] = min(layers[name] + 1, len(layers) - 1)
            elif word == "weight gradient":
                coming[at.rank], gradients[at.rank] = layers[name], P - 1
            if word in ("forward", "input gradient"):
                cells.put(at.rank, [layers[name]], 1, at.time_s)
        elif at.what == "received" and gradients[at.rank]:
            gradients[at.rank] -= 1
        elif at.what == "received":
            cells.carry(at.number, coming[at.rank])
            cells.add(at.rank, coming[at.rank], 1, at.time_s)
    return cells.contributions


def most_layers(held: Contributions) -> int:
    """Count how many layers a rank has whole at the same time, at most.

    Parameters
    ----------
    held : Contributions
        Of ``parameters_held``.

    Returns
    -------
    int
        Layers.
    """
    whole: set[tuple[int, int]] = set()
    most = 0
    for fill in held.fills:
        place = fill.rank, fill.chunk
        (whole.add if all(fill.counts or ()) else whole.discard)(place)
        most = max(most, *(sum(rank == r for rank, _ in whole) for r in range(len(held.held))))
    return most


def zero_player(trace: Trace) -> Player:
    """Play a step: in each box a cell for each layer, as much of its parameters as is there.

    Parameters
    ----------
    trace : Trace
        Of ``sharded_step``.

    Returns
    -------
    Player
        Numbered messages are parameters, the others gradients.
    """
    return player(
        trace, "ring", contributions=parameters_held(trace), even_steps=True, moments=4,
        title="ZeRO, stage 3: one step of three layers on four ranks",
    )  # fmt: skip


def stages_chart(n_parameters: int, workers: int) -> Chart:
    """Draw what a worker holds in data parallelism, and in the three stages of ZeRO.

    Parameters
    ----------
    n_parameters : int
        Of the model.
    workers : int
        How many, P.

    Returns
    -------
    Chart
        A bar each, for Adam with 16-bit arithmetic: 2 bytes of parameter, 2 of gradient and 12 of
        optimizer state.
    """
    names = ("data parallel", "1: state sharded", "2: gradients, too", "3: parameters, too")
    held = {name: bytes_held(stage, n_parameters, workers) for stage, name in enumerate(names)}
    return chart(held, unit="bytes", x_label="bytes that a worker holds, without activations")
