"""Models on a device: schemes compute where the parameters are, and NumPy never sees them.

No GPU is needed: a tensor that refuses to become an array stands in for one that could not. What
really lies on a GPU is in ``tests/torch_backend/test_gpu.py``.
"""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import run, schemes
from course_lib.cli.train import main
from course_lib.collectives import ALLREDUCES
from course_lib.comm.errors import WorkerError
from course_lib.compression import Sign
from course_lib.models import from_module
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.models.on_device import on_device
from course_lib.schemes import data_parallel
from course_lib.train.checkpoint import load
from course_lib.training import SGD, Adam, Plan, from_torch
from course_lib.training.optimizer import copied
from course_lib.training.shards import shards_evenly

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 12)), RNG.integers(0, 4, 40)
PERCEPTRON = mlp(12, 8, 4)
HALVES = shards_evenly(PERCEPTRON.n_parameters, 2)
NO_CLIP = Plan(0.1, batch_size=8, epochs=2)  # which schemes without a whole gradient cannot
EVERY_SCHEME = {
    "serial": schemes.serial,
    "data_parallel": schemes.data_parallel,
    "nn_data_parallel": schemes.nn_data_parallel,
    "layerwise": schemes.layerwise,
    "layerwise_bucketed": schemes.layerwise_bucketed,
    "priority": partial(schemes.priority, order=[0, 1]),
    "parameter_server": schemes.parameter_server,
    "parameter_server_on_worker": schemes.parameter_server_on_worker,
    "sharded_parameter_server": partial(schemes.sharded_parameter_server, shards=HALVES),
    "sharded_data_parallel": schemes.sharded_data_parallel,
    "sharded_gradients": schemes.sharded_gradients,
    "local_sgd": schemes.local_sgd,
    "parameter_averaging": schemes.parameter_averaging,
    "one_shot_training": schemes.one_shot_training,
    "diloco": schemes.diloco,
    "gossip": schemes.gossip,
    "backup_workers": schemes.backup_workers,
    "bounded_staleness": schemes.bounded_staleness,
    "downpour": schemes.downpour,
    "staleness_aware": schemes.staleness_aware,
    "asynchronous_averaging": schemes.asynchronous_averaging,
}


@pytest.fixture
def no_arrays(monkeypatch):
    """Let no tensor become an array unasked, as none on a GPU can."""

    def refused(tensor, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    monkeypatch.setattr(torch.Tensor, "__array__", refused)


def trained(scheme, model, plan=NO_CLIP):
    values = run(scheme, model, X, Y, plan, workers=4, backend="simulated", seed=1).values
    return [value for value in values if value is not None]


@pytest.mark.parametrize("name", EVERY_SCHEME)
def test_a_scheme_computes_with_tensors_what_it_does_with_arrays(name, no_arrays):
    scheme = EVERY_SCHEME[name]
    for ours, placed in zip(
        trained(scheme, PERCEPTRON), trained(scheme, on_device(PERCEPTRON, "cpu")), strict=True
    ):
        assert isinstance(placed.w, torch.Tensor)
        np.testing.assert_allclose(placed.w.numpy(), ours.w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(placed.losses, ours.losses, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("optimizer", "momentum"), [(SGD, 0.9), (Adam, 0.0), (from_torch(torch.optim.RMSprop), 0.0)]
)
def test_an_optimizer_steps_tensors_as_arrays(optimizer, momentum, no_arrays):
    scheme = partial(data_parallel, optimizer=optimizer)
    plan = Plan(0.01, batch_size=8, epochs=2, momentum=momentum, weight_decay=0.01, clip=1.0)
    ours = trained(scheme, PERCEPTRON, plan)[0]
    placed = trained(scheme, on_device(PERCEPTRON, "cpu"), plan)[0]
    np.testing.assert_allclose(placed.w.numpy(), ours.w, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "scheme", [schemes.hogwild, partial(schemes.compressed, compressor=Sign())]
)
def test_two_say_that_they_take_none(scheme):
    with pytest.raises(WorkerError, match=r"Tensor: leave on_device out"):
        trained(scheme, on_device(PERCEPTRON, "cpu"))


def test_what_is_kept_is_copied_to_where_the_parameters_are():
    there = torch.empty(3, device="meta")  # as on a GPU: not in this computer's memory
    assert copied(np.ones(3), there).device == there.device


PLACED = """
import numpy as np

from course_lib.models.mlp import mlp
from course_lib.models.on_device import on_device
from course_lib.train import Problem
from course_lib.training import Plan


def problem():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.integers(0, 3, 40)
    return Problem(on_device(mlp(4, 5, 3), "cpu"), (X[:30], y[:30], X[30:], y[30:]), Plan(0.1, 10))
"""


@pytest.mark.parametrize("optimizer", ["sgd --momentum 0.9", "adamw"])
@pytest.mark.parametrize("scheme", ["data_parallel", "sharded_data_parallel", "local_sgd"])
def test_a_training_goes_on_from_what_is_kept_of_it(scheme, optimizer, no_arrays, tmp_path, capsys):
    (tmp_path / "placed.py").write_text(PLACED)
    words = f"--problem {tmp_path}/placed.py:problem --scheme {scheme} --optimizer {optimizer}"
    words += f" --backend simulated --checkpoint {tmp_path}/"
    for rest in ("whole --epochs 2", "halves --epochs 1", "halves --epochs 2 --resume"):
        assert main((words + rest).split()) == 0, capsys.readouterr().err
    whole, halves = load(tmp_path / "whole"), load(tmp_path / "halves")
    np.testing.assert_array_equal(halves.w, whole.w)
    assert halves.rows[-1].loss == whole.rows[-1].loss < whole.rows[0].loss


@pytest.mark.parametrize("name", ALLREDUCES)
def test_an_all_reduce_adds_up_tensors(name, no_arrays):
    placed = trained(
        partial(data_parallel, allreduce=ALLREDUCES[name]), on_device(PERCEPTRON, "cpu")
    )
    ours = trained(data_parallel, PERCEPTRON)
    np.testing.assert_allclose(placed[0].w.numpy(), ours[0].w, rtol=0, atol=1e-12)


def test_a_module_with_dropout_draws_the_same_and_gives_its_weights_back(no_arrays):
    net = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 4)).double()
    model = from_module(net)
    placed = on_device(model, "cpu")
    assert isinstance(model.initial(), np.ndarray)  # it stays as it was
    ours, theirs = trained(data_parallel, model)[0], trained(data_parallel, placed)[0]
    np.testing.assert_array_equal(theirs.w.numpy(), ours.w)
    assert placed.predict(theirs.w, X).tolist() == model.predict(ours.w, X).tolist()
    assert torch.equal(placed.as_module(theirs.w)[0].weight, model.as_module(ours.w)[0].weight)


def test_nothing_that_is_drawn_here_seeds_a_gpu(monkeypatch):
    """Only the CPU's generator is put back afterwards."""

    def seeded(seed):
        raise AssertionError(f"all GPUs are seeded with {seed}")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded)
    net = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 4))
    model = from_module(net, example=(X[:4], Y[:4]), keep_weights=False)
    before = torch.get_rng_state()
    model.gradient(model.initial(3), (X, Y))
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(AssertionError, match="all GPUs are seeded with 3"):
        torch.manual_seed(3)


def test_what_cannot_go_to_a_device_is_refused_before_anything_is_started():
    with pytest.raises(TypeError, match="model must be a TorchModel, got LinearRegression"):
        on_device(LinearRegression(2), "cpu")
    batch_norm = from_module(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
    with pytest.raises(ValueError, match=r"nothing beside the parameters.* has running_mean"):
        on_device(batch_norm, "cpu")
    frozen = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    frozen[0].bias.requires_grad_(False)
    with pytest.raises(ValueError, match=r"nothing beside the parameters.* has .*bias"):
        on_device(from_module(frozen), "cpu")
    if not torch.backends.mps.is_available():
        with pytest.raises(RuntimeError, match=r"no device 'mps' here \(.*\): comm.device is one"):
            on_device(PERCEPTRON, "mps")
    with pytest.raises(RuntimeError, match="nowhere"):
        on_device(PERCEPTRON, "nowhere")
