"""A loss is a mean over the examples to the last digits, or it is refused."""

from collections import namedtuple

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import run
from course_lib.models import from_module
from course_lib.schemes import data_parallel, train
from course_lib.training import Plan

F = nn.functional
RNG = np.random.default_rng(0)
X, CLASSES = RNG.normal(size=(24, 6)), RNG.integers(0, 10, 24)
VALUES, PARTS = RNG.normal(size=(24, 10)), RNG.uniform(size=(24, 10))
SHARES, COUNTS = PARTS / PARTS.sum(1, keepdims=True), np.abs(VALUES).round()
WEIGHTS = torch.linspace(0.5, 2, 10)
Two = namedtuple("Two", "found others")


def network(n_outputs=10, last=None, scale=1.0, dtype=torch.float32):
    torch.manual_seed(0)
    layers = [nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, n_outputs)]
    with torch.no_grad():
        for parameter in layers[2].parameters():
            parameter *= scale
    return nn.Sequential(*layers, *([last] if last else [])).to(dtype)


def with_penalty(size):
    """A mixture of experts: all of them are to be used as often, over the whole batch."""
    return lambda z, y: (
        F.cross_entropy(z[:, :10], y) + size * (z[:, 10:].mean(0) ** 2).sum()
    )  # fmt: skip


class Balancing(nn.Module):
    """Computes the penalty itself."""

    def __init__(self, kind=tuple):
        super().__init__()
        self.inside, self.kind = network(14), kind

    def forward(self, x):
        z = self.inside(x)
        both = z[:, :10], (z[:, 10:].mean(0) ** 2).sum()
        return Two(*both) if self.kind is Two else both


class BalancingInTraining(Balancing):
    """Returns the penalty in training alone, and has a Dropout."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        z, penalty = super().forward(self.drop(x))
        return (z, penalty) if self.training else z


def in_training(z, y):
    z, penalty = z if isinstance(z, tuple) else (z, 0.0)
    return F.cross_entropy(z, y) + 0.01 * penalty


class Mixing(nn.Module):
    """Looks a bit at the other examples."""

    def __init__(self):
        super().__init__()
        self.inside = network()

    def forward(self, x):
        return self.inside(x - 1e-4 * x.mean(0))


def in_float32(z, y):
    return F.cross_entropy(z[:, :10].float(), y) + 0.01 * (z[:, 10:].float().mean(0) ** 2).sum()


NO_MEANS = {
    "penalty of 0.04": (network(14), with_penalty(0.04)),
    "penalty of 0.001": (network(14), with_penalty(0.001)),
    "outputs of zeros": (network(14, scale=0.0), with_penalty(0.04)),
    "large outputs": (network(14, scale=100.0), with_penalty(0.0001)),
    "in float32": (network(14, dtype=torch.float64), in_float32),
    "by the module": (Balancing(), lambda z, y: F.cross_entropy(z[0], y) + 0.01 * z[1]),
    "with names": (Balancing(Two), lambda z, y: F.cross_entropy(z.found, y) + 0.01 * z.others),
    "in training": (BalancingInTraining(), in_training),
    "mixed examples": (Mixing(), F.cross_entropy),
    "large batches alone": (
        network(),
        lambda z, y: F.cross_entropy(z, y) + (0.01 * z.std() if len(z) > 8 else 0),
    ),
}


@pytest.mark.parametrize("name", NO_MEANS)
def test_a_small_part_that_is_no_mean_is_found(name):
    module, loss = NO_MEANS[name]
    with pytest.raises(
        ValueError, match=r"loss must be a mean over the examples.* examples.* it is"
    ):
        from_module(module, loss, example=(X, CLASSES))


def in_half(z, y):
    return F.cross_entropy(z.bfloat16(), y).float()


def in_parts(z, y):
    return sum(F.cross_entropy(z[k : k + 1], y[k : k + 1]) for k in range(len(y))) / len(y)


MEANS = {
    "cross entropy": (None, nn.CrossEntropyLoss(label_smoothing=0.1), CLASSES),
    "of shares": (None, nn.CrossEntropyLoss(WEIGHTS), SHARES),
    "nll": (nn.LogSoftmax(1), nn.NLLLoss(), CLASSES),
    "mse": (None, nn.MSELoss(), VALUES),
    "l1": (None, nn.L1Loss(), VALUES),
    "huber": (None, nn.HuberLoss(), VALUES),
    "smooth l1": (None, nn.SmoothL1Loss(beta=0.1), VALUES),
    "bce": (nn.Sigmoid(), nn.BCELoss(), PARTS),
    "bce with logits": (None, nn.BCEWithLogitsLoss(pos_weight=WEIGHTS), PARTS),
    "poisson": (None, nn.PoissonNLLLoss(), COUNTS),
    "poisson of rates": (nn.Softplus(), nn.PoissonNLLLoss(log_input=False, full=True), COUNTS),
    "gaussian": (None, lambda z, y: F.gaussian_nll_loss(z, y, 0.1 + z.tanh() ** 2), VALUES),
    "kl": (nn.LogSoftmax(1), nn.KLDivLoss(reduction="batchmean"), SHARES),
    "margins": (None, nn.MultiMarginLoss(), CLASSES),
    "many labels": (None, nn.MultiLabelSoftMarginLoss(), (PARTS > 0.5).astype(float)),
    "soft margin": (None, nn.SoftMarginLoss(), np.sign(VALUES)),
    "hinge": (None, nn.HingeEmbeddingLoss(), np.sign(VALUES)),
    "triplets": (None, lambda z, y: F.triplet_margin_loss(z, y, -y), VALUES),
    "cosine": (None, lambda z, y: 1 - F.cosine_similarity(z, y).mean(), VALUES),
    "weights of float32": (None, lambda z, y: F.cross_entropy(z, y, weight=WEIGHTS), SHARES),
    "in float32": (None, lambda z, y: F.cross_entropy(z.float(), y), CLASSES),
    "in bfloat16": (None, in_half, CLASSES),
    "in parts": (None, in_parts, CLASSES),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_a_mean_is_taken_whatever_its_rounding(dtype, scale):
    for last, loss, targets in MEANS.values():
        from_module(network(10, last, scale, dtype), loss, example=(X, targets))


class Wide(nn.Module):
    """Computes with other digits than its parameters have, as many do, and returns a dict."""

    def __init__(self, dtype):
        super().__init__()
        self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 10)
        self.dtype = dtype

    def forward(self, x):
        z = self.first(x).to(self.dtype)
        z = (z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-3)).type_as(x)
        return {"logits": self.last(z), "examples": len(x)}


class Normal(nn.Module):
    """Takes the mean over the batch in training, as a BatchNorm of one's own does."""

    def __init__(self):
        super().__init__()
        self.inside, self.last = nn.Sequential(nn.BatchNorm1d(6), nn.Dropout()), network()
        self.register_buffer("running_mean", torch.zeros(6))

    def forward(self, x):
        return self.last(self.inside(x - (x.mean(0) if self.training else self.running_mean)))


def test_statistics_of_a_batch_and_dropout_mix_no_examples():
    from_module(Normal(), F.cross_entropy, example=(X, CLASSES))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_module_with_parts_of_other_digits_is_taken(dtype):
    def loss(z, y):
        return F.cross_entropy(z["logits"], y, reduction="sum") / z["examples"]

    from_module(Wide(dtype), loss, example=(X, CLASSES))


def test_what_is_taken_is_trained_alike_by_any_number_of_workers():
    """And what is refused would not be: on three workers it is another model."""
    model = from_module(network(14, dtype=torch.float64), with_penalty(0.0), example=(X, CLASSES))
    plan = Plan(0.5, 24, epochs=3)
    serial = train(model, X, CLASSES, plan).w
    found = run(data_parallel, model, X, CLASSES, plan, workers=3, backend="simulated").values[0].w
    np.testing.assert_allclose(found, serial, rtol=0, atol=1e-13)  # of sums in another order
    whole, *parts = (
        with_penalty(0.04)(torch.as_tensor(model.outputs(serial, X[rows])), classes_of(rows))
        for rows in (slice(0, 24), slice(0, 8), slice(8, 16), slice(16, 24))
    )
    assert abs(float(sum(parts) / 3 - whole)) > 1e-5


def classes_of(rows):
    return torch.as_tensor(CLASSES[rows])
