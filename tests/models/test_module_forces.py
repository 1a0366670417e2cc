"""A module whose outputs are derivatives trains as torch trains it."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import run
from course_lib.models import from_module
from course_lib.schemes import data_parallel, layerwise, train
from course_lib.training import Plan

F = nn.functional
RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
FORCES = -X - X**3


class Forces(nn.Module):
    """Minus the slope of an energy."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.energy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)).double()

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            return -torch.autograd.grad(self.energy(x).sum(), x, create_graph=True)[0]


def by_torch(module, n_epochs, rate):
    """Train in whole batches, as a loop of torch's own does."""
    module = copy.deepcopy(module)
    optimizer = torch.optim.SGD(module.parameters(), rate)
    for _ in range(n_epochs):
        optimizer.zero_grad()
        F.mse_loss(module(torch.as_tensor(X)), torch.as_tensor(FORCES)).backward()
        optimizer.step()
    return torch.cat([p.detach().reshape(-1) for p in module.parameters()]).numpy()


@pytest.mark.parametrize("flops", [None, 1000.0])
def test_forces_from_an_energy_train_as_torch_trains_them(flops):
    module = Forces()
    model = from_module(module, F.mse_loss, example=(X, FORCES), flops=flops)
    plan, expected = Plan(0.1, 24, epochs=5), by_torch(module, 5, 0.1)
    found = [train(model, X, FORCES, plan).w] + [
        run(scheme, model, X, FORCES, plan, workers=3, backend="simulated").values[1].w
        for scheme in (data_parallel, layerwise)
    ]
    for w in found:  # sums in another order
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-13)
    assert np.abs(model.initial() - expected).max() > 1e-2
    trained = model.as_module(expected)
    np.testing.assert_allclose(
        model.predict(expected, X), trained(torch.as_tensor(X)).detach().numpy(), atol=1e-14
    )


def test_the_products_on_the_inner_way_back_are_counted():
    """Two layers forward, and back to the inputs: 2 x (3 x 16 + 16) products each way."""
    found = from_module(Forces(), F.mse_loss).layer_flops((X[:1], FORCES[:1]))
    assert found[0].forward == 2 * 2 * (3 * 16 + 16)


class UnknownWhileCounted(nn.Linear):
    """Fails wherever torch looks at its single operations."""

    def forward(self, x):
        if torch.utils._python_dispatch._get_current_dispatch_mode() is not None:
            raise AssertionError("I am watched")
        return super().forward(x)


def test_what_cannot_be_counted_is_told_what_to_give():
    module = nn.Sequential(UnknownWhileCounted(3, 3))
    told = r"operations of module cannot be counted .*AssertionError: I am watched.*flops=\)"
    with pytest.raises(ValueError, match=told):
        from_module(module, F.mse_loss, example=(X, FORCES))
    model = from_module(module, F.mse_loss, example=(X, FORCES), flops=54.0)
    assert model.flops((X[:2], FORCES[:2])) == pytest.approx(108.0)
