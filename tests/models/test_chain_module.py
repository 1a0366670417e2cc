"""Layers of a chain as a module of PyTorch."""

import numpy as np
import pytest
import torch

from course_lib.models.alexnet import alexnet
from course_lib.models.chain_module import as_module
from course_lib.models.deep_mlp import deep_mlp


def test_a_module_of_pytorch_makes_what_the_layers_make():
    model, X = deep_mlp(16, 16, 16, 16), np.random.default_rng(0).normal(size=(8, 16))
    module = as_module(model, range(3))
    x = X
    for number in range(3):
        x, _ = model.parts[number].forward(model.initial_of(number), x)
    found = module(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(found, x, rtol=0, atol=1e-12)
    shorter = as_module(model, range(2))(torch.tensor(X)).detach().numpy()
    assert np.abs(shorter - x).max() > 1e-3


def test_other_layers_are_refused():
    with pytest.raises(TypeError, match=r"layers must be fully connected, got 'conv1'"):
        as_module(alexnet(2, 6), range(1))
