"""Modules as people write them: four processes, one process and torch's DDP train the same."""

import inspect
import sys
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_lib import run
from course_lib.models import from_module
from course_lib.schemes import data_parallel, train
from course_lib.training import AdamW, Cosine, Plan

RNG = np.random.default_rng(0)
TEXT = RNG.integers(0, 20, (64, 7))
NEXT = np.roll(TEXT, -1, axis=1)
IMAGES, DIGITS = RNG.normal(size=(64, 1, 8, 8)), RNG.integers(0, 10, 64)
N_MOST_LINES = 15

PLAN = Plan(
    0.01, 32, 4, weight_decay=0.1, warmup_steps=2, schedule=Cosine(6), clip=0.05, accumulate=2
)
"""Eight steps of 32 examples: each of four workers has eight, in two parts of four."""


# What a user writes: at most fifteen lines each.


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.block(self.embedding(x))).transpose(1, 2)


def smoothed(outputs, targets):
    return cross_entropy(outputs, targets, label_smoothing=0.1)


class Net(nn.Sequential):
    def __init__(self, dropout=0.3):
        super().__init__(
            nn.Conv2d(1, 4, 3, padding=1, bias=False),  # BatchNorm takes a bias away again
            nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(dropout),
            nn.Linear(64, 10),
        )  # fmt: skip


def ddp(comm, module, loss, X, y, plan):
    """The training loop of torch's manual, on the same examples; return the parameters."""
    model = nn.parallel.DistributedDataParallel(module)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: plan.rate(step) / plan.learning_rate
    )
    for examples, _ in plan.shares(len(y), comm.rank, comm.size):
        parts = np.split(examples, plan.accumulate)
        for part in parts:
            with nullcontext() if part is parts[-1] else model.no_sync():
                outputs = model(torch.as_tensor(X[part]))
                (loss(outputs, torch.as_tensor(y[part])) / len(parts)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        optimizer.step()
        rate.step()
        optimizer.zero_grad()
    return nn.utils.parameters_to_vector(module.parameters()).detach().numpy()


def seeded(make, *arguments):
    torch.manual_seed(0)
    return make(*arguments).double()


def train_and_look(comm, *training):
    return data_parallel(comm, *training), "torch._dynamo" in sys.modules


def on_four(module, loss, X, y, plan, backend="processes"):
    training = from_module(module, loss), X, y, plan, data_parallel.__defaults__[0], AdamW
    found = run(train_and_look, *training, workers=4, backend=backend).values
    values, compilers = zip(*found, strict=True)
    # Nothing is compiled, and to load what would do it takes each worker more than a second.
    assert backend == "simulated" or not any(compilers)
    return values


def ddps(comm, *trainings):
    return [ddp(comm, *training) for training in trainings]


@pytest.fixture(scope="module")
def by_ddp():
    """What torch makes of both modules on two processes; they take long to load what it needs.

    Each has the examples of two workers, in four parts of four: BatchNorm sees the same together.
    """
    plan = replace(PLAN, accumulate=4)
    block = seeded(Block), smoothed, TEXT, NEXT, plan
    net = seeded(Net, 0.0), cross_entropy, IMAGES, DIGITS, plan
    found = run(ddps, block, net, workers=2, backend="torch").values
    for own in found:
        assert [w.tobytes() for w in own] == [w.tobytes() for w in found[0]]
    return dict(zip(("block", "net"), found[0], strict=True))


@pytest.mark.slow
def test_a_block_with_a_tied_embedding_and_a_smoothed_loss(by_ddp):
    module = seeded(Block)
    four = on_four(module, smoothed, TEXT, NEXT, PLAN)
    one = train(from_module(module, smoothed), TEXT, NEXT, PLAN, AdamW)
    assert len({value.w.tobytes() for value in four}) == 1
    np.testing.assert_allclose(four[0].w, one.w, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        four[0].w, by_ddp["block"], rtol=0, atol=1e-5
    )  # its norm has 1e-6 more
    np.testing.assert_allclose(np.sum([v.losses for v in four], axis=0), one.losses, rtol=1e-9)
    # The likely mistakes: something of the plan forgotten.
    for changes in ({"schedule": None}, {"weight_decay": 0.0}, {"clip": None}, {"batch_size": 16}):
        other = train(from_module(module, smoothed), TEXT, NEXT, replace(PLAN, **changes), AdamW)
        assert np.abs(other.w - one.w).max() > 1e-4


@pytest.mark.slow
def test_a_network_with_batch_norm_takes_the_statistics_of_what_is_computed_together(by_ddp):
    """One process is equal where it computes with the same examples together: in eight parts.

    With the whole batch at once BatchNorm takes other means, so the gradient is another one.
    """
    module = seeded(Net, 0.0)
    four = on_four(module, cross_entropy, IMAGES, DIGITS, PLAN)
    model = from_module(module)
    in_parts = train(model, IMAGES, DIGITS, replace(PLAN, accumulate=8), AdamW)
    np.testing.assert_allclose(four[0].w, in_parts.w, rtol=0, atol=1e-9)
    np.testing.assert_allclose(four[0].w, by_ddp["net"], rtol=0, atol=1e-5)
    at_once = train(model, IMAGES, DIGITS, replace(PLAN, accumulate=1), AdamW)
    assert np.abs(four[0].w - at_once.w).max() > 1e-3
    # Who asks for the statistics afterwards gets the same ones, from any rank's parameters.
    settled = [model.settled(value.w, IMAGES) for value in (four[0], four[3])]
    first, last = (s.as_module(four[0].w).state_dict()["1.running_mean"] for s in settled)
    assert torch.equal(first, last)


@pytest.mark.slow
def test_dropout_draws_the_same_for_the_same_parameters_and_examples_and_no_longer():
    """The first step is that of one process; later ones have parameters that are rounded otherwise.

    What is drawn then is as good, and another thing: so only the same run is the same to the bit.
    """
    module = seeded(Net, 0.3)
    four = on_four(module, cross_entropy, IMAGES, DIGITS, PLAN)
    one = train(from_module(module), IMAGES, DIGITS, replace(PLAN, accumulate=8), AdamW)
    totals = np.sum([value.losses for value in four], axis=0)
    assert totals[0] == pytest.approx(one.losses[0], rel=1e-13)
    again = on_four(module, cross_entropy, IMAGES, DIGITS, PLAN, "simulated")
    assert [value.losses for value in again] == [value.losses for value in four]
    assert again[0].w.tobytes() == four[0].w.tobytes()
    without = on_four(seeded(Net, 0.0), cross_entropy, IMAGES, DIGITS, PLAN, "simulated")
    assert abs(sum(value.losses[0] for value in without) - totals[0]) > 1e-3


@pytest.mark.parametrize("of_a_user", [(Block, smoothed), (Net,)])
def test_it_takes_at_most_fifteen_lines(of_a_user):
    lines = "".join(map(inspect.getsource, of_a_user)).splitlines()
    assert len([line for line in lines if line.strip()]) + 2 <= N_MOST_LINES  # from_module, and run
