"""Whatever a plan and an optimizer say, every scheme takes the steps of one process."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.models import from_module
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    asynchronous_averaging,
    backup_workers,
    compressed,
    data_parallel,
    diloco,
    downpour,
    gossip,
    layerwise,
    layerwise_bucketed,
    map_reduce,
    nn_data_parallel,
    one_shot_training,
    parameter_averaging,
    parameter_server,
    parameter_server_on_worker,
    priority,
    serial,
    sharded_data_parallel,
    sharded_parameter_server,
    train,
)
from course_lib.training import SGD, Adam, AdamW, Cosine, Plan, StepDecay, from_torch
from course_lib.training.accumulation import Accumulating
from course_lib.training.shards import shards_by_name, shards_evenly

MODEL = mlp(3, 6, 2)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.integers(0, 2, size=50)

SCHEMES = {
    "data_parallel": (data_parallel, 3),
    "layerwise": (layerwise, 3),
    "layerwise_bucketed": (partial(layerwise_bucketed, bucket_bytes=100), 3),
    "parameter_server": (parameter_server, 4),
    "parameter_server_on_worker": (parameter_server_on_worker, 3),
    "sharded_data_parallel": (sharded_data_parallel, 3),
    "even shards": (
        partial(sharded_parameter_server, shards=shards_evenly(MODEL.n_parameters, 3)), 5
    ),
    "a server without a shard": (
        partial(sharded_parameter_server, shards=shards_by_name(MODEL.layers, 3)), 5
    ),
    "priority": (partial(priority, order=[0, 1]), 3),
    "nn_data_parallel": (nn_data_parallel, 3),
}  # fmt: skip
PLANS = {
    "SGD": (SGD, Plan(0.5, 16, 3, momentum=0.9, weight_decay=0.05, schedule=StepDecay(4, 0.5))),
    "AdamW": (AdamW, Plan(0.05, 16, 3, weight_decay=0.1, warmup_steps=3, schedule=Cosine(9))),
    "of torch": (from_torch(torch.optim.RMSprop), Plan(0.01, 16, 3, schedule=Cosine(12))),
}
CANNOT = {
    "priority": ("clip", "accumulate"),
    "nn_data_parallel": ("accumulate",),
    "even shards": (),
}
SHORT, PARTS = 0.2, 3
"""A norm that all of these gradients exceed; a number of parts that divides no share evenly."""


def adapted(name, plan):
    """Everything that the scheme can do."""
    wanted = {"clip": SHORT, "accumulate": PARTS}
    return replace(plan, **{k: v for k, v in wanted.items() if k not in CANNOT.get(name, ())})


@pytest.mark.parametrize("optimizer", PLANS)
@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_takes_the_steps_of_one_process(name, optimizer):
    scheme, workers = SCHEMES[name]
    make, plan = PLANS[optimizer]
    plan = adapted(name, plan)
    found = run(
        partial(scheme, optimizer=make), MODEL, X, Y, plan, workers=workers, backend="simulated"
    ).values
    expected = train(MODEL, X, Y, plan, make)
    for value in found:
        # Twelve steps, in which sums are made in another order; Adam divides by small roots.
        np.testing.assert_allclose(value.w, expected.w, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        np.sum([value.losses for value in found], axis=0), expected.losses, rtol=1e-10
    )
    # The likely mistakes: one part of the plan is forgotten.
    for forgotten in ({"weight_decay": 0.0}, {"schedule": None}, {"clip": None}):
        (field,) = forgotten
        if getattr(plan, field) is not None and (field != "clip" or make is SGD):
            other = train(MODEL, X, Y, replace(plan, **forgotten), make)
            if other.w.tobytes() != expected.w.tobytes():  # RMSprop has no decay here
                assert np.abs(other.w - expected.w).max() > 1e-6


@pytest.mark.parametrize("name", ["sharded_data_parallel", "even shards"])
def test_shards_that_are_clipped_by_their_own_norm_would_be_noticed(name, monkeypatch):
    scheme, workers = SCHEMES[name]
    plan = Plan(0.5, 16, 3, clip=SHORT)
    right = run(scheme, MODEL, X, Y, plan, workers=workers, backend="simulated").values[0]
    module = __import__(scheme.func.__module__ if name == "even shards" else scheme.__module__,
                        fromlist=["norm_of_all"])  # fmt: skip
    monkeypatch.setattr(module, "norm_of_all", lambda *_: None)
    wrong = run(scheme, MODEL, X, Y, plan, workers=workers, backend="simulated").values[0]
    expected = train(MODEL, X, Y, plan).w
    assert np.abs(right.w - expected).max() < 1e-12
    assert np.abs(wrong.w - expected).max() > 1e-3


@pytest.mark.parametrize("rendezvous", [False, True])
def test_clipping_sends_one_number_between_shards_and_nothing_elsewhere(rendezvous):
    def messages(scheme, workers, **changes):
        plan = Plan(0.1, 25, 1, **changes)  # two steps
        trace = run(
            scheme, MODEL, X, Y, plan, workers=workers, backend="simulated", rendezvous=rendezvous
        ).trace
        return trace.n_messages, sum(trace.bytes_sent())

    for name in ("data_parallel", "layerwise", "parameter_server"):
        scheme, workers = SCHEMES[name]
        assert messages(scheme, workers, clip=SHORT) == messages(scheme, workers)
    scheme, workers = SCHEMES["even shards"]
    plain, clipped = messages(scheme, workers), messages(scheme, workers, clip=SHORT)
    assert clipped == (plain[0] + 2 * 3 * 2, plain[1] + 2 * 3 * 2 * 8)
    plain = messages(sharded_data_parallel, 3)
    assert messages(sharded_data_parallel, 3, clip=SHORT)[1] == plain[1] + 2 * 2 * 2 * 8


@pytest.mark.parametrize("scheme", [data_parallel, layerwise, sharded_data_parallel])
def test_accumulating_sends_no_message_more_and_holds_a_part_of_the_activations(scheme):
    traces = [
        run(scheme, MODEL, X, Y, Plan(0.1, 25, accumulate=k), workers=2, backend="simulated").trace
        for k in (1, 4)
    ]
    assert traces[0].n_messages == traces[1].n_messages
    assert traces[0].bytes_sent() == traces[1].bytes_sent()
    rows = []

    class Watched:
        layers = MODEL.layers

        def gradient(self, w, batch, weight):
            rows.append(len(batch[1]))
            return MODEL.gradient(w, batch, weight)

    Accumulating(Watched(), 4).gradient(MODEL.initial(), (X[:14], Y[:14]))
    assert rows == [3, 4, 3, 4]
    rows.clear()
    Accumulating(Watched(), 10**12).gradient(MODEL.initial(), (X[:3], Y[:3]))
    assert rows == [1, 1, 1], "parts that have no examples take no time"


def test_parts_of_a_batch_are_the_batch_by_layers_too_and_their_work_is_counted():
    model, w, batch = Accumulating(MODEL, 4), MODEL.initial(), (X[:10], Y[:10])
    loss, grad = MODEL.gradient(w, batch, 0.5)
    found = model.gradient(w, batch, 0.5)
    np.testing.assert_allclose(found[1], grad, rtol=0, atol=1e-15)
    assert found[0] == pytest.approx(loss, rel=1e-14)
    layers = [grad for _, grad in model.backward_layers(w, batch)]
    np.testing.assert_allclose(np.concatenate(layers[::-1]), 2 * grad, rtol=0, atol=1e-15)
    assert sum(map(sum, model.layer_flops(batch))) == pytest.approx(MODEL.flops(batch))
    with pytest.raises(ValueError, match="batch must hold at least one example"):
        model.gradient(w, (X[:0], Y[:0]))
    # The likely mistake, parts that weigh alike, for 2, 3, 2 and 3 examples:
    alike = np.mean([MODEL.gradient(w, part)[1] for part, _ in model.parts(batch)], axis=0)
    assert np.abs(alike / 2 - grad).max() > 1e-4


# What a rank keeps


def kept_bytes(comm, scheme, plan, make):
    """Train, and count the bytes of what this rank's optimizers keep."""
    steppers = []

    def counted(w, plan):
        steppers.append(make(w, plan))
        return steppers[-1]

    scheme(comm, MODEL, X, Y, plan, optimizer=counted)
    return sum(array.nbytes for own in steppers for array in own.state.values())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_what_adam_keeps_is_kept_once_over_the_ranks_with_shards_of_the_optimizer(size):
    n_bytes = 8 * MODEL.n_parameters
    work = partial(kept_bytes, plan=Plan(0.01, 25), make=Adam)
    sharded = run(work, sharded_data_parallel, workers=size, backend="simulated").values
    whole = run(work, data_parallel, workers=size, backend="simulated").values
    assert whole == [2 * n_bytes] * size
    assert sum(sharded) == 2 * n_bytes
    assert max(sharded) - min(sharded) <= 2 * 8
    assert max(sharded) <= 2 * (n_bytes / size + 8)


# Epochs


def followed(comm, scheme, plan):
    """Train, and return what this rank was called with."""
    calls = []
    plan = replace(plan, on_epoch=lambda epoch, w: calls.append((epoch, w.copy())))
    scheme(comm, MODEL, X, Y, plan)
    return calls


@pytest.mark.parametrize(
    "name", [name for name in SCHEMES if "shard" not in name or "data" in name]
)
def test_rank_0_is_called_after_every_epoch_with_the_model_as_it_is_then(name):
    scheme, workers = SCHEMES[name]
    plan = Plan(0.2, 16, 3, momentum=0.5)
    calls = run(followed, scheme, plan, workers=workers, backend="simulated").values
    assert calls[1:] == [[]] * (workers - 1)
    assert [epoch for epoch, _ in calls[0]] == [1, 2, 3]
    for epoch, w in calls[0]:
        expected = train(MODEL, X, Y, replace(plan, epochs=epoch)).w
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-13)
    assert np.abs(calls[0][0][1] - calls[0][1][1]).max() > 1e-3


@pytest.mark.parametrize("scheme", [serial, one_shot_training])
def test_where_every_rank_trains_alone_each_is_called(scheme):
    calls = run(followed, scheme, Plan(0.2, 16, 2), workers=2, backend="simulated").values
    assert [[epoch for epoch, _ in own] for own in calls] == [[1, 2]] * 2


def test_where_models_are_averaged_rank_0_is_called_with_its_own():
    scheme = partial(parameter_averaging, every=5)  # an epoch has four steps
    calls = run(followed, scheme, Plan(0.2, 16, 2), workers=2, backend="simulated").values
    assert [len(own) for own in calls] == [2, 0]


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("priority", {"clip": 1.0}, "clip must be None for priority, got 1.0"),
        ("priority", {"accumulate": 2}, "accumulate must be 1 for priority, got 2"),
        ("nn_data_parallel", {"accumulate": 2}, "accumulate must be 1 for nn_data_parallel"),
        ("even shards", {"on_epoch": print}, "on_epoch must be None for sharded_parameter_server"),
    ],
)
def test_what_a_scheme_cannot_do_is_refused_before_anything_is_sent(name, changes, told):
    scheme, workers = SCHEMES[name]
    with pytest.raises(WorkerError, match=told) as caught:
        run(scheme, MODEL, X, Y, Plan(**changes), workers=workers, backend="simulated")
    assert len(caught.value.trace.messages) == 0


def test_a_parameter_that_no_server_keeps_is_refused_before_anything_is_sent():
    scheme = partial(sharded_parameter_server, shards=[[slice(1, MODEL.n_parameters)]])
    with pytest.raises(WorkerError, match="got 1 that none keeps and 0 kept twice") as caught:
        run(scheme, MODEL, X, Y, Plan(), workers=2, backend="simulated")
    assert len(caught.value.trace.messages) == 0


@pytest.mark.parametrize(
    "changes",
    [{"momentum": 0.5}, {"weight_decay": 0.1}, {"clip": 1.0}, {"accumulate": 2}],
)
def test_map_reduce_has_a_rate_and_nothing_else(changes):
    with pytest.raises(WorkerError, match=f"{next(iter(changes))} must be .* for map_reduce"):
        run(map_reduce, X, Y.astype(float), Plan(**changes), workers=2, backend="simulated")


def test_adam_and_a_schedule_reach_a_module_of_ones_own():
    module = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    model = from_module(module.double())
    make, plan = PLANS["AdamW"]
    expected = train(model, X, Y, plan, make)
    for scheme in (layerwise, sharded_data_parallel):
        found = run(
            partial(scheme, optimizer=make), model, X, Y, plan, workers=4, backend="simulated"
        ).values
        np.testing.assert_allclose(found[3].w, expected.w, rtol=0, atol=1e-11)


@pytest.mark.parametrize("first_epoch", [0, 1])
@pytest.mark.parametrize(
    "scheme",
    [asynchronous_averaging, backup_workers, compressed, diloco, downpour, gossip,
     parameter_averaging],
)  # fmt: skip
def test_a_batch_that_diverges_is_told_by_its_number_in_the_plan(scheme, first_epoch):
    plan = Plan(0.01, 10, epochs=2, first_epoch=first_epoch)
    examples, _ = list(plan.shares(len(Y)))[2]  # of an epoch of 5
    X_bad = X.copy()
    X_bad[examples] = np.inf  # all of it: whichever rank has a part
    with pytest.raises(WorkerError, match=rf"over batch {5 * first_epoch + 2} is nan"):
        run(scheme, MODEL, X_bad, Y, plan, workers=3, backend="simulated")
