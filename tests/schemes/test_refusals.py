"""Every scheme says in its first line what it cannot train; nothing has been sent then."""

import inspect
from functools import partial

import numpy as np
import pytest
import torch

from course_lib import run, schemes
from course_lib.comm.errors import RunError
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.fully_connected import FullyConnected
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.models.published import LayerSize
from course_lib.models.stand_in import StandInLayer
from course_lib.schemes.serial import steps_to_loss, walk
from course_lib.training import Plan, check_training
from course_lib.training.shards import shards_evenly

X, Y = np.ones((8, 3)), np.arange(8) % 2
PLAN = Plan(batch_size=4)
MODEL = mlp(3, 2)

IN_LAYERS = deep_mlp(3, 4, 2)
OWN_MODEL = {
    "hybrid": Chain(
        [StandInLayer(LayerSize("conv", 1, 1.0), (3,)), FullyConnected("fc", 3, 2, bends=False)],
        (3,),
    ),
    "distbelief": IN_LAYERS,
    "model_parallel": IN_LAYERS,
    "pipeline": IN_LAYERS,
    "sharded_parameters": IN_LAYERS,
    "split_weights": IN_LAYERS,
}  # of schemes that train nothing else

OWN = {
    "backup_workers": {"backups": 0},
    "distbelief": {"splits": 1, "shards": shards_evenly(IN_LAYERS.n_parameters, 1)},
    "pipeline": {"microbatches": 2},
    "priority": {"order": [0]},
    "sharded_parameter_server": {"shards": shards_evenly(MODEL.n_parameters, 1)},
}
WITHOUT_MODEL = {"map_reduce", "one_shot_averaging", "gradient_descent"}
WITHOUT_RANKS = {"train", "gradient_descent"}
OF_SPARSE_ROWS = {"hogwild_sparse"}  # for one model; what it refuses is tested with it
OF_RANKS = sorted({*schemes.__all__} - WITHOUT_RANKS - OF_SPARSE_ROWS)
WITH_MODEL = sorted({*OF_RANKS} - WITHOUT_MODEL)


def tried(name, *data):
    """Train with two simulated ranks, and trace what they send."""
    scheme = getattr(schemes, name)
    if "plan" in inspect.signature(scheme).parameters:
        data = (*data, PLAN)
    return run(partial(scheme, **OWN.get(name, {})), *data, workers=2, backend="simulated")


def refusal(name, *data):
    with pytest.raises(RunError) as caught:
        tried(name, *data)
    assert len(caught.value.trace.messages) == 0
    return str(caught.value)


@pytest.mark.parametrize("name", WITH_MODEL)
def test_what_they_are_given_here_can_be_trained(name):
    assert tried(name, OWN_MODEL.get(name, MODEL), X, Y).values[0].losses


@pytest.mark.parametrize("name", WITH_MODEL)
def test_a_scheme_without_a_model_says_what_makes_one(name):
    told = refusal(name, torch.nn.Linear(3, 2), X, Y)
    assert "TypeError: model must be a Model, got Linear" in told
    assert "mlp(64, 32, 10)" in told
    assert "from_module(module) of course_lib.models makes one" in told


@pytest.mark.parametrize("name", OF_RANKS)
@pytest.mark.parametrize("short", ["X", "y"])
def test_a_row_without_a_target_is_refused(name, short):
    data = (X[:6], Y) if short == "X" else (X, Y[:6])
    model = () if name in WITHOUT_MODEL else (MODEL,)
    assert "6" in refusal(name, *model, *data)


@pytest.mark.parametrize("name", OF_RANKS)
def test_no_example_is_refused(name):
    model = () if name in WITHOUT_MODEL else (MODEL,)
    assert "one" in refusal(name, *model, X[:0], Y[:0])


@pytest.mark.parametrize("fn", [schemes.train, walk, partial(steps_to_loss, target=0.1)])
def test_so_does_training_without_ranks(fn):
    with pytest.raises(ValueError, match="got 8 rows of X and 7 of y"):
        list(fn(MODEL, X, Y[:7], PLAN))


FUNCTIONS = {"optimizer", "allreduce", "reduce_scatter", "allgather", "cut", "divide", "join"}
CALLED = [
    (name, what)
    for name in WITH_MODEL
    for what in inspect.signature(getattr(schemes, name)).parameters
    if what in FUNCTIONS
]


@pytest.mark.parametrize(("name", "what"), CALLED)
def test_what_is_no_function_is_refused_by_its_name(name, what):
    scheme = partial(getattr(schemes, name), **OWN.get(name, {}) | {what: "ring"})
    with pytest.raises(RunError, match=rf"TypeError: {what} must be a function.*got 'ring' \(str"):
        run(scheme, OWN_MODEL.get(name, MODEL), X, Y, PLAN, workers=2, backend="simulated")


@pytest.mark.parametrize(
    ("name", "option", "told"),
    [
        ("parameter_averaging", {"every": 1.5}, "every must be an int of 1 or more, got 1.5"),
        ("local_sgd", {"every": "2"}, "every must be an int of 1 or more, got '2'"),
        ("diloco", {"outer_rate": "x"}, "outer_rate must be a number, got 'x'"),
        ("diloco", {"outer_momentum": None}, "outer_momentum must be a number, got None"),
        ("layerwise_bucketed", {"bucket_bytes": "1"}, "bucket_bytes must be a number, got '1'"),
        ("layerwise_bucketed", {"bucket_bytes": -1}, "bucket_bytes must be 0 or more, got -1"),
        ("asynchronous_averaging", {"mixing": "x"}, "mixing must be a number, got 'x'"),
        ("priority", {"order": None}, "order must name each of the layers 0 to 0, got None"),
    ],
)
def test_an_option_that_is_no_number_is_refused_by_its_name(name, option, told):
    with pytest.raises(RunError, match=told):
        run(partial(getattr(schemes, name), **option), MODEL, X, Y, PLAN, backend="simulated")


class Half:
    """A model that somebody has begun to write."""

    n_parameters, layers = 2, ()

    def initial(self, seed=0):
        return np.zeros(2)


@pytest.mark.parametrize(
    ("model", "data", "told"),
    [
        (None, (X, Y), "must be a Model, got NoneType; from_module"),
        (LinearRegression, (X, Y), "got the class LinearRegression: call it"),
        (Half(), (X, Y), "got Half, which has no loss, gradient, .*flops"),
        (MODEL, ([[1.0], [2.0]], Y), "X must be an array .* got list: np.asarray makes one"),
        (MODEL, (X, [0, 1]), "y must be an array .* got list"),
        (MODEL, (X, np.float64(1)), "y must be an array with a row for each example, got float64"),
    ],
)
def test_what_is_wrong_is_named(model, data, told):
    with pytest.raises(TypeError, match=told):
        check_training(model, *data)


@pytest.mark.parametrize("model", [LinearRegression(3), LogisticRegression(3), MODEL])
@pytest.mark.parametrize("as_array", [np.asarray, torch.tensor])
def test_what_can_be_trained_is_not_refused(model, as_array):
    check_training(model, as_array(X), as_array(Y))


def test_rank_0_can_lend_replicas_of_a_network_only():
    told = refusal("nn_data_parallel", LinearRegression(3), X, Y)
    assert "TypeError: model must be a TorchModel, got LinearRegression" in told
