"""An optimizer of torch goes on to the bit by whatever it keeps, or is refused in words at once."""

from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np
import pytest
import torch

from course_lib import run
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import data_parallel
from course_lib.training import Cosine, Plan, from_torch
from tests.train.tasks import PLAN, bits_in, trained

PLAN = replace(PLAN, momentum=0.0, epochs=4)


class Plain(torch.optim.Optimizer):
    """SGD, as people write one; others say by which factor the gradient counts, or what counts."""

    def __init__(self, params, lr=0.1, **more):
        super().__init__(params, {"lr": lr, **more})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.direction(group, p, self.state[p]), alpha=group["lr"])


class InGroup(Plain):
    def __init__(self, params, lr=0.1):
        super().__init__(params, lr, k=0)

    def direction(self, group, p, state):
        group["k"] += 1
        return p.grad / group["k"] ** 0.5


class InItself(Plain):
    def direction(self, group, p, state):
        self._n = getattr(self, "_n", 0) + 1
        return p.grad / self._n**0.5


class AsTensors(Plain):
    """A number that is changed in place, and a vector beside the state."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, lr)
        self.k = torch.zeros((), dtype=torch.float64)
        self.mean = torch.zeros_like(self.param_groups[0]["params"][0])

    def direction(self, group, p, state):
        self.k += 1
        self.mean.mul_(0.9).add_(p.grad)
        return self.mean / self.k.sqrt().item()


class OfManyKinds(Plain):
    """Counts, truths and short floats for each number; numbers of all kinds."""

    def direction(self, group, p, state):
        if not state:
            state["n"] = torch.zeros(p.shape, dtype=torch.int64)
            state["is_up"] = torch.zeros(p.shape, dtype=torch.bool)
            state["mean"] = torch.zeros(p.shape, dtype=torch.bfloat16)
            state["step"] = torch.zeros((), dtype=torch.float64)
            state.update(k=0, product=1.0, is_first=True)
        state["n"] += p.grad > 0
        state["mean"].mul_(0.5).add_(p.grad.bfloat16())
        state["step"] += 1
        state["k"] += 1
        state["product"] *= 0.99
        slow = 1.0 if state["is_first"] is True else 0.5
        factor = slow * state["product"] / (state["step"].add_(0).item() + (1 << state["k"] % 3))
        found = factor * (state["mean"].to(p.dtype) + p.grad) * (1 + state["is_up"].logical_not())
        state["is_up"].logical_xor_(p.grad > 0)
        state["is_first"] = False
        return found / (1 + state["n"])


class InStateOfAll(Plain):
    def direction(self, group, p, state):
        self.state["k"] = self.state.get("k", 0) + 1
        return p.grad / self.state["k"] ** 0.5


class OfAdam(torch.optim.Adam):
    def step(self, closure=None):
        self.n_calls = getattr(self, "n_calls", 0) + 1
        self.param_groups[0]["eps"] = 1e-8 * self.n_calls
        super().step()


GOES_ON = [InGroup, InItself, InStateOfAll, AsTensors, OfManyKinds, OfAdam]


@pytest.mark.parametrize("kind", GOES_ON)
@pytest.mark.parametrize("scheme", ["data_parallel", "sharded_data_parallel"])
def test_what_an_optimizer_keeps_beside_its_state_goes_on_to_the_bit(scheme, kind, tmp_path):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    train = partial(trained, scheme, model="logistic", optimizer=from_torch(kind))
    train(whole, plan=PLAN)
    train(halves, plan=replace(PLAN, epochs=2))
    train(halves, plan=PLAN, resume=True)
    assert bits_in(halves) == bits_in(whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", GOES_ON)
def test_parts_of_a_state_are_again_of_the_kind_that_they_were(kind, dtype):
    make, plan = from_torch(kind), Plan(0.01, schedule=Cosine(9))
    first = make(np.ones(5, dtype), plan)
    for _ in range(4):
        first.step(np.linspace(-1, 2, 5).astype(dtype))
    second = make(first.w.copy(), plan)
    assert second.state == {}
    second.load({name: array.copy() for name, array in first.state.items()})
    then, now = first.kept, second.kept
    assert then.keys() == now.keys() != set()
    for name in then:
        assert type(then[name]) is type(now[name])
        assert getattr(then[name], "dtype", 0) == getattr(now[name], "dtype", 0)
        assert getattr(then[name], "shape", 0) == getattr(now[name], "shape", 0)


def test_what_does_not_change_is_not_kept_and_states_have_torchs_names():
    plan = Plan(0.01)
    for kind, names in ((torch.optim.SGD, set()), (torch.optim.Adam, {"exp_avg", "exp_avg_sq"})):
        stepper = from_torch(kind)(np.ones(3), plan)
        stepper.step(np.ones(3))
        assert set(stepper.state) - {"step"} == names


CALLS = count(1)


class InItsModule(Plain):
    def direction(self, group, p, state):
        return p.grad / next(CALLS) ** 0.5


class InAList(Plain):
    def __init__(self, params, lr=0.1):
        super().__init__(params, lr)
        self.norms = []

    def direction(self, group, p, state):
        self.norms.append(1.0)
        return p.grad / len(self.norms)


class WithBetas(Plain):
    def direction(self, group, p, state):
        self.CALLS = getattr(self, "CALLS", 0) + 1
        group["betas"] = (self.CALLS, 1)
        return p.grad / self.CALLS


class WithNoise(Plain):
    def direction(self, group, p, state):
        return p.grad + torch.randn_like(p)


class InBlocks(Plain):
    def direction(self, group, p, state):
        state["square"] = torch.zeros(-(-len(p) // 10))
        return p.grad


class InAListOfState(Plain):
    def direction(self, group, p, state):
        state.setdefault("seen", []).append(1)
        return p.grad


class Longer(Plain):
    def direction(self, group, p, state):
        state["mean"] = torch.zeros(p.shape, dtype=torch.float64)
        return p.grad


class Many(Plain):
    def direction(self, group, p, state):
        state.update({f"mean_{k}": p.grad.clone() for k in range(7)})
        return p.grad


class InCapitals(Plain):
    def direction(self, group, p, state):
        state["expAvg"] = p.grad.clone()
        return p.grad


class LARS(Plain):
    def direction(self, group, p, state):
        return p.grad * (p.norm() / p.grad.norm())


class FirstOnly(Plain):
    def direction(self, group, p, state):
        return p.grad * (torch.arange(len(p)) > 2)


class AsksForMore(Plain):
    def __init__(self, params, lr, rho):
        super().__init__(params, lr)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        (InItsModule, {}, "cannot be InItsModule: one that goes on from .* a variable of its mod"),
        (InAList, {}, "what a checkpoint keeps takes other steps .* such as 'norms' in itself"),
        (WithBetas, {}, "such as 'betas' in its param_groups, 'CALLS' in itself"),
        (WithNoise, {}, "random numbers"),
        (InBlocks, {}, r"its state has 'square', of shape \(3,\) for 24 parameters: it must be a"),
        (InAListOfState, {}, "its state has 'seen', of type list: it must be a number, or"),
        (Longer, {}, "'mean', of torch.float64, which is no part of torch.float32"),
        (Many, {}, "cannot be Many: it keeps 7 arrays, 6 can be kept"),
        (InCapitals, {}, "'expAvg', and names must be as 'exp_avg'"),
        (LARS, {}, "cannot be LARS: it does not treat every number alike"),
        (FirstOnly, {}, "cannot be FirstOnly: it does not treat every number alike"),
        (AsksForMore, {}, "where it is made it ends in TypeError: .* 'rho'"),
        (torch.optim.Adam, {"capturable": True}, "capturable is for graphs of CUDA"),
        (torch.optim.Adam, {"differentiable": True}, "where it takes a step it ends in RuntimeErr"),
        (torch.optim.AdamW, {"betas": (2.0, 0.9)}, "where it is made .* Invalid beta parameter"),
    ],
)
def test_what_cannot_be_split_or_go_on_is_refused_before_anything_is_started(kind, options, told):
    with pytest.raises(ValueError, match=told):
        from_torch(kind, **options)


def test_a_trial_draws_no_random_numbers_of_others():
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="WithNoise"):
        from_torch(WithNoise)
    assert torch.equal(before, torch.get_rng_state())


OF_TORCH = [
    "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adagrad", "Adadelta",
    "ASGD",
]  # fmt: skip


def train_and_look(comm, X, y, plan):
    import sys

    for name in OF_TORCH:
        make = from_torch(getattr(torch.optim, name))
        training = data_parallel(comm, LogisticRegression(2), X, y, plan, optimizer=make)
        assert np.isfinite(training.w).all()
    return "torch._dynamo" in sys.modules


def test_no_worker_loads_torchs_compiler_to_step():
    X = np.random.default_rng(0).normal(size=(8, 2))
    training = X, (X[:, 0] > 0).astype(int), Plan(0.1, 8, 2)
    # More than a second in each.
    assert run(train_and_look, *training, workers=2, backend="processes").values == [False, False]


def test_a_step_without_the_compiler_is_the_step_with_hooks_and_modes(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch._dynamo", sys.modules.get("torch._dynamo"))
    monkeypatch.delitem(sys.modules, "torch._dynamo")
    from course_lib.models.without_compiler import step_without_compiler, without_compiler

    w = torch.nn.Parameter(torch.zeros(2))
    with without_compiler(torch.optim.Optimizer.add_param_group):
        optimizer = torch.optim.Adam([w], lr=0.5)
    assert not hasattr(torch.optim.Optimizer.add_param_group.__wrapped__, "__dynamo_disable")
    step, seen = step_without_compiler(optimizer), []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    w.grad = torch.ones(2)
    step()
    assert seen == ["before", "after"]
    torch.testing.assert_close(w.detach(), torch.full((2,), -0.5))
    assert torch.is_grad_enabled()
    assert "torch._dynamo" not in sys.modules
    own = Plain.__new__(Plain)  # one whose step is not torch's stays as it is
    assert step_without_compiler(own).__func__ is Plain.step
