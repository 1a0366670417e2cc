"""Schemes that divide a model: which text is meant, can it be divided so, how is it put together.

None of this is training: it is what the command line and checkpoints have to know of a division.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain
from course_lib.models.model import Array, Model
from course_lib.pipelines import MakesSchedule, schedule_for
from course_lib.schemes.distbelief import distbelief as by_partition
from course_lib.schemes.sharded_data_parallel import sharded_data_parallel
from course_lib.schemes.sharded_gradients import sharded_gradients
from course_lib.schemes.sharded_parameters import join_shards, sharded_parameters
from course_lib.split import all_at_once, n_unsplit, pieces_of, shards_by_partition
from course_lib.split.model import check_grid as check_hybrid
from course_lib.split.model import check_split, join_model, split_by_units, split_in_pairs
from course_lib.train.states import State
from course_lib.training import Optimizer, Plan, Training
from course_lib.training.stages import cut_into_stages

__all__ = [
    "STAGES",
    "check_grid",
    "check_layers",
    "check_machines",
    "check_pairs",
    "check_pipeline",
    "check_shards",
    "distbelief",
    "sharded",
    "whole_of_grid",
    "whole_of_machines",
    "whole_of_pairs",
    "whole_of_shards",
    "whole_of_stages",
]

States = Sequence[Sequence[State]]

STAGES: dict[str, Callable[..., Training]] = {
    "1": sharded_data_parallel,
    "2": sharded_gradients,
    "3": sharded_parameters,
}
"""The stages of ZeRO, each a scheme of its own."""


def sharded(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan,
    stage: Callable[..., Training], optimizer: Optimizer,
) -> Training:  # fmt: skip
    """Train by one of ``STAGES``."""
    return stage(comm, model, X, y, plan, optimizer=optimizer)


def distbelief(
    comm: Communicator, model: Chain, X: Array, y: Array, plan: Plan, splits: int,
    optimizer: Optimizer,
) -> Training:  # fmt: skip
    """Train with one server, which has all pieces: so the model after an epoch is on rank 0."""
    shards = shards_by_partition(model, splits, 1)
    return by_partition(comm, model, X, y, plan, splits, shards, optimizer)


def whole_of_machines(states: States, model: Chain, **_: Any) -> Array:
    """Put together what the server of ``distbelief`` keeps of each machine's part."""
    return join_model(model, [state.w for state in states[0]], split_by_units)


def check_machines(model: Chain, workers: int, batch: int, splits: int) -> None:
    """Refuse replicas that the workers beside the server do not fill, and parts without units."""
    del batch
    pieces_of(workers, model, splits, shards_by_partition(model, splits, 1))


def whole_of_shards(states: States, model: Model, stage: Callable[..., Training]) -> Array:
    """Put shards together: one piece of the vector each in stage 1, a part of every layer later."""
    shards = [own[0].w for own in states]
    return join_shards(shards, None if stage is sharded_data_parallel else model.layers)


def whole_of_pairs(states: States, model: Chain) -> Array:
    """Put together what ``split_weights`` has split."""
    return join_model(model, [own[0].w for own in states], split_in_pairs)


def whole_of_grid(states: States, model: Chain, splits: int, **_: Any) -> Array:
    """Put together what the first row of ``hybrid``'s grid has split."""
    return join_model(model, [own[0].w for own in states[:splits]], split_by_units)


def check_pairs(model: Chain, workers: int, batch: int) -> None:
    """Refuse a model with fewer units in a layer than there are workers."""
    del batch
    check_split(model, workers, split_in_pairs)


def check_shards(model: Model, workers: int, batch: int, stage: Callable[..., Training]) -> None:
    """Refuse a model without layers that can be computed one by one where none is to be whole."""
    del workers, batch
    if stage is sharded_parameters and not isinstance(model, Chain):
        raise TypeError(
            f"model must be a Chain for --stage 3, got {type(model).__name__}; --stage 1 and 2 "
            "train any, and docs/own_model.md says how a Chain is made of torch modules"
        )


def check_grid(
    model: Chain, workers: int, batch: int, splits: int, join: Callable[..., Array]
) -> None:
    """Refuse a grid that the workers do not fill, a row that is too long, a join of nothing."""
    del batch
    check_hybrid(model, workers, splits)
    if join is not all_at_once and not n_unsplit(model):
        raise ValueError(
            "join must be all_at_once for a model without convolutions, got "
            f"{getattr(join, '__name__', join)}"
        )


def whole_of_stages(
    states: Sequence[Sequence[State]], schedule: MakesSchedule, microbatches: int, **_: Any
) -> Array:
    """Put stages one after another, each rank's in its order: the schedule says where each is."""
    own = [iter(of_rank) for of_rank in states]
    placement = schedule(len(states), microbatches).placement
    return np.concatenate([next(own[rank]).w for rank in placement])


def check_layers(model: Model, workers: int, _: int) -> None:
    """Refuse a model with fewer layers than ranks."""
    cut_into_stages(model, workers)


def check_pipeline(
    model: Model, workers: int, batch: int, schedule: MakesSchedule, microbatches: int
) -> None:
    """Refuse a model with fewer layers than stages."""
    cut_into_stages(model, schedule_for(workers, schedule, microbatches, batch).n_stages)
