"""Any torch module as a model: what could go wrong without a word is done right, or refused."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib import run
from course_lib.models import Model, TorchModel, from_module
from course_lib.models.module_model import ModuleModel
from course_lib.schemes import (
    data_parallel,
    layerwise,
    layerwise_bucketed,
    nn_data_parallel,
    parameter_server,
    parameter_server_on_worker,
    priority,
    sharded_data_parallel,
    sharded_parameter_server,
    train,
)
from course_lib.training import Plan
from course_lib.training.shards import shards_evenly

F = nn.functional
RNG = np.random.default_rng(0)
WORDS, NEXT = RNG.integers(0, 20, (24, 5)), RNG.integers(0, 20, (24, 5))
IMAGES, CLASSES = RNG.normal(size=(24, 1, 4, 4)), RNG.integers(0, 3, 24)
ROWS, VALUES = RNG.normal(size=(24, 3)), RNG.normal(size=(24, 2))


def seeded(make):
    torch.manual_seed(0)
    return make().double()


class Words(nn.Module):
    """A language model of one block, whose last layer is its first."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout, batch_first=True)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.block(self.embedding(x))).transpose(1, 2)


class Images(nn.Module):
    def __init__(self, dropout=0.4, bends=False):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.dropout = nn.Dropout(dropout)
        self.flat = nn.Flatten()
        self.fc = nn.Linear(64, 3)
        self.bends = bends

    def forward(self, x):
        x = self.relu(self.norm(self.conv(x)))
        if self.bends:
            x = torch.sigmoid(x)
        return self.fc(self.flat(self.dropout(x)))


def chain():
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


MODELS = {
    "words": (lambda: seeded(Words), (WORDS, NEXT), None),
    "images": (lambda: seeded(Images), (IMAGES, CLASSES), None),
    "rows": (lambda: seeded(chain), (ROWS, VALUES), F.mse_loss),
    "one output": (lambda: seeded(lambda: nn.Linear(3, 2)), (ROWS, VALUES > 0), None),
}
MODELS["one output"] = (*MODELS["one output"][:1], (ROWS, VALUES), nn.SmoothL1Loss())


def by_torch(module, batch, loss=F.cross_entropy):
    """The loss and the gradients that torch finds for the module itself, in training."""
    module = copy.deepcopy(module).train()
    x, y = (torch.as_tensor(array) for array in batch)
    found = loss(module(x), y)
    found.backward()
    own = [p for p in module.parameters() if p.requires_grad]
    grads = [(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in own]
    return found.item(), torch.cat(grads).numpy()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("known", [False, True])
def test_loss_and_gradient_are_those_of_the_module_with_its_own_weights(name, known):
    make, batch, loss = MODELS[name]
    module = make()
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    model = from_module(module, loss, example=batch if known else None)
    assert isinstance(model, Model)
    w = model.initial(seed=7)
    expected = by_torch(module, batch, loss or F.cross_entropy)
    found = model.gradient(w, batch)
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=1e-14)
    assert np.abs(expected[1]).max() > 1e-3
    half = model.gradient(w, batch, 0.5)
    np.testing.assert_allclose(half[1], found[1] / 2, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", MODELS)
def test_the_module_that_was_given_is_not_touched(name):
    make, batch, loss = MODELS[name]
    module = make()
    before = pickle.dumps(module.state_dict())
    model = from_module(module, loss, example=batch)
    w = model.initial()
    model.gradient(w, batch)
    model.predict(w, batch[0])
    model.loss(w, batch)
    assert pickle.dumps(module.state_dict()) == before
    assert all(p.grad is None for p in module.parameters())


# Layers


@pytest.mark.parametrize("name", ["images", "rows"])
def test_a_chain_is_gone_through_layer_by_layer_to_the_bit(name):
    make, batch, loss = MODELS[name]
    model = from_module(make(), loss, example=batch)
    assert len(model.layers) == {"images": 3, "rows": 2}[name]
    w = model.initial()
    _, whole = model.gradient(w, batch)
    parts = [grad for _, grad in model.backward_layers(w, batch)]
    assert np.concatenate(parts[::-1]).tobytes() == whole.tobytes()


def test_what_is_no_chain_stays_in_one_piece():
    """A bend between two children; a layer used twice; without an example nobody knows."""
    batch = IMAGES, CLASSES
    assert len(from_module(seeded(Images), example=batch).layers) == 3
    assert len(from_module(seeded(Images)).layers) == 1
    bent = from_module(seeded(lambda: Images(0.0, bends=True)), example=batch)
    assert len(bent.layers) == 1
    shared = nn.Linear(3, 3)
    assert len(from_module(nn.Sequential(shared, nn.Tanh(), shared)).layers) == 1
    tied = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    assert len(from_module(tied).layers) == 1
    assert from_module(tied).n_parameters == 9 + 3 + 3
    # The likely mistake: children one after another, whatever is between them.
    module = seeded(lambda: Images(0.0, bends=True)).eval()
    x = torch.as_tensor(IMAGES)
    y = x
    for child in module.children():
        y = child(y)
    assert (module(x) - y).abs().max() > 1e-2


class Switching(nn.Module):
    """A chain only outside training."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(F.dropout(self.first(x), 0.5, self.training))


class InPlace(Switching):
    """The same tensor goes on, with other numbers in it."""

    def forward(self, x):
        return self.last(self.first(x).mul_(2.0))


@pytest.mark.parametrize("kind", [Switching, InPlace])
def test_what_happens_between_children_is_seen(kind):
    assert len(from_module(kind(), example=(ROWS, CLASSES % 2)).layers) == 1


# Tied and frozen parameters


@pytest.mark.parametrize("mode", [True, False])
def test_what_comes_back_is_in_the_mode_of_what_was_given(mode):
    module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3)).train(mode)
    model = from_module(module)
    x, y = torch.ones(6, 4), np.arange(6) % 3
    trained = model.as_module(train(model, x.numpy(), y, Plan(0.1, 3)).w)
    assert [part.training for part in trained.modules()] == [mode] * 4
    assert torch.equal(trained(x), trained(x)) is not mode


def test_tied_weights_are_one_parameter_and_stay_tied():
    module = nn.Sequential(nn.Embedding(40, 20), nn.Linear(20, 40, bias=False))
    module[1].weight = module[0].weight
    model = from_module(module, lambda z, y: F.cross_entropy(z.transpose(1, 2), y))
    assert model.n_parameters == 800  # not 1,600
    w = train(model, WORDS, NEXT, Plan(batch_size=8)).w
    trained = model.as_module(w)
    assert trained[1].weight is trained[0].weight
    assert not torch.equal(trained[0].weight, module[0].weight)
    assert trained[0].weight.detach().numpy().ravel().tobytes() == w.tobytes()


def test_frozen_weights_stay_and_are_no_parameters():
    module = seeded(chain)
    module[0].requires_grad_(False)
    model = from_module(module, F.mse_loss)
    assert model.n_parameters == 12
    trained = model.as_module(train(model, ROWS, VALUES, Plan(0.5, 8, weight_decay=0.1)).w)
    assert torch.equal(trained[0].weight, module[0].weight)
    assert not torch.equal(trained[2].weight, module[2].weight)
    np.testing.assert_allclose(
        model.gradient(model.initial(), (ROWS, VALUES))[1],
        by_torch(module, (ROWS, VALUES), F.mse_loss)[1], rtol=0, atol=1e-15,
    )  # fmt: skip


def test_own_weights_are_kept_unless_they_are_to_be_drawn():
    module = seeded(chain)
    own = nn.utils.parameters_to_vector(module.parameters()).detach().numpy()
    assert from_module(module).initial(seed=5).tobytes() == own.tobytes()
    drawn = from_module(module, keep_weights=False)
    assert drawn.initial(5).tobytes() == drawn.initial(5).tobytes()
    assert drawn.initial(5).tobytes() != drawn.initial(6).tobytes() != own.tobytes()
    torch.manual_seed(5)
    for layer in (module[0], module[2]):
        layer.reset_parameters()
    redrawn = nn.utils.parameters_to_vector(module.parameters()).detach().numpy()
    assert drawn.initial(5).tobytes() == redrawn.tobytes()


# Dropout


def test_dropout_is_active_in_training_only_and_does_not_touch_torchs_generator():
    model = from_module(seeded(lambda: Words(0.5)), example=(WORDS, NEXT))
    w = model.initial()
    before = torch.get_rng_state()
    assert (model.predict(w, WORDS) == model.predict(w, WORDS)).all()
    assert model.loss(w, (WORDS, NEXT)) == model.loss(w, (WORDS, NEXT))
    assert abs(model.gradient(w, (WORDS, NEXT))[0] - model.loss(w, (WORDS, NEXT))) > 1e-3
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("scheme", [data_parallel, layerwise, priority])
def test_the_same_seed_gives_the_same_losses_and_ranks_and_steps_draw_differently(scheme):
    model = from_module(seeded(lambda: Images(0.5)), example=(IMAGES, CLASSES))
    options = ([2, 1, 0],) if scheme is priority else ()
    plan = Plan(0.05, 8, epochs=2)

    def trained(seed):
        torch.manual_seed(seed)  # what the caller has drawn before changes nothing
        work = (scheme, model, IMAGES, CLASSES, plan, *options)
        return run(*work, workers=2, backend="simulated").values

    first, again = trained(1), trained(2)
    assert [value.losses for value in first] == [value.losses for value in again]
    assert first[0].w.tobytes() == again[1].w.tobytes()
    by_layers = run(
        data_parallel, model, IMAGES, CLASSES, plan, workers=2, backend="simulated"
    ).values
    assert by_layers[0].w.tobytes() == first[0].w.tobytes()  # in every scheme the same is drawn


def test_what_is_drawn_depends_on_the_parameters_and_on_the_examples():
    model = from_module(nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)), F.mse_loss)
    w = model.initial()
    x = np.ones((64, 3))

    def kept(w, x):
        """Which outputs Dropout lets through: where the slope in the biases is not 0."""
        passes = model.passes(w.astype(np.float32), (x, np.zeros((64, 2))))
        passes.forward(model.layers[0])
        return passes._model._call(0, model._leaves(w, 0), model._plain(x)).detach() != 0

    assert torch.equal(kept(w, x), kept(w, x))
    assert not torch.equal(kept(w, x), kept(w + 1, x))
    assert not torch.equal(kept(w, x), kept(w, x + 1))


# BatchNorm


def test_a_prediction_does_not_depend_on_the_other_examples_and_changes_no_statistics():
    model = from_module(seeded(Images), example=(IMAGES, CLASSES))
    w = train(model, IMAGES, CLASSES, Plan(0.1, 8)).w
    settled = model.settled(w, IMAGES)
    whole = settled.outputs(w, IMAGES)
    for k in (0, 5):
        one = settled.outputs(w, IMAGES[k : k + 1])
        np.testing.assert_allclose(one, whole[k : k + 1], rtol=0, atol=1e-13)
    settled.loss(w, (IMAGES[:3], CLASSES[:3]))
    assert torch.equal(settled.outputs(w, IMAGES), whole)
    # The likely mistake, statistics of the batch at hand:
    alone = settled.as_module(w).train()(torch.as_tensor(IMAGES[:2]))
    assert (alone - whole[:2]).abs().max() > 1e-2


def test_statistics_of_other_parameters_are_refused_and_those_of_the_module_are_not():
    module = seeded(Images)
    module(torch.as_tensor(IMAGES))  # its statistics are those of one batch
    model = from_module(module, example=(IMAGES, CLASSES))
    w = model.initial()
    expected = copy.deepcopy(module).eval()(torch.as_tensor(IMAGES))
    np.testing.assert_allclose(model.outputs(w, IMAGES), expected.detach(), rtol=0, atol=1e-13)
    for ask in (model.predict, model.outputs):
        with pytest.raises(ValueError, match="statistics of BatchNorm are not those of w: mod"):
            ask(w + 1e-9, IMAGES)
    with pytest.raises(ValueError, match="not those of w"):
        model.loss(w * 2, (IMAGES, CLASSES))


def test_settled_statistics_are_the_mean_and_variance_of_the_examples():
    model = from_module(seeded(Images), example=(IMAGES, CLASSES))
    w = model.initial()
    module = model.settled(w, IMAGES, batch_size=24).as_module(w)
    entered = module.conv(torch.as_tensor(IMAGES))
    mean, variance = entered.mean((0, 2, 3)), entered.var((0, 2, 3))
    assert torch.allclose(module.norm.running_mean, mean, rtol=0, atol=1e-14)
    assert torch.allclose(module.norm.running_var, variance, rtol=1e-12)
    in_parts = model.settled(w, IMAGES, batch_size=10).as_module(w)
    thirds = [x.mean((0, 2, 3)) for x in entered.split(8)]
    assert torch.allclose(in_parts.norm.running_mean, sum(thirds) / 3, rtol=0, atol=1e-14)
    assert module.norm.momentum == 0.1


# Numbers that go in and come out


@given(kind=st.sampled_from(["uint8", "int16", "int32", "int64"]), as_torch=st.booleans())
@settings(max_examples=8, deadline=None)
def test_whole_numbers_stay_whole_numbers(kind, as_torch):
    model = from_module(seeded(Words))
    x, y = WORDS.astype(kind), NEXT.astype(kind)
    if as_torch:
        x, y = torch.as_tensor(x), torch.as_tensor(y)
    assert model.gradient(model.initial(), (x, y))[0] == pytest.approx(
        by_torch(seeded(Words), (WORDS, NEXT))[0], rel=1e-13
    )


def test_other_numbers_are_of_the_modules_kind_and_targets_of_any_shape():
    single = from_module(nn.Linear(3, 2), nn.BCEWithLogitsLoss())
    loss, grad = single.gradient(single.initial(), (ROWS, (VALUES > 0).astype(float)))
    assert grad.dtype == single.initial().dtype == np.float32
    assert loss > 0
    assert single.predict(single.initial(), ROWS).shape == (24, 2)
    signs = from_module(nn.Linear(3, 2), F.mse_loss, answer=torch.sign)
    assert set(np.unique(signs.predict(signs.initial(), ROWS))) == {-1.0, 1.0}
    classes = from_module(nn.Linear(3, 2), nn.CrossEntropyLoss(label_smoothing=0.1))
    assert classes.predict(classes.initial(), ROWS).dtype.kind == "i"


def test_torch_vectors_are_taken_as_well_as_numpys():
    model = from_module(seeded(Images), example=(IMAGES, CLASSES))
    w = model.initial()
    plain, tensor = (model.gradient(kind, (IMAGES, CLASSES)) for kind in (w, torch.from_numpy(w)))
    assert plain[0] == tensor[0]
    assert isinstance(tensor[1], torch.Tensor)
    assert plain[1].tobytes() == tensor[1].numpy().tobytes()


def test_operations_are_counted_or_taken_as_told():
    batch = ROWS[:4], VALUES[:4]
    model = from_module(seeded(chain), F.mse_loss)
    assert [tuple(f) for f in model.layer_flops(batch)] == [(120, 120), (80, 160)]
    assert model.flops(batch) == 480
    assert model.flops((ROWS[:0], VALUES[:0])) == 0
    assert from_module(seeded(chain), F.mse_loss, flops=600).flops(batch) == pytest.approx(2400)
    attention = from_module(seeded(Words), example=(WORDS, NEXT)).flops((WORDS[:1], NEXT[:1]))
    weights = 5 * (8 * 24 + 8 * 8 + 2 * 8 * 16 + 8 * 20)
    assert attention == 3 * 2 * (weights + 2 * 2 * 5 * 5 * 4)  # and two heads of 5 x 5 x 4, twice


@pytest.mark.slow
def test_it_travels_to_processes_and_every_world_trains_the_same():
    model = from_module(seeded(Images), example=(IMAGES, CLASSES))
    plan = Plan(0.1, 8, epochs=2)
    found = [
        run(data_parallel, model, IMAGES, CLASSES, plan, workers=2, backend=backend).values
        for backend in ("simulated", "processes", "torch")
    ]
    assert found[0][0].losses == found[1][0].losses == found[2][0].losses
    assert found[0][0].w.tobytes() == found[1][1].w.tobytes() == found[2][0].w.tobytes()


class TwoAnswers(nn.Module):
    """A recurrent network with two outputs, and a parameter that nobody uses."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(1, 4, batch_first=True)
        self.first, self.second = nn.Linear(4, 1), nn.Linear(4, 1)
        self.idle = nn.Parameter(torch.ones(2))

    def forward(self, x):
        last = self.cell(x[..., None])[0][:, -1]
        return {"first": self.first(last), "second": self.second(last)}


def of_both(outputs, y):
    both = torch.cat([outputs["first"], outputs["second"]], dim=1)
    return ((both - y) ** 2).mean()


EVERY_SCHEME = {
    "data_parallel": data_parallel,
    "layerwise": layerwise,
    "layerwise_bucketed": layerwise_bucketed,
    "priority": partial(priority, order=[0]),
    "parameter_server": parameter_server,
    "parameter_server_on_worker": parameter_server_on_worker,
    "sharded_data_parallel": sharded_data_parallel,
    "sharded_parameter_server": partial(
        sharded_parameter_server, shards=shards_evenly(124, 2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY_SCHEME)
def test_every_scheme_trains_outputs_and_losses_of_any_kind(name):
    module = seeded(TwoAnswers)
    model = from_module(module, of_both, answer=lambda outputs: outputs["first"])
    assert model.n_parameters == 124
    plan = Plan(0.2, 8, epochs=2)
    serial = train(model, ROWS, VALUES, plan)
    found = run(EVERY_SCHEME[name], model, ROWS, VALUES, plan, workers=4, backend="simulated")
    for value in found.values:
        np.testing.assert_allclose(value.w, serial.w, rtol=0, atol=1e-14)
    assert model.predict(serial.w, ROWS).shape == (24, 1)
    trained = model.as_module(serial.w)
    assert torch.equal(trained.idle, module.idle)
    # The likely mistake: a recurrent cell that computes with its own weights, not with those given.
    assert (trained.cell.weight_hh_l0 - module.cell.weight_hh_l0).abs().max() > 1e-5
    expected = by_torch(module, (ROWS, VALUES), of_both)
    np.testing.assert_allclose(
        model.gradient(model.initial(), (ROWS, VALUES))[1], expected[1], rtol=0, atol=1e-14
    )


def test_a_chain_with_a_loss_of_its_own_is_lent_to_replicas():
    model = from_module(seeded(chain), F.mse_loss)
    plan = Plan(0.1, 8, epochs=2)
    serial = train(model, ROWS, VALUES, plan)
    values = run(nn_data_parallel, model, ROWS, VALUES, plan, workers=3, backend="simulated").values
    np.testing.assert_allclose(values[1].w, serial.w, rtol=0, atol=1e-14)


# What is refused


class Counting(nn.Linear):
    def __init__(self):
        super().__init__(3, 2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.calls = self.calls + 1
        return super().forward(x)


def sharing():
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = nn.Parameter(first.weight.data)
    return nn.Sequential(first, second)


class Squeezing(nn.Linear):
    """It loses the dimension of the examples where there is one."""

    def forward(self, x):
        return super().forward(x.squeeze())[:, :1]


class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.scale


@pytest.mark.parametrize(
    ("module", "options", "told"),
    [
        (chain, {}, "module must be a torch.nn.Module, got function"),
        (nn.Linear, {}, "module must be a torch.nn.Module, got the class Linear"),
        (nn.DataParallel(nn.Linear(3, 2)), {}, "holds a DataParallel: give the module in it"),
        (nn.Sequential(nn.Linear(3, 2), nn.SyncBatchNorm(2)), {}, "'1' sends messages of its own"),
        (
            nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, track_running_stats=False)), {},
            "'1' has track_running_stats=False",
        ),
        (nn.LazyLinear(2), {}, "'weight' has no shape yet: call the module once"),
        (nn.Linear(3, 2, device="meta"), {}, "'weight' is on the device meta and has no numbers"),
        (nn.ReLU(), {}, "must have a parameter with requires_grad=True"),
        (nn.Linear(3, 2).half(), {}, r"not float16: module\.float\(\) makes them float32"),
        (
            nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2).double()), {},
            "all be float32 or all float64, not float32 and float64",
        ),
        (sharing(), {}, "'0.weight' and '1.weight' share their memory, but are two parameters"),
        (Bare(), {"keep_weights": False}, "'Bare' cannot be drawn anew"),
        (nn.Linear(3, 2), {"loss": 3}, "loss must be called with outputs and targets"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(module, options, told):
    with pytest.raises((TypeError, ValueError), match=told):
        from_module(module, **options)


class Unfollowed(nn.Linear):
    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


class Deriving(nn.Module):
    """Its output is the slope of a layer, as a force is of an energy."""

    def __init__(self):
        super().__init__()
        self.energy, self.last = nn.Linear(3, 1), nn.Linear(3, 2)

    def forward(self, x):
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(self.energy(x.tanh()).sum(), x, create_graph=True)
        return self.last(slope)


class DerivingAlways(Deriving):
    def forward(self, x):
        with torch.enable_grad():
            return super().forward(x)


def test_a_module_may_take_a_derivative_inside():
    module = seeded(DerivingAlways)
    model = from_module(module, F.mse_loss)
    loss, grad = model.gradient(model.initial(), (ROWS, VALUES))
    theirs = F.mse_loss(module(torch.as_tensor(ROWS)), torch.as_tensor(VALUES))
    own = list(module.parameters())  # the first bias has no slope
    slopes = torch.autograd.grad(theirs, own, materialize_grads=True)
    assert loss == pytest.approx(theirs.item(), rel=1e-6)
    np.testing.assert_allclose(grad, torch.cat([s.ravel() for s in slopes]), rtol=1e-5, atol=1e-7)
    assert np.abs(grad[:3]).max() > 0  # of the weights that are differentiated twice


@pytest.mark.parametrize(
    ("module", "loss", "told"),
    [
        (Counting, F.mse_loss, "module changes calls while it trains"),
        (
            lambda: Squeezing(3, 2),
            F.mse_loss,
            r"of one example too.*of shape \(1, 3\) it ended in Ind",
        ),
        (
            chain,
            lambda z, y: ((z - y) ** 2).sum(),
            "so that the parts of a batch add up to it: of 4",
        ),
        (chain, lambda z, y: (z - y) ** 2, r"of shape \(\), got \(4, 2\)"),
        (chain, lambda z, y: float(((z - y) ** 2).mean()), "of one number.*got float"),
        (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)), F.mse_loss, "changes"),
        (lambda: Unfollowed(3, 2), F.mse_loss, "module must have a gradient, but what it returns"),
        (
            lambda: nn.Sequential(Unfollowed(3, 3), nn.Linear(3, 2)),
            F.mse_loss,
            "module must have a gradient, but what its layer '0' returns has none: is it computed",
        ),
        (chain, lambda z, y: F.mse_loss(z.detach(), y), "loss must have a gradient, but what it"),
        (Deriving, F.mse_loss, r"with 4 examples under torch.no_grad\(\).*torch.enable_grad\(\)"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_what_only_a_look_at_examples_tells_is_refused_by_then(module, loss, told, known):
    batch = ROWS, VALUES

    def begin():
        model = from_module(module(), loss, example=batch if known else None)
        model.gradient(model.initial(), batch)

    with pytest.raises((TypeError, ValueError), match=told):
        begin()


WEIGHTS = torch.tensor([50.0, 1.0])


class Weighed(nn.Module):
    def __init__(self):
        super().__init__()
        self.theirs = nn.CrossEntropyLoss(WEIGHTS)

    def forward(self, outputs, y):
        return self.theirs(outputs, y)


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (nn.CrossEntropyLoss(WEIGHTS), "with weight= it is divided by the weights"),
        (nn.NLLLoss(WEIGHTS), "with weight= it is divided by the weights"),
        (partial(F.cross_entropy, weight=WEIGHTS), "with weight= it is divided by the weights"),
        (lambda z, y: F.cross_entropy(z, y, WEIGHTS), "of 2 examples, one of each class, it is"),
        (Weighed(), "of 2 examples, one of each class, it is"),
        (nn.CrossEntropyLoss(ignore_index=0), "with ignore_index=0 it leaves out a class"),
        (lambda z, y: F.cross_entropy(z, y, ignore_index=0), "one of each class, .* nan"),
        (nn.CrossEntropyLoss(reduction="sum"), "but has reduction='sum': make it with \"mean\""),
        (partial(F.cross_entropy, reduction="none"), "but has reduction='none'"),
    ],
)
def test_a_loss_whose_parts_do_not_add_up_is_refused_whatever_the_first_examples_are(loss, told):
    """All are of class 1: of those alone each of these means is a mean over the examples."""
    with pytest.raises(ValueError, match=f"loss must be a mean over the examples.*{told}"):
        from_module(nn.Linear(3, 2), loss, example=(ROWS, np.ones(len(ROWS), int)))


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (nn.CrossEntropyLoss(), CLASSES % 2),
        (nn.CrossEntropyLoss(WEIGHTS * 0 + 3, ignore_index=-1, label_smoothing=0.1), CLASSES % 2),
        (lambda z, y: (WEIGHTS[y] * F.cross_entropy(z, y, reduction="none")).mean(), CLASSES % 2),
        (nn.CrossEntropyLoss(WEIGHTS), np.full((len(ROWS), 2), 0.5)),
        (nn.MultiMarginLoss(weight=WEIGHTS), CLASSES % 2),
        (nn.BCEWithLogitsLoss(WEIGHTS, pos_weight=WEIGHTS), np.full((len(ROWS), 2), 0.5)),
        (nn.SoftMarginLoss(), np.tile([-1, 1], (len(ROWS), 1))),
    ],
)
def test_a_loss_that_weighs_and_is_a_mean_over_the_examples_is_taken(loss, targets):
    model = from_module(nn.Linear(3, 2), loss, example=(ROWS, targets))
    w, half = model.initial(), len(ROWS) // 2
    whole = model.gradient(w, (ROWS[: 2 * half], targets[: 2 * half]))
    parts = [model.gradient(w, (ROWS[k:][:half], targets[k:][:half])) for k in (0, half)]
    np.testing.assert_allclose(whole[0], np.mean([part[0] for part in parts]), rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "left_out"),
    [
        (nn.CrossEntropyLoss(), -100),
        (nn.CrossEntropyLoss(ignore_index=-1), -1),
        (lambda z, y: F.cross_entropy(z, y), -100),
    ],
)
def test_targets_that_a_loss_leaves_out_are_refused_in_whatever_batch_they_come(loss, left_out):
    model = from_module(nn.Linear(3, 2), loss)
    targets = CLASSES % 2
    model.gradient(model.initial(), (ROWS, targets))
    late = np.where(np.arange(len(targets)) == len(targets) - 1, left_out, targets)
    with pytest.raises(ValueError, match=rf"targets that are {left_out} \(ignore_index\)"):
        model.gradient(model.initial(), (ROWS, late))


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        (
            [("a", nn.Sequential(nn.Linear(3, 2), nn.Dropout()))],
            "'a' has a Dropout, which would draw in predict, too",
        ),
        ([("a", nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))], "'a' keeps running statistic"),
        ([("a", nn.Linear(3, 2).requires_grad_(False))], "'weight' of layer 'a' is frozen"),
    ],
)
def test_torch_model_names_what_only_from_module_can_do(layers, told):
    with pytest.raises(ValueError, match=f"{told}.*from_module takes modules with that"):
        TorchModel(layers, [6])


def test_torch_model_refuses_layers_that_share_a_parameter():
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    with pytest.raises(ValueError, match=r"layers 'a' and 'b' share 'weight'.*from_module"):
        TorchModel([("a", first), ("b", second)], [9, 9])


def test_a_model_is_told_from_what_is_none():
    assert issubclass(ModuleModel, TorchModel)
    assert not isinstance(chain(), Model)
