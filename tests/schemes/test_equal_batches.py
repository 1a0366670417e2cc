"""N workers with B examples each take the steps of one with N B: who promises it, and who not."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.models.conv_net import conv_net
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    data_parallel,
    layerwise,
    parameter_averaging,
    parameter_server,
    parameter_server_on_worker,
    sharded_data_parallel,
    sharded_parameter_server,
    train,
)
from course_lib.training import Adam, Plan
from course_lib.training.shards import shards_by_name, shards_evenly

PLAN = Plan(learning_rate=0.2, batch_size=24, epochs=4)  # 20 steps of 120 examples
TOLERANCE = 1e-13
"""20 steps add some hundred numbers below 1 in another order, and float64 rounds them to 1e-16."""

FAR = 1e-4
"""A mistake must be further away than that: more than ten times the tolerance, by far."""


def evenly(model):
    return shards_evenly(model.n_parameters, 2)


def by_name(model):
    return shards_by_name(model.layers, 2)


def in_shards(placed):
    def scheme(comm, model, X, y, plan, **optimizer):
        return sharded_parameter_server(comm, model, X, y, plan, placed(model), **optimizer)

    return scheme


PROMISING = {
    "data_parallel": data_parallel,
    "layerwise": layerwise,
    "parameter_averaging": parameter_averaging,
    "parameter_server": parameter_server,
    "parameter_server on a worker": parameter_server_on_worker,
    "two shards": in_shards(evenly),
    "shards by name": in_shards(by_name),
    "shards on all workers": sharded_data_parallel,
}  # fmt: skip


def examples(rows=120, columns=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, columns)), rng.integers(0, 2, size=rows)


def whole_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, size=(32, 3)), rng.integers(-4, 5, size=32)
    return X.astype(float), y.astype(float)


def distance(scheme, model, data, plan, workers=4, **optimizer):
    """How far the parameters of any rank are from those of one process."""
    scheme = partial(scheme, **optimizer)
    values = run(scheme, model, *data, plan, workers=workers, backend="simulated").values
    w = train(model, *data, plan, **optimizer).w
    return max(np.abs(value.w - w).max() for value in values)


def ranks_for(name, n_workers):
    """Return how many ranks there must be for so many workers."""
    servers = {"parameter_server": 1, "two shards": 2, "shards by name": 2}
    return n_workers + servers.get(name, 0)


@pytest.mark.parametrize("name", PROMISING)
def test_four_workers_take_twenty_steps_of_one(name):
    model, data = mlp(3, 6, 2), examples()
    assert len(train(model, *data, PLAN).losses) == 20
    assert distance(PROMISING[name], model, data, PLAN, ranks_for(name, 4)) < TOLERANCE


@pytest.mark.parametrize("scheme", [data_parallel, parameter_averaging])
@pytest.mark.parametrize("allreduce", ALLREDUCES)
def test_every_all_reduce_will_do(scheme, allreduce):
    found = partial(scheme, allreduce=ALLREDUCES[allreduce])
    assert distance(found, mlp(3, 6, 2), examples(), PLAN) < TOLERANCE


@pytest.mark.parametrize("name", PROMISING)
@pytest.mark.parametrize("n_workers", [4, 8])
def test_gradients_of_whole_numbers_agree_to_the_bit(name, n_workers):
    """Nothing is rounded: rates, weights and the number of workers are powers of two."""
    plan = Plan(learning_rate=0.25, batch_size=16, epochs=2)
    ranks = ranks_for(name, n_workers)
    assert distance(PROMISING[name], LinearRegression(3), whole_numbers(), plan, ranks) == 0


# Models and mistakes with which they are not equal


@pytest.mark.parametrize("name", PROMISING)
def test_with_batch_norm_they_differ(name):
    """Each worker scales by the mean and variance of its own examples."""
    data = examples(rows=48, columns=64)
    plan = Plan(batch_size=16, epochs=1)
    for batch_norm in (False, True):
        model = conv_net(2, 2, batch_norm=batch_norm)
        found = distance(PROMISING[name], model, data, plan, ranks_for(name, 4))
        assert found > FAR if batch_norm else found < TOLERANCE


class Unweighted:
    """A plan with the likely mistake: each worker weighs the same, however many examples it has."""

    def __init__(self, plan):
        self._plan = plan

    def shares(self, n_examples, rank=0, size=1, w=None):
        for share in self._plan.shares(n_examples, rank, size, w):
            yield share._replace(weight=1 / size)

    def __getattr__(self, name):
        return getattr(self._plan, name)


@pytest.mark.parametrize("name", PROMISING)
def test_unequal_parts_are_weighed_or_make_a_difference(name):
    """Seven examples for four workers; a mean of models weighs the workers alike."""
    model, data, plan = mlp(3, 6, 2), examples(rows=49), Plan(learning_rate=0.2, batch_size=7)
    ranks = ranks_for(name, 4)

    def unweighted(comm, model, X, y, plan):
        return PROMISING[name](comm, model, X, y, Unweighted(plan))

    assert distance(unweighted, model, data, plan, ranks) > FAR
    found = distance(PROMISING[name], model, data, plan, ranks)
    assert found > FAR if name == "parameter_averaging" else found < TOLERANCE


def forgotten_broadcast(comm, w):
    """Everybody begins with parameters of its own."""
    return mlp(3, 6, 2).initial(seed=comm.rank) if w is None else w


FORGOTTEN = {
    "data_parallel": ("data_parallel", "broadcast_tree", forgotten_broadcast),
    "parameter_averaging": ("parameter_averaging", "broadcast_tree", forgotten_broadcast),
    "parameter_server on a worker": (
        "parameter_server_on_worker",
        "hand_out",
        lambda comm, w: None,
    ),
    "two shards": ("sharded_parameter_server", "unpack", lambda *arguments: None),
}


@pytest.mark.parametrize("name", FORGOTTEN)
def test_forgotten_parameters_make_a_difference(monkeypatch, name):
    """Workers whose parameters nobody sent compute gradients at another place."""
    module, function, forgotten = FORGOTTEN[name]
    monkeypatch.setattr(import_module(f"course_lib.schemes.{module}"), function, forgotten)
    found = distance(PROMISING[name], mlp(3, 6, 2), examples(), PLAN, ranks_for(name, 4))
    assert found > FAR


# Averages of models


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_means_of_models_after_every_step_are_one_process_and_after_more_are_not(momentum):
    """Momentum is linear in the gradients: a mean of such steps is the step of the mean."""
    plan = Plan(learning_rate=0.05, batch_size=24, epochs=4, momentum=momentum)
    for every, is_equal in ((1, True), (2, False), (5, False)):
        scheme = partial(parameter_averaging, every=every)
        found = distance(scheme, mlp(3, 6, 2), examples(), plan)
        assert found < TOLERANCE if is_equal else found > FAR


@pytest.mark.parametrize("name", PROMISING)
def test_with_adam_a_mean_of_gradients_is_one_process_and_a_mean_of_models_is_not(name):
    plan, ranks = Plan(learning_rate=0.02, batch_size=24, epochs=4), ranks_for(name, 4)
    found = distance(PROMISING[name], mlp(3, 6, 2), examples(), plan, ranks, optimizer=Adam)
    # A gradient near 0 is divided by its own size: what was rounded there counts in full.
    assert found > FAR if name == "parameter_averaging" else found < 1e-9
