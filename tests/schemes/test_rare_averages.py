"""Local SGD and DiLoCo: what they are equal to, what they send, and what they go on from."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.compression import Sign
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    compressed,
    data_parallel,
    diloco,
    gossip,
    local_sgd,
    parameter_averaging,
    train,
)
from course_lib.training import SGD, AdamW, Plan

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(96, 3)), RNG.integers(0, 2, size=96)
PLAN = Plan(learning_rate=0.2, batch_size=24, epochs=5)  # 20 steps, each in equal shares
AS_LOCAL_SGD = partial(diloco, optimizer=SGD, outer_rate=1.0, outer_momentum=0.0)
ROUNDED = 1e-13
"""20 steps add some hundred numbers below 1 in another order."""


def trained(scheme, plan=PLAN, model=None, workers=4, **options):
    task = partial(scheme, **options)
    model = model or mlp(3, 6, 2)
    values = run(task, model, X, Y, plan, workers=workers, backend="simulated").values
    assert len({value.w.tobytes() for value in values}) == 1
    return values[0].w


def apart(a, b):
    return np.abs(a - b).max()


@settings(max_examples=15, deadline=None)
@given(workers=st.integers(1, 8), momentum=st.sampled_from([0.0, 0.5]))
def test_an_outer_step_of_1_after_each_step_is_synchronous_sgd(workers, momentum):
    plan, model = replace(PLAN, momentum=momentum), LogisticRegression(3)
    if 24 % workers:
        plan = replace(plan, batch_size=workers, epochs=1)
        if 96 % workers:
            return  # a mean of models weighs unequal shares alike
    once = partial(trained, plan=plan, model=model, workers=workers)
    synchronous = once(data_parallel)
    assert apart(once(AS_LOCAL_SGD, every=1), synchronous) < ROUNDED
    # The likely mistake: a sum in place of the mean of the ways.
    assert workers == 1 or apart(once(AS_LOCAL_SGD, every=1, outer_rate=1.3), synchronous) > 1e-3


@pytest.mark.parametrize("every", [1, 2, 3, 7, 100])
def test_an_outer_step_of_1_is_local_sgd_whatever_lies_between(every):
    plan = replace(PLAN, momentum=0.9, learning_rate=0.05)
    local = trained(local_sgd, plan, every=every)
    assert apart(trained(AS_LOCAL_SGD, plan, every=every), local) < ROUNDED
    if every < 20:
        assert apart(trained(AS_LOCAL_SGD, plan, every=every, outer_momentum=0.9), local) > 1e-3
    if every > 1:
        assert apart(trained(data_parallel, plan), local) > 1e-3


def test_local_sgd_is_parameter_averaging_under_the_name_of_the_field():
    assert local_sgd is parameter_averaging


def written_out(every, workers=4):
    """DiLoCo for AdamW, as the paper's algorithm 1 has it, on one process."""
    model, plan = mlp(3, 6, 2), replace(PLAN, learning_rate=0.02)
    outer, velocity = model.initial(plan.seed), 0.0
    models = [outer.copy() for _ in range(workers)]
    inner = [AdamW(w, plan) for w in models]
    shares = zip(*(plan.shares(96, rank, workers) for rank in range(workers)), strict=True)
    for step, of_ranks in enumerate(shares, start=1):
        for w, optimizer, (examples, _) in zip(models, inner, of_ranks, strict=True):
            optimizer.step(model.gradient(w, (X[examples], Y[examples]))[1])
        if step % every == 0:
            slope = np.mean([outer - w for w in models], axis=0)
            velocity = 0.9 * velocity + slope
            outer = outer - 0.7 * (slope + 0.9 * velocity)
            for w in models:
                w[...] = outer
    return outer


def test_it_is_the_algorithm_of_the_paper():
    plan = replace(PLAN, learning_rate=0.02)
    found = trained(diloco, plan, every=5)
    # AdamW divides by small roots: what was rounded there counts more.
    assert apart(found, written_out(5)) < 1e-9
    assert apart(trained(diloco, plan, every=5, outer_rate=0.8), written_out(5)) > 1e-3


@pytest.mark.parametrize("scheme", [local_sgd, diloco])
def test_an_exchange_is_sent_after_every_so_many_steps_and_after_the_last(world, scheme):
    """Messages and bytes are those of the cost lines: rings of n bytes, a broadcast before."""
    model, workers = LogisticRegression(3), 4
    n_bytes = 8 * model.n_parameters
    for every, exchanges in ((1, 20), (8, 3), (500, 1)):
        plan = PLAN if scheme is local_sgd else replace(PLAN, learning_rate=0.01)
        task = partial(scheme, every=every)
        trace = world(task, model, X, Y, plan, workers=workers).trace
        assert trace.n_messages == (workers - 1) + exchanges * 2 * (workers - 1) * workers
        assert sum(trace.bytes_sent()) == (workers - 1) * n_bytes * (1 + 2 * exchanges)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"every": 0}, "every must be an int of 1 or more, got 0"),
        ({"every": 2.0}, "every must be an int of 1 or more, got 2.0"),
        ({"outer_rate": 0.0}, "outer_rate must be above 0 and finite, got 0.0"),
        ({"outer_momentum": 1.0}, "outer_momentum must be 0 or more and below 1, got 1.0"),
    ],
)
def test_wrong_numbers_are_refused_before_anything_is_sent(changes, told):
    with pytest.raises(WorkerError, match=told) as caught:
        trained(diloco, replace(PLAN, learning_rate=0.01), **changes)
    assert len(caught.value.trace.messages) == 0


def test_one_rank_that_trains_alone_takes_the_inner_steps():
    assert apart(trained(AS_LOCAL_SGD, every=3, workers=1), train(mlp(3, 6, 2), X, Y, PLAN).w) < (
        ROUNDED
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy sees it, too
@pytest.mark.parametrize(
    "scheme", [local_sgd, AS_LOCAL_SGD, gossip, partial(compressed, compressor=Sign())]
)
def test_a_loss_that_is_no_number_is_told_when_it_is_seen(scheme):
    plan, model = Plan(1e60, 24, epochs=50), LinearRegression(3)
    with pytest.raises(WorkerError, match=r"diverged: the loss over batch \d+ is") as caught:
        run(scheme, model, X, X[:, 0], plan, workers=4, backend="simulated")
    assert len(caught.value.trace.notes_named("loss_partial")) < 4 * 20  # of 4 x 200
