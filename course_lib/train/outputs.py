"""What a model answers that no rank holds: each goes forward through its own part.

Each function makes one of this kind, which all ranks call with the parameters that they step and
the same examples: it returns what the last layer makes of them, on rank 0 at least. Activations are
sent, and of a sharded model one layer's parameters at a time, as in training.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allgather_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain
from course_lib.models.model import Array
from course_lib.pipelines import MakesSchedule
from course_lib.schemes.sharded_parameters import sharded_parameters
from course_lib.split import forward, gather_parts, n_unsplit, split_by_units, split_in_pairs
from course_lib.training import Training
from course_lib.training.shards import places, shards_by_layer, split_evenly
from course_lib.training.stages import cut_into_stages

__all__ = ["Outputs", "of_grid", "of_pairs", "of_shards", "of_stages"]

Outputs = Callable[[Sequence[Array], Array], Array]
"""Called with this rank's parameters and examples; returns the outputs on rank 0."""


def of_stages(
    comm: Communicator, model: Chain, schedule: MakesSchedule | None = None, microbatches: int = 1
) -> Outputs:
    """Hand the examples on from stage to stage, wherever each lives, and the outputs to rank 0."""
    placement: Sequence[int] = range(comm.size)
    if schedule is not None:
        placement = schedule(comm.size, microbatches).placement
    stages = [
        Chain([model.parts[k] for k in layers], model.shapes[layers.start], model.dtype.name)
        for layers in cut_into_stages(model, len(placement))
    ]

    def outputs(parts: Sequence[Array], X: Array) -> Array:
        own, at, x = iter(parts), 0, X  # rank 0 gets the outputs, and may as well begin
        for stage, home in zip(stages, placement, strict=True):
            x = _moved(comm, x, at, home)
            at = home
            if comm.rank == home:
                x = stage.outputs(next(own), x)
        return _moved(comm, x, at, 0)

    return outputs


def _moved(comm: Communicator, x: Array, src: int, dst: int) -> Array:
    if src == dst:
        return x
    if comm.rank == src:
        comm.send(x, dst, tag="outputs")
    return comm.recv(src, tag="outputs") if comm.rank == dst else x


def of_shards(comm: Communicator, model: Chain, stage: Callable[..., Training]) -> Outputs | None:
    """Gather one layer after another, use it for the own examples; None if all hold the model."""
    if stage is not sharded_parameters:
        return None
    here = places(shards_by_layer(model.layers, comm.size)[comm.rank])

    def outputs(parts: Sequence[Array], X: Array) -> Array:
        (w_shard,) = parts
        cut = split_evenly(X.shape[0], comm.size)
        x = model.examples(X[cut[comm.rank]])
        for part, place in zip(model.parts, here, strict=True):
            x, _ = part.forward(allgather_ring(comm, w_shard[place]), x)
        return gather_parts(comm, x, cut, dim=0)

    return outputs


def of_pairs(comm: Communicator, model: Chain) -> Outputs:
    """Go through the layers that all ranks have split among them."""
    return _of_parts(comm, split_in_pairs(comm, model), n_unsplit(model))


def of_grid(comm: Communicator, model: Chain, splits: int, **_: Any) -> Outputs:
    """Go through them in a row, every row with all examples."""
    row = comm.split(comm.rank // splits)
    assert row is not None
    return _of_parts(comm, split_by_units(row, model), n_unsplit(model))


def _of_parts(comm: Communicator, net: Chain, n_whole: int) -> Outputs:
    """Share the examples out for the layers that all ranks have, and gather them for the others."""

    def outputs(parts: Sequence[Array], X: Array) -> NDArray[Any]:
        (w,) = parts
        cut = split_evenly(X.shape[0], comm.size)
        x = net.examples(X[cut[comm.rank]] if n_whole else X)
        if n_whole:
            x = gather_parts(comm, forward(net, range(n_whole), w, x)[0], cut, dim=0)
        return np.asarray(forward(net, range(n_whole, len(net.parts)), w, x)[0])

    return outputs
