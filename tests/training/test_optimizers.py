"""Optimizers take the steps that torch's take, go on from a state to the bit, or are refused."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.training import SGD, Adagrad, Adam, AdamW, Cosine, Plan, StepDecay, from_torch
from course_lib.training.clipping import clip, norm_of_all

OURS = {
    "SGD": (SGD, Plan(0.1, momentum=0.9, weight_decay=0.05), torch.optim.SGD),
    "SGD without momentum": (SGD, Plan(0.1, weight_decay=0.05), torch.optim.SGD),
    "Adam": (Adam, Plan(0.01, weight_decay=0.05), torch.optim.Adam),
    "AdamW": (AdamW, Plan(0.01, weight_decay=0.05), torch.optim.AdamW),
    "Adagrad": (Adagrad, Plan(0.1, weight_decay=0.05), torch.optim.Adagrad),
    "AdamW with betas": (
        partial(AdamW, betas=(0.7, 0.9), eps=1e-3), Plan(0.01),
        partial(torch.optim.AdamW, betas=(0.7, 0.9), eps=1e-3),
    ),
}  # fmt: skip
OF_TORCH = [
    from_torch(torch.optim.SGD, nesterov=True),
    from_torch(torch.optim.RMSprop, alpha=0.9, centered=True),
    from_torch(torch.optim.AdamW, amsgrad=True),
    from_torch(torch.optim.Adam),
    from_torch(torch.optim.Adagrad),
    from_torch(torch.optim.Adadelta),
    from_torch(torch.optim.Adamax),
    from_torch(torch.optim.NAdam),
    from_torch(torch.optim.RAdam),
    from_torch(torch.optim.ASGD),
    from_torch(torch.optim.Rprop),
]


def slopes(n_steps=12, n=7, seed=0):
    return np.random.default_rng(seed).normal(size=(n_steps, n))


def stepped(optimizer, plan, grads, kind=np.asarray):
    w = kind(np.linspace(-1.0, 2.0, grads.shape[1]))
    stepper = optimizer(w, plan)
    for grad in grads:
        stepper.step(kind(grad.copy()))
    assert stepper.w is w
    return np.asarray(w)


def by_torch(make, plan, grads):
    w = torch.nn.Parameter(torch.linspace(-1.0, 2.0, grads.shape[1], dtype=torch.float64))
    options = {"weight_decay": plan.weight_decay, "lr": plan.learning_rate}
    if plan.momentum:
        options["momentum"] = plan.momentum
    optimizer = make([w], **options)
    for grad in grads:
        w.grad = torch.as_tensor(grad)
        optimizer.step()
    return w.detach().numpy()


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("name", OURS)
def test_ours_take_the_steps_of_torchs(name, kind):
    optimizer, plan, of_torch = OURS[name]
    found = stepped(optimizer, plan, slopes(), kind)
    # Products in another order, twelve times.
    np.testing.assert_allclose(found, by_torch(of_torch, plan, slopes()), rtol=0, atol=1e-14)
    # The likely mistakes: no decay, and the decay of the other kind.
    other = {"Adam": AdamW, "AdamW": Adam}.get(name)
    if other:
        assert np.abs(stepped(other, plan, slopes()) - found).max() > 1e-3


def test_a_momentum_below_0_takes_back_a_part_of_the_step_before():
    w = np.zeros(1)
    sgd = SGD(w, Plan(0.1, momentum=-0.5))
    for _ in range(3):
        sgd.step(np.ones(1))
    # Directions 1, 1 - 0.5, 1 - 0.25.
    np.testing.assert_allclose(w, [-0.1 * (1 + 0.5 + 0.75)], rtol=0, atol=1e-15)


def test_the_two_means_are_divided_by_what_their_weights_add_up_to():
    plan = Plan(0.01)
    w = np.zeros(3)
    Adam(w, plan).step(np.array([5.0, -1e-3, 7e5]))
    np.testing.assert_allclose(w, [-0.01, 0.01, -0.01], rtol=1e-4)


@pytest.mark.parametrize("name", OURS)
def test_the_same_optimizer_of_torch_behind_our_face_takes_the_same_steps(name):
    optimizer, plan, of_torch = OURS[name]
    kind, options = getattr(of_torch, "func", of_torch), getattr(of_torch, "keywords", {})
    found = stepped(from_torch(kind, **options), plan, slopes())
    np.testing.assert_allclose(found, stepped(optimizer, plan, slopes()), rtol=0, atol=1e-14)


def plan_for(optimizer):
    momentum = 0.9 if getattr(optimizer, "kind", None) is torch.optim.SGD else 0.0
    return Plan(0.01, momentum=momentum, warmup_steps=3, schedule=Cosine(20))


def name_of(optimizer):
    return getattr(optimizer, "kind", optimizer).__name__


@pytest.mark.parametrize("optimizer", [SGD, Adagrad, Adam, AdamW, *OF_TORCH], ids=name_of)
def test_one_that_goes_on_from_a_state_takes_the_same_steps_to_the_bit(optimizer):
    grads, plan = slopes(), plan_for(optimizer)
    whole = stepped(optimizer, plan, grads)
    w = np.linspace(-1.0, 2.0, 7)
    first = optimizer(w, plan)
    for grad in grads[:5]:
        first.step(grad.copy())
    kept = {name: array.copy() for name, array in first.state.items()}
    assert all(array.shape in ((7,), ()) for array in kept.values())
    second = optimizer(w.copy(), plan)
    second.load(kept)
    second.n_steps = first.n_steps
    for grad in grads[5:]:
        second.step(grad.copy())
    assert second.w.tobytes() == whole.tobytes()
    if kept:  # the likely mistakes: nothing is kept, or it is kept and shared
        fresh = optimizer(w.copy(), plan)
        fresh.n_steps = first.n_steps
        for grad in grads[5:]:
            fresh.step(grad.copy())
        assert np.abs(fresh.w - whole).max() > 1e-6
        before = {name: array.copy() for name, array in kept.items()}
        assert all((kept[name] == before[name]).all() for name in kept)


def test_the_rate_of_torchs_is_the_plans():
    plan = Plan(0.1, warmup_steps=4, schedule=StepDecay(1, 0.5))
    w = np.zeros(1)
    stepper = from_torch(torch.optim.SGD)(w, plan)
    places = []
    for _ in range(7):
        stepper.step(np.ones(1))
        places.append(float(w[0]))
    np.testing.assert_allclose(
        -np.diff([0.0, *places]), [0.025, 0.05, 0.075, 0.1, 0.1, 0.05, 0.025], rtol=1e-12
    )


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: from_torch(torch.optim.LBFGS), "kind cannot be LBFGS: it computes gradients"),
        (lambda: from_torch(torch.optim.Adafactor), "kind cannot be Adafactor: it keeps rows"),
        (
            lambda: from_torch(torch.optim.AdamW, lr=1e-3),
            r"lr is the plan's: Plan\(learning_rate=0",
        ),
        (lambda: from_torch(torch.optim.AdamW, weight_decay=1), "weight_decay is the plan's"),
        (lambda: from_torch(torch.optim.AdamW, beta=1), "AdamW has no option 'beta'"),
        (lambda: from_torch("AdamW"), "kind must be a class"),
        (lambda: from_torch(torch.optim.AdamW)(np.ones(1), Plan(momentum=0.9)), "must be 0 for Ad"),
        (
            lambda: from_torch(torch.optim.SGD)(np.ones(1), Plan(momentum=-0.5)),
            "momentum must be 0 or more for torch's SGD, got -0.5",
        ),
        (lambda: Plan(momentum=-1.0), "momentum must be above -1 and below 1, got -1.0"),
        (
            lambda: Adam(np.ones(1), Plan(momentum=0.9)),
            "momentum must be 0 for Adam, which has bet",
        ),
        (
            lambda: Adagrad(np.ones(1), Plan(momentum=0.9)),
            "momentum must be 0 for Adagrad",
        ),
        (lambda: Adagrad(np.ones(1), Plan()).load({"mean": np.ones(1)}), "state must be one of Ad"),
        (lambda: Adam(np.ones(1), Plan(), betas=(0.9, 1.0)), "betas must be 0 or more and below 1"),
        (lambda: SGD(np.ones(1), Plan()).load({"mean": np.ones(1)}), "state must be one of SGD"),
        (lambda: Plan(weight_decay=-1.0), "weight_decay must be 0 or more and finite"),
        (lambda: Plan(clip=0.0), "clip must be None or above 0"),
        (lambda: Plan(clip=float("nan")), "clip must be None or above 0"),
        (lambda: Plan(clip="1"), "clip must be a number"),
        (lambda: Plan(accumulate=0), "accumulate must be 1 or more"),
        (lambda: Plan(accumulate=1.5), "accumulate must be an int"),
        (lambda: Plan(schedule="cosine"), "schedule must be None or something to call"),
        (lambda: Plan(on_epoch=3), "on_epoch must be None or something to call"),
        (lambda: Cosine(0), "steps must be 1 or more"),
        (lambda: Cosine(1.5), "steps must be an int"),
        (lambda: StepDecay(3, 1.5), "factor must be from 0 to 1"),
    ],
)
def test_what_cannot_be_is_named(make, told):
    with pytest.raises((TypeError, ValueError), match=told):
        make()


def test_numpys_numbers_are_numbers():
    given = Plan(np.float32(0.5), np.int64(8), np.int32(2), np.float64(0.25), clip=np.int64(1))
    assert given == Plan(0.5, 8, 2, 0.25, clip=1)
    assert {type(one) for one in vars(given).values()} == {int, float, type(None)}
    assert [Cosine(np.int64(4))(2), StepDecay(np.int64(2))(2)] == pytest.approx([0.5, 0.1])


# The rate


def rates(scheduler, n_steps):
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([w], lr=0.3)
    schedule = scheduler(optimizer)
    found = []
    for _ in range(n_steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


@given(steps=st.integers(1, 30), warmup=st.integers(0, 5), floor=st.sampled_from([0.0, 0.1]))
@settings(max_examples=30, deadline=None)
def test_schedules_are_those_of_torch_after_the_warm_up(steps, warmup, floor):
    of_torch = torch.optim.lr_scheduler
    for ours, theirs in (
        (
            Cosine(steps, floor),
            partial(of_torch.CosineAnnealingLR, T_max=steps, eta_min=0.3 * floor),
        ),
        (StepDecay(steps, 0.2), partial(of_torch.StepLR, step_size=steps, gamma=0.2)),
    ):
        plan = Plan(0.3, warmup_steps=warmup, schedule=ours)
        found = [plan.rate(warmup + step) for step in range(steps + 1)]
        np.testing.assert_allclose(found, rates(theirs, steps + 1), rtol=1e-9, atol=1e-15)
        assert [plan.rate(k) for k in range(warmup)] == [
            0.3 * (k + 1) / warmup for k in range(warmup)
        ]


# Clipping


@given(
    values=st.lists(st.floats(-10, 10), min_size=1, max_size=9),
    longest=st.floats(0.01, 20),
    cut=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_a_gradient_is_clipped_as_torch_does_it_whole_or_in_parts(values, longest, cut):
    grad = np.array(values)
    w = torch.zeros(len(values), dtype=torch.float64, requires_grad=True)
    w.grad = torch.as_tensor(grad.copy())
    torch.nn.utils.clip_grad_norm_([w], longest)
    whole = grad.copy()
    clip(whole, longest)
    # torch adds 1e-6 to the norm.
    np.testing.assert_allclose(whole, w.grad, rtol=2e-6 / longest + 1e-12, atol=1e-15)
    first, second = grad[:cut].copy(), grad[cut:].copy()
    plan = Plan(clip=longest)
    norms = [norm_of_all(plan, part, lambda _: np.array([grad @ grad])) for part in (first, second)]
    clip(first, longest, norms[0])
    clip(second, longest, norms[1])
    np.testing.assert_allclose(np.concatenate([first, second]), whole, rtol=1e-12, atol=1e-300)


def test_parts_that_are_clipped_by_their_own_norm_are_something_else():
    grad = np.array([3.0, 4.0])
    parts = grad.copy()
    for part in (parts[:1], parts[1:]):
        clip(part, 1.0)
    clip(grad, 1.0)
    assert np.abs(parts - grad).max() > 0.1


def test_a_short_gradient_and_no_limit_change_nothing():
    for longest in (None, 5.0):
        grad = np.array([3.0, -4.0])
        clip(grad, longest)
        assert grad.tolist() == [3.0, -4.0]
    many = np.full(4, 1e30, np.float32)  # whose squares are no float32
    clip(many, 1.0)
    np.testing.assert_allclose(many, 0.5, rtol=1e-6)
