"""Schemes that divide the model take the steps that one process would take with all of it."""

from __future__ import annotations

import weakref
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.collectives import allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.errors import RunError, WorkerError
from course_lib.models.alexnet import alexnet
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.fully_connected import FullyConnected
from course_lib.models.published import LayerSize
from course_lib.models.stand_in import StandInLayer
from course_lib.schemes import (
    data_parallel,
    hybrid,
    layerwise,
    sharded_data_parallel,
    sharded_gradients,
    sharded_parameters,
    split_weights,
    train,
)
from course_lib.schemes.sharded_parameters import join_shards
from course_lib.split import JOINS, Columns, Rows, join_model, split_by_units, split_in_pairs
from course_lib.training import Plan

PLAN = Plan(learning_rate=0.1, batch_size=24, epochs=4, momentum=0.5, warmup_steps=3)
MLP = deep_mlp(6, 9, 8, 11, 8)  # 8 is the smallest layer, and 9 and 11 are cut unevenly
ODD = deep_mlp(6, 9, 11, 8)  # a layer is left over
CONV = alexnet(channels=2, units=8, n_classes=8)

# 20 steps, each with some thousand additions in another order.
CLOSE = {"rtol": 0, "atol": 1e-12}


def examples(model, rows=120, seed=0):
    rng = np.random.default_rng(seed)
    n_classes = model.shapes[-1][0]
    return rng.normal(size=(rows, *model.shapes[0])), rng.integers(0, n_classes, size=rows)


def by_units(comm, *arguments):
    return split_weights(comm, *arguments, divide=split_by_units)


def grid(comm, *arguments, splits=None, join="all_at_once"):
    return hybrid(comm, *arguments, splits=splits, join=JOINS[join])


def whole_of(name, model, values):
    """Return the whole model from what every rank has returned."""
    shards = [value.w for value in values]
    if name == "stage 3":
        return join_shards(shards, model.layers)
    if name == "stage 2":
        assert all(w.tobytes() == shards[0].tobytes() for w in shards)
        return shards[0]
    return join_model(model, shards, split_in_pairs if name == "pairs" else split_by_units)


SCHEMES = {
    "pairs": split_weights,
    "units": by_units,
    "stage 2": sharded_gradients,
    "stage 3": sharded_parameters,
    **{f"hybrid {join}": partial(grid, join=join) for join in JOINS},
}
MODELS = {"mlp": MLP, "odd": ODD, "conv": CONV}
CASES = [
    (scheme, model)
    for scheme in SCHEMES
    for model in MODELS
    if "hybrid" not in scheme or model == "conv"
]


def total_losses(values):
    return np.sum([value.losses for value in values], axis=0)


@cache
def alone(model, rows=120, rate=1):
    """Train one of the models in one process, once for all tests; ``rate`` makes it wrong."""
    return train(MODELS[model], *examples(MODELS[model], rows), PLAN.scaled(rate))


SIZES = {"mlp": [1, 2, 3, 4, 8], "odd": [2, 3, 8], "conv": [1, 3]}  # of the last, more below


@pytest.mark.parametrize(
    ("scheme", "model", "size"),
    [
        pytest.param(*case, size, marks=[pytest.mark.slow] * (size > 2 or "conv" in case))
        for case in CASES
        for size in SIZES[case[1]]
    ],
)
def test_twenty_steps_are_those_of_one_process(scheme, model, size):
    net = MODELS[model]
    X, y = examples(net)
    serial = alone(model)
    assert len(serial.losses) == 20
    values = run(SCHEMES[scheme], net, X, y, PLAN, workers=size, backend="simulated").values
    np.testing.assert_allclose(whole_of(scheme, net, values), serial.w, **CLOSE)
    np.testing.assert_allclose(total_losses(values), serial.losses, **CLOSE)
    if size > 1:  # gradients of all ranks added up where a mean is meant, or the other way round
        wrong = alone(model, rate=size).w
        assert np.abs(wrong - serial.w).max() > 1e6 * CLOSE["atol"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "join", "size", "splits"),
    [
        *(("conv", "all_at_once", *grid_of) for grid_of in [(4, 2), (6, 3), (4, 1), (8, 4)]),
        ("conv", "by_turns", 6, 3), ("conv", "by_slices", 4, 2),
        ("mlp", None, 4, 2), ("mlp", None, 8, 4),
    ],
)  # fmt: skip
def test_a_grid_of_replicas_and_splits_is_one_process(size, splits, model, join):
    net = MODELS[model]
    X, y = examples(net, rows=115)  # the last batch leaves ranks without an example
    serial = alone(model, rows=115)
    scheme = partial(grid, splits=splits, join=join or "all_at_once")
    values = run(scheme, net, X, y, PLAN, workers=size, backend="simulated").values
    for first in range(0, size, splits):
        row = [value.w for value in values[first : first + splits]]
        np.testing.assert_allclose(join_model(net, row, split_by_units), serial.w, **CLOSE)
    for column in range(splits):
        held = {values[rank].w.tobytes() for rank in range(column, size, splits)}
        assert len(held) == 1
    np.testing.assert_allclose(total_losses(values), serial.losses, **CLOSE)


@given(
    scheme=st.sampled_from([name for name in SCHEMES if "hybrid" not in name]),
    size=st.integers(1, 8),
    batch_size=st.integers(1, 30),
    rendezvous=st.booleans(),
)
@settings(max_examples=30, deadline=None)
@pytest.mark.slow
def test_any_number_of_workers_and_any_batch(scheme, size, batch_size, rendezvous):
    plan = Plan(learning_rate=0.1, batch_size=batch_size, momentum=0.9)
    X, y = examples(MLP, rows=31)
    values = run(
        SCHEMES[scheme], MLP, X, y, plan, workers=size, backend="simulated", rendezvous=rendezvous
    ).values
    serial = train(MLP, X, y, plan)
    np.testing.assert_allclose(whole_of(scheme, MLP, values), serial.w, **CLOSE)
    np.testing.assert_allclose(total_losses(values), serial.losses, **CLOSE)


@given(
    join=st.sampled_from([*JOINS]),
    grid_of=st.sampled_from([(1, 1), (2, 1), (2, 2), (3, 3), (4, 2), (5, 5)]),
    batch_size=st.integers(1, 30),
    rendezvous=st.booleans(),
)
@settings(max_examples=12, deadline=None)
@pytest.mark.slow
def test_any_join_takes_any_batch(join, grid_of, batch_size, rendezvous):
    size, splits = grid_of
    plan = Plan(learning_rate=0.1, batch_size=batch_size, momentum=0.9)
    X, y = examples(CONV, rows=31)
    scheme = partial(grid, splits=splits, join=join)
    values = run(
        scheme, CONV, X, y, plan, workers=size, backend="simulated", rendezvous=rendezvous
    ).values
    serial = train(CONV, X, y, plan)
    found = join_model(CONV, [value.w for value in values[:splits]], split_by_units)
    np.testing.assert_allclose(found, serial.w, **CLOSE)
    np.testing.assert_allclose(total_losses(values), serial.losses, **CLOSE)


# To the bit


def composed(comm, array, op="sum", out=None):
    """Add up as the sharded schemes do: a reduce-scatter, then an all-gather."""
    return allgather_ring(comm, reduce_scatter_ring(comm, array, op), out=out)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "size"), [("mlp", 2), ("mlp", 3), ("mlp", 5), ("conv", 3)])
def test_sharding_changes_no_bit_where_it_changes_no_order_of_addition(model, size):
    net = MODELS[model]
    data = (net, *examples(net), PLAN)

    def tried(scheme, *more):
        return run(scheme, *data, *more, workers=size, backend="simulated").values

    plain, by_layer = tried(data_parallel, composed), tried(layerwise, composed)
    for stage, scheme, like in (
        (1, sharded_data_parallel, plain),
        (2, sharded_gradients, by_layer),
        (3, sharded_parameters, by_layer),
    ):
        values = tried(scheme)
        assert [value.losses for value in values] == [value.losses for value in like]
        shards = [value.w for value in values]
        w = join_shards(shards, net.layers) if stage == 3 else shards[-1]
        assert w.tobytes() == like[0].w.tobytes()
    if size == 2:  # a sum of two has one order: as the usual all-reduce on a ring has it
        usual = tried(data_parallel, allreduce_ring)
        assert [value.losses for value in usual] == [value.losses for value in by_layer]


class Watched:
    """An all-gather that remembers what it has handed out, and counts what is still there."""

    def __init__(self):
        self.handed_out, self.most = [], 0

    def __call__(self, comm, array):
        there = sum(found() is not None for found in self.handed_out)
        whole = allgather_ring(comm, array)
        self.handed_out.append(weakref.ref(whole))
        self.most = max(self.most, there + 1)
        return whole


def watched_run(comm, forgetful, *arguments):
    gather, kept = Watched(), []

    def keeping(comm, array):
        kept.append(gather(comm, array))
        return kept[-1]

    sharded_parameters(comm, *arguments, allgather=keeping if forgetful else gather)
    return gather.most, len(gather.handed_out)


def test_no_more_than_one_layer_is_ever_whole():
    """In stage 3; who does not let go of a layer is noticed."""
    arguments = MLP, *examples(MLP), PLAN
    for forgetful in (False, True):
        values = run(watched_run, forgetful, *arguments, workers=2, backend="simulated").values
        for most, handed_out in values:
            assert handed_out == 20 * (2 * len(MLP.layers) - 1)
            assert most == (handed_out if forgetful else 1)


# Classic mistakes


def wrong_by(scheme, net, size, splits=None):
    X, y = examples(net)
    serial = train(net, X, y, PLAN)
    values = run(scheme, net, X, y, PLAN, workers=size, backend="simulated").values
    return np.abs(total_losses(values) - serial.losses).max()


def test_a_sum_that_is_forgotten_going_back_would_be_seen(monkeypatch):
    right = Columns.input_gradient

    def partial_only(self, w, saved, dy):
        self._allreduce = lambda comm, array, out: array
        return right(self, w, saved, dy)

    assert wrong_by(split_weights, MLP, 2) < 1e-12
    monkeypatch.setattr(Columns, "input_gradient", partial_only)
    assert wrong_by(split_weights, MLP, 2) > 1e-4


def test_a_bias_that_every_rank_adds_would_be_seen(monkeypatch):
    right = Rows.forward

    def with_biases(self, w, x):
        w = w.copy()
        self._mine.unpack(w)[1][...] *= self._comm.size
        return right(self, w, x)

    monkeypatch.setattr(Rows, "forward", with_biases)
    assert wrong_by(split_weights, MLP, 2) > 1e-6


@pytest.mark.slow
def test_replicas_that_are_not_added_up_would_be_seen():
    def not_over_columns(comm, array, out):
        return allreduce_ring(comm, array, out=out) if comm.size == 4 else out

    def forgetful(comm, *arguments):
        return hybrid(comm, *arguments, splits=2, allreduce=not_over_columns)

    assert wrong_by(partial(grid, splits=2), CONV, 4) < 1e-12
    assert wrong_by(forgetful, CONV, 4) > 1e-6


# Real processes


def trained_all(comm, X, y, X_conv, y_conv):
    plan = Plan(learning_rate=0.1, batch_size=24, momentum=0.5)
    found = {}
    for name, scheme in SCHEMES.items():
        if "hybrid" not in name:
            comm.note("scheme", name)
            found[name] = scheme(comm, MLP, X, y, plan)
    found["hybrid by_turns"] = hybrid(comm, CONV, X_conv, y_conv, plan, 2, JOINS["by_turns"])
    found["hybrid by_slices"] = hybrid(comm, CONV, X_conv, y_conv, plan, 2, JOINS["by_slices"])
    return found


def sent(trace):
    """List what went from each rank to each other, on every communicator in its order."""
    found = {}
    for message in trace.messages:
        key = message.src, message.dst, message.comm
        found.setdefault(key, []).append((message.n_bytes, message.tag))
    return found


@pytest.mark.slow
def test_every_world_computes_and_sends_the_same(both_worlds):
    data = (*examples(MLP, rows=48), *examples(CONV, rows=48))
    simulated, *real = [world(trained_all, *data, workers=4) for world in both_worlds]
    for result in real:
        for value, like in zip(result.values, simulated.values, strict=True):
            for name, training in value.items():
                np.testing.assert_allclose(training.w, like[name].w, err_msg=name, **CLOSE)
                np.testing.assert_allclose(training.losses, like[name].losses, **CLOSE)
        assert sent(result.trace) == sent(simulated.trace)


# Bad input


def refusal(scheme, model, size=2, **options):
    X, y = examples(MLP if not isinstance(model, Chain) else model, rows=8)
    with pytest.raises(RunError) as caught:
        run(partial(scheme, **options), model, X, y, PLAN, workers=size, backend="simulated")
    assert caught.value.trace.n_messages == 0
    assert isinstance(caught.value, WorkerError)
    return str(caught.value)


def test_what_cannot_be_divided_is_refused_before_anything_is_sent():
    told = refusal(split_weights, deep_mlp(6, 3, 8), size=4)
    assert "each of 4 ranks must have one of the 3 outputs of fc1 at least: use 3 ranks" in told
    told = refusal(hybrid, CONV, size=9)
    assert "each of 9 ranks must have one of the 8 outputs of fc6" in told
    for splits in (3, 0, -2):
        told = refusal(hybrid, CONV, size=4, splits=splits)
        assert (
            f"splits must divide the number of ranks, so that replicas x splits = 4; got {splits}"
            in told
        )
    assert "splits must be an int, got 2.0 (float)" in refusal(hybrid, CONV, splits=2.0)
    told = refusal(hybrid, deep_mlp(6, 3, 8), size=8, splits=4)
    assert "each of 4 ranks must have one of the 3 outputs of fc1 at least" in told
    ends_otherwise = Chain([StandInLayer(LayerSize("conv1", 2, 1.0), (8,))], (6,))
    assert "model must end with a fully connected layer, got conv1" in refusal(
        split_weights, ends_otherwise
    )


@pytest.mark.parametrize("scheme", [split_weights, hybrid, sharded_parameters])
def test_a_model_that_is_no_chain_is_refused(scheme):
    from course_lib.models.logistic_regression import LogisticRegression

    told = refusal(scheme, LogisticRegression(6))
    assert "model must be a Chain" in told
    assert "got LogisticRegression" in told


def kinds(comm, net):
    return [type(part).__name__ for part in split_in_pairs(comm, net).parts]


def test_only_the_fully_connected_layers_at_the_end_are_split():
    between = StandInLayer(LayerSize("b", 2, 1.0), (9,))
    parts = [FullyConnected("a", 6, 9), between, FullyConnected("c", 9, 8, bends=False)]
    (found,) = run(kinds, Chain(parts, (6,)), workers=1, backend="simulated").values
    assert found == ["Whole", "Whole", "Columns"]
