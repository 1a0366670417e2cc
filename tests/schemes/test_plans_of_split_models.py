"""Clipping, accumulation and other optimizers than SGD, where the model or its state is split."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.models.alexnet import alexnet
from course_lib.models.deep_mlp import deep_mlp
from course_lib.schemes import (
    hybrid,
    sharded_gradients,
    sharded_parameters,
    split_weights,
    train,
)
from course_lib.schemes.sharded_parameters import join_shards
from course_lib.split import by_slices, by_turns, join_model, split_by_units, split_in_pairs
from course_lib.training import AdamW, Cosine, Plan

PLAN = Plan(
    learning_rate=0.01, batch_size=24, epochs=2, clip=0.3, accumulate=3, weight_decay=0.1,
    schedule=Cosine(10),
)  # fmt: skip
MLP, NET = deep_mlp(64, 13, 9, 12, 10), alexnet(2, 8)
TOLERANCE = 1e-11  # ten steps of Adam, which divides by small numbers


def examples(rows=101, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 64)), rng.integers(0, 10, size=rows)


@cache
def alone(model, clip):
    """Train one of the two models in one process, once for all tests."""
    return train(model, *examples(), replace(PLAN, clip=clip), AdamW)


def is_the_unsplit_one(values, w, model):
    whole = alone(model, PLAN.clip)
    losses = np.sum([value.losses for value in values], axis=0)
    np.testing.assert_allclose(w, whole.w, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(losses, whole.losses, rtol=TOLERANCE)
    for other in (None, 0.15):
        assert np.abs(alone(model, other).w - w).max() > 1e-6


@pytest.mark.parametrize("divide", [split_in_pairs, split_by_units])
@pytest.mark.parametrize("P", [1, 2, 3])
def test_split_weights_clip_by_the_whole_norm_and_accumulate(divide, P):
    values = run(
        split_weights, MLP, *examples(), PLAN, divide, AdamW, workers=P, backend="simulated"
    ).values
    w = join_model(MLP, [value.w for value in values], divide=divide)
    is_the_unsplit_one(values, w, MLP)


@pytest.mark.parametrize(
    ("join", "P", "splits"), [(by_slices, 2, 2), (by_turns, 4, 2), (by_slices, 4, 1)]
)
def test_the_hybrid_clips_by_the_whole_norm_and_accumulates(join, P, splits):
    values = run(
        partial(hybrid, optimizer=AdamW), NET, *examples(), PLAN, splits, join, workers=P,
        backend="simulated",
    ).values  # fmt: skip
    w = join_model(NET, [value.w for value in values[:splits]], divide=split_by_units)
    is_the_unsplit_one(values, w, NET)


@pytest.mark.parametrize("P", [1, 2, 3])
def test_sharded_gradients_clip_by_the_whole_norm_and_accumulate(P):
    values = run(
        partial(sharded_gradients, optimizer=AdamW), MLP, *examples(), PLAN, workers=P,
        backend="simulated",
    ).values  # fmt: skip
    is_the_unsplit_one(values, values[0].w, MLP)


@pytest.mark.parametrize("P", [1, 2, 3, 5])
def test_sharded_parameters_clip_by_the_whole_norm_and_accumulate(P):
    values = run(
        partial(sharded_parameters, optimizer=AdamW), MLP, *examples(), PLAN, workers=P,
        backend="simulated",
    ).values  # fmt: skip
    w = join_shards([value.w for value in values], MLP.layers)
    is_the_unsplit_one(values, w, MLP)


@pytest.mark.parametrize(
    ("scheme", "model"), [(split_weights, MLP), (hybrid, NET), (sharded_parameters, MLP)]
)
def test_who_holds_no_model_tells_nobody_of_it(scheme, model):
    plan = Plan(on_epoch=lambda epoch, w: None)
    with pytest.raises(RunError, match="on_epoch must be None"):
        run(scheme, model, *examples(), plan, workers=2, backend="simulated")
