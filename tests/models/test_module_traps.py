"""Modules that compute right and would train wrong: torch's gradients, or a refusal by name."""

import copy
import pickle
from functools import partial

import cloudpickle
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from course_lib import run
from course_lib.models import from_module
from course_lib.models.torch_layer import TorchLayer
from course_lib.schemes import data_parallel, layerwise, train
from course_lib.training import Plan

F = nn.functional
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(24, 6)), RNG.integers(0, 3, 24)
WORDS = RNG.integers(0, 6, (24, 2))
HOOKED = pytest.mark.filterwarnings("ignore:Full backward hook is firing")


class Two(nn.Module):
    """Two layers one after another."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(6, 5), nn.Linear(5, 3)
        self.double()

    def forward(self, x):
        return self.b(self.a(x))


def by_torch(module, loss=F.cross_entropy):
    """What torch itself finds for the module, in the order of its parameters."""
    module = copy.deepcopy(module).train()
    own = list(module.parameters())
    found = loss(module(torch.as_tensor(X)), torch.as_tensor(Y))
    return torch.cat(
        [g.reshape(-1) for g in torch.autograd.grad(found, own, materialize_grads=True)]
    ).numpy()


# A chain forward that is none on the way back


class WithoutHistory(Two):
    def forward(self, x):
        with torch.no_grad():
            h = self.a(x)
        return self.b(h)


class Bent(Two):
    """A hook on what is between its layers."""

    def forward(self, x):
        h = self.a(x)
        if h.requires_grad:
            h.register_hook(lambda slope: 3 * slope)
        return self.b(h)


class BentBeforeZeros(Bent):
    """As a head often begins: what comes before has no slope yet, right or wrong."""

    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.b.weight)


class Sequence(nn.Sequential):
    """Its type says nothing about what it does."""


def hooked(make, kind):
    def made():
        module = make()
        getattr(module, kind)(lambda _, slopes, *more: None if more else (3 * slopes[0],))
        return module

    return made


def in_sequence(kind=nn.Sequential):
    return kind(*Two().children())


PRE, FULL = "register_full_backward_pre_hook", "register_full_backward_hook"
BENT = {
    "no history": WithoutHistory,
    "bent": Bent,
    "hook before a module": hooked(Two, PRE),
    "hook before a subclass": hooked(partial(in_sequence, Sequence), PRE),
    "hook before a Sequential": hooked(in_sequence, PRE),
    "hook after a Sequential": hooked(in_sequence, FULL),
}


@HOOKED
@pytest.mark.parametrize("name", BENT)
@pytest.mark.parametrize("known", [False, True])
def test_what_is_a_chain_forward_only_has_torchs_gradients(name, known):
    module = BENT[name]()
    model = from_module(module, example=(X, Y) if known else None)
    found = model.gradient(model.initial(), (X, Y))[1]
    np.testing.assert_allclose(found, by_torch(module), rtol=0, atol=1e-14)
    assert len(model.layers) == 1
    # The likely mistake: its children one after another.
    if name != "hook after a Sequential":  # which changes nothing in parameters
        assert np.abs(found - by_torch(in_sequence())).max() > 1e-2


def test_a_layer_of_zeros_does_not_hide_what_is_before_it():
    assert len(from_module(BentBeforeZeros(), example=(X, Y)).layers) == 1
    assert len(from_module(Two(), example=(X, Y)).layers) == 2


def test_a_hook_of_a_child_is_called_in_every_scheme():
    module = Two()
    module.b.register_full_backward_hook(lambda _, to, of: (3 * to[0],))
    model = from_module(module, example=(X, Y))
    assert len(model.layers) == 2
    expected = by_torch(module)
    parts = [grad for _, grad in model.backward_layers(model.initial(), (X, Y))]
    np.testing.assert_allclose(np.concatenate(parts[::-1]), expected, rtol=0, atol=1e-14)
    assert np.abs(expected - by_torch(Two())).max() > 1e-2


# What a forward pass leaves behind


class Renorming(nn.Module):
    """It writes into its weights as Embedding(max_norm=) does."""

    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Parameter(torch.randn(6, 4)), nn.Linear(4, 3)

    def forward(self, x):
        return self.last(F.embedding(x, self.table, max_norm=0.1).sum(1))


class Rescaling(Two):
    """It writes where torch counts no versions."""

    def forward(self, x):
        if self.training:
            self.a.weight.data *= 0.5
        return super().forward(x)


class Remembering(Two):
    def __init__(self, kept):
        super().__init__()
        self.kept = kept


class Adding(Remembering):
    def forward(self, x):
        if self.training:
            self.kept += 1
        return super().forward(x)


class AddingAnew(Remembering):
    """It matters in its twentieth step only."""

    def forward(self, x):
        if self.training:
            self.kept = self.kept + 1
        return super().forward(x) * (1 if self.kept < 20 else 2)


class Listing(Remembering):
    def forward(self, x):
        self.kept.append(len(x))
        return super().forward(x)


class Drawing(Remembering):
    def forward(self, x):
        noise = torch.as_tensor(self.kept.normal(size=x.shape)) if self.training else 0.0
        return super().forward(x + noise)


class Averaging(Remembering):
    """What it has seen in training matters out of it."""

    def forward(self, x):
        if self.training:
            self.kept = x.detach().mean(0)
        return super().forward(x - self.kept)


class FirstBatch(Remembering):
    def forward(self, x):
        if self.kept is None:
            self.kept = x.std()
        return super().forward(x / self.kept)


STATEFUL = {
    "parameters in place": (Renorming, WORDS, "table"),
    "parameters' data": (Rescaling, X, "a.weight"),
    "a tensor in place": (lambda: Adding(torch.zeros(())), X, "kept"),
    "a number": (lambda: Adding(0), X, "kept"),
    "another tensor": (lambda: AddingAnew(torch.zeros(())), X, "kept"),
    "whole numbers": (lambda: AddingAnew(torch.tensor(0)), X, "kept"),
    "a list": (lambda: Listing([]), X, "kept"),
    "a generator": (lambda: Drawing(np.random.default_rng(0)), X, "kept"),
    "a mean": (lambda: Averaging(torch.zeros(6)), X, "kept"),
    "the first batch": (lambda: FirstBatch(None), X, "kept"),
}


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.parametrize("inside", [False, True])
def test_what_a_forward_pass_changes_and_reads_is_refused_by_name(name, inside):
    make, examples, told = STATEFUL[name]
    module = nn.Sequential(make(), nn.Linear(3, 3)).to(torch.float64) if inside else make()
    model = from_module(module)
    with pytest.raises(ValueError, match=f"module changes {'0.' * inside}{told} while it trains"):
        model.gradient(model.initial(), (examples, Y))


class Centred(nn.Module):
    """A loss that remembers what it has seen."""

    def __init__(self):
        super().__init__()
        self.register_buffer("centre", torch.zeros(3))

    def forward(self, z, y):
        self.centre += z.detach().mean(0)
        return F.cross_entropy(z - self.centre, y)


def test_a_loss_that_changes_is_refused_by_name():
    with pytest.raises(ValueError, match="loss changes centre while it trains"):
        from_module(Two(), Centred(), example=(X, Y))


class StoringLoss(nn.Module):
    def forward(self, z, y):
        self.last = F.cross_entropy(z, y)
        return self.last


class Storing(Two):
    """It stores what others like to look at, and never reads it."""

    def forward(self, x):
        self.n_examples, self.found = len(x), [x]
        self.between = self.a(x)
        self.largest = self.between.argmax(1)
        if not self.training:
            self.kept_outside = self.between.exp()
        return self.b(self.between)


def test_stored_outputs_are_no_state_and_travel_with_the_module():
    module = Storing()
    module(torch.as_tensor(X))  # torch could not copy it any more
    model = from_module(module, StoringLoss(), answer=lambda z: z)
    result = train(model, X, Y, Plan(0.5, 8))
    plain = train(from_module(Two()), X, Y, Plan(0.5, 8))
    assert result.w.tobytes() == plain.w.tobytes()
    for trained in (model, pickle.loads(cloudpickle.dumps(model)), copy.deepcopy(model)):
        answers = trained.as_module(result.w)(torch.as_tensor(X)).detach().numpy()
        assert answers.tobytes() == model.outputs(result.w, X).numpy().tobytes()


# Parts that are used twice, and parts that compute their weights


def test_a_layer_that_is_used_twice_comes_back_trained():
    torch.manual_seed(0)
    twice = nn.Linear(6, 6)
    module = nn.Sequential(twice, nn.Tanh(), twice, nn.Tanh(), nn.Linear(6, 3)).double()
    model = from_module(module, example=(X, Y))
    expected = by_torch(module)
    np.testing.assert_allclose(
        model.gradient(model.initial(), (X, Y))[1], expected, rtol=0, atol=1e-14
    )
    w = train(model, X, Y, Plan(0.5, 8)).w
    trained = model.as_module(w)
    assert trained[0] is trained[2]
    assert nn.utils.parameters_to_vector(trained.parameters()).detach().numpy().tobytes() == (
        w.tobytes()
    )
    assert np.abs(w - model.initial()).max() > 1e-2


PARAMETRIZED = {
    "weight_norm": parametrizations.weight_norm,
    "orthogonal": parametrizations.orthogonal,
}


@pytest.mark.parametrize("name", PARAMETRIZED)
@pytest.mark.parametrize("whole", [False, True])
def test_parts_that_compute_their_weights_train_on_workers(name, whole):
    torch.manual_seed(0)
    module = PARAMETRIZED[name](nn.Linear(6, 3).double())
    if not whole:
        module = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), module).double()
    model = from_module(module, example=(X, Y))
    assert len(model.layers) == (1 if whole else 2)
    plan = Plan(0.5, 8, epochs=2)
    serial = train(model, X, Y, plan)
    found = run(layerwise, model, X, Y, plan, workers=3, backend="simulated").values
    np.testing.assert_allclose(found[2].w, serial.w, rtol=0, atol=1e-13)
    sent = pickle.loads(cloudpickle.dumps(model))
    grad = model.gradient(serial.w, (X, Y))[1]
    assert sent.gradient(serial.w, (X, Y))[1].tobytes() == grad.tobytes()
    # The likely mistake: the weights as they were before, instead of those that are computed.
    trained = sent.as_module(serial.w)
    last = trained if whole else trained[2]
    assert (last.weight - (module if whole else module[2]).weight).abs().max() > 1e-3
    assert torch.equal(last.weight, last.parametrizations.weight())


@pytest.mark.slow
def test_parts_that_compute_their_weights_travel_to_processes():
    torch.manual_seed(0)
    model = from_module(parametrizations.weight_norm(nn.Linear(6, 3).double()))
    plan = Plan(0.5, 8)
    far, near = (
        run(data_parallel, model, X, Y, plan, workers=2, backend=backend).values[1].w.tobytes()
        for backend in ("processes", "simulated")
    )
    assert far == near


# Running statistics of InstanceNorm


def test_settled_takes_the_statistics_of_instance_norm():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Unflatten(1, (2, 3)), nn.InstanceNorm1d(2, affine=True, track_running_stats=True),
        nn.Flatten(), nn.Linear(6, 3),
    ).double()  # fmt: skip
    model = from_module(module)
    w = train(model, X, Y, Plan(0.1, 8)).w
    with pytest.raises(ValueError, match="are not those of w"):
        model.predict(w, X)
    for batch_size in (24, 8):
        trained = model.settled(w, X, batch_size).as_module(w)
        rows = X.reshape(24, 2, 3)
        mean, variance = rows.mean((0, 2)), rows.var(2, ddof=1).mean(0)
        np.testing.assert_allclose(trained[1].running_mean, mean, rtol=0, atol=1e-14)
        np.testing.assert_allclose(trained[1].running_var, variance, rtol=1e-13)
        assert trained[1].momentum == 0.1
    # The likely mistake: as it is made, with mean 0 and variance 1, or one batch of three.
    assert np.abs(mean).max() > 0.01
    assert np.abs(variance - 1).max() > 0.01
    assert np.abs(rows[16:].mean((0, 2)) - mean).max() > 0.01


# What is refused before anything is computed


class OwnScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, z, y):
        return F.cross_entropy(z * self.scale, y)


def with_parameter_hook():
    module = Two()
    module.a.weight.register_hook(lambda grad: 0 * grad)
    return module


def with_late_parameter_hook():
    module = Two()
    module.a.weight.register_post_accumulate_grad_hook(lambda p: None)
    return module


def with_forward_in_the_object():
    module = Two()
    forward = module.a.forward
    module.a.forward = lambda x: 2 * forward(x)
    return module


def with_old_weight_norm():
    module = Two()
    with pytest.warns(FutureWarning):
        nn.utils.weight_norm(module.a)
    return module


@pytest.mark.parametrize(
    ("make", "loss", "told"),
    [
        (lambda: nn.Embedding(6, 3, max_norm=0.1), None, "'Embedding' has max_norm=0.1, with wh"),
        (
            lambda: nn.Sequential(nn.EmbeddingBag(6, 3, sparse=True)), None,
            "'0' has sparse=True.* make it with sparse=False",
        ),
        (Two, OwnScale(), "loss has parameters of its own, scale, which nobody would train"),
        (Two, partial(OwnScale().forward), "loss has parameters of its own, scale"),
        (with_parameter_hook, None, r"'a.weight' has a hook of its own"),
        (with_late_parameter_hook, None, r"'a.weight' has a hook of its own"),
        (with_forward_in_the_object, None, "'a' has a forward that was put into the object"),
        (with_old_weight_norm, None, "'a' has torch.nn.utils.weight_norm.*that of torch.nn"),
    ],
)  # fmt: skip
def test_what_would_be_trained_in_another_sense_is_refused_by_name(make, loss, told):
    module = make()
    with pytest.raises(ValueError, match=told):
        from_module(module, loss)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_compiled_loss_is_refused_in_words():
    with pytest.raises(TypeError, match="loss is a compiled module, which torch cannot copy"):
        from_module(Two(), torch.jit.script(nn.MSELoss()), example=(X, Y))


def test_a_loss_with_frozen_parameters_is_taken():
    model = from_module(Two(), OwnScale().requires_grad_(False))
    loss, _ = model.gradient(model.initial(), (X, Y))
    assert loss == pytest.approx(from_module(Two()).loss(model.initial(), (X, Y)), rel=1e-13)


# Numbers that torch does not take


def test_bytes_in_another_order_are_the_same_numbers():
    model = from_module(Two(), example=(X.astype(">f8"), Y.astype(">i8")))
    w = model.initial()
    expected = model.gradient(w, (X, Y))
    found = model.gradient(w, (X.astype(">f8"), Y.astype(">i8")))
    assert found[0] == expected[0]
    assert found[1].tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("kind", [bool, float])
def test_targets_that_the_loss_cannot_take_are_named(kind):
    model = from_module(Two())
    told = rf"targets y, here of shape \(4,\) and dtype {kind.__name__}.*y.astype\(int\) makes"
    with pytest.raises(ValueError, match=told):
        model.gradient(model.initial(), (X, (Y % 2).astype(kind)))


@pytest.mark.parametrize("kind", [bool, int])
def test_truths_and_whole_numbers_are_told_to_become_real_ones_where_the_loss_wants_such(kind):
    model = from_module(nn.Linear(6, 1), nn.BCEWithLogitsLoss())
    y = (Y[:, None] > 0).astype(kind)
    told = rf'shape \(4, 1\) and dtype {kind.__name__}.*\(y.astype\("f4"\) makes the real numbers'
    with pytest.raises(ValueError, match=told):
        model.gradient(model.initial(), (X, y))
    loss, _ = model.gradient(model.initial(), (X, y.astype("f4")))
    assert loss > 0


def test_imaginary_parts_are_not_dropped():
    model = from_module(Two())
    with pytest.raises(TypeError, match=r"X must hold real numbers.*take X\.real"):
        model.gradient(model.initial(), (X + 1j, Y))


class Writing(Two):
    def forward(self, x):
        x += 1
        return super().forward(x)


def test_a_module_that_writes_into_its_inputs_does_not_write_into_yours():
    model, before = from_module(Writing(), example=(X, Y)), X.copy()
    w = model.initial()
    assert model.outputs(w, X).numpy().tobytes() == model.outputs(w, X).numpy().tobytes()
    model.gradient(w, (X[:8].copy(), Y[:8]))
    assert X.tobytes() == before.tobytes()


# Parameters that are read where those that are trained do not stand


class Recomputed(Two):
    """Keeps nothing of its first layer, which is computed once more on the way back."""

    def forward(self, x):
        return self.b(checkpoint(lambda x: self.a(x).tanh(), x, use_reentrant=False))


class OnlyItsInputsAreWrong(Two):
    """The slope in the weights of a linear layer needs no weights; that in its inputs does."""

    def forward(self, x):
        return self.b(checkpoint(self.a, x, use_reentrant=False).tanh())


class Scaled(torch.autograd.Function):
    """Reads the module on both ways."""

    @staticmethod
    def forward(ctx, x, module):
        ctx.module = module
        return x * module.scale

    @staticmethod
    def backward(ctx, slope):
        return slope * ctx.module.scale, None


class ReadGoingBack(Two):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

    def forward(self, x):
        return Scaled.apply(self.b(self.a(x)), self) + self.scale


class HookThatReads(Two):
    def forward(self, x):
        h = self.a(x)
        if h.requires_grad:
            h.register_hook(lambda slope: slope * self.b.weight.sum())
        return self.b(h)


class Beside(Two):
    """Reaches its first layer, or that layer's weights, by another way as well."""

    def __init__(self, way):
        super().__init__()
        a = self.a
        self.way = {
            "a list": [a.weight],
            "partial": partial(F.linear, weight=a.weight),
            "a closure": lambda x: x @ a.weight.T,
            "its own part in a dict": {"a": a},
            "its own method": a.forward,
        }[way]

    def forward(self, x):
        way = self.way
        if isinstance(way, list):
            return self.b(self.a(x) + x @ way[0].T)
        return self.b(self.a(x) + (way["a"] if isinstance(way, dict) else way)(x))


def head_that_holds_the_encoder_in_a_list():
    class Head(nn.Module):
        def __init__(self, encoder):
            super().__init__()
            self.encoder, self.out = [encoder], nn.Linear(6, 3)

        def forward(self, x):
            return self.out(x @ self.encoder[0].weight)

    encoder = nn.Linear(6, 5)
    return nn.Sequential(encoder, nn.Tanh(), Head(encoder)).double()


@pytest.mark.parametrize("make", [Recomputed, ReadGoingBack, HookThatReads])
def test_what_reads_the_modules_own_parameters_going_back_is_refused(make):
    with pytest.raises(ValueError, match=r"while autograd goes back.*is wrong where others"):
        from_module(make(), F.cross_entropy, example=(X, Y))


@pytest.mark.parametrize("way", ["a list", "partial", "a closure"])
def test_a_parameter_that_is_reached_beside_its_name_is_refused(way):
    named = "a parameter" if way == "a closure" else "'a.weight'"
    with pytest.raises(ValueError, match=f"module reads {named} beside the name"):
        from_module(Beside(way), F.cross_entropy, example=(X, Y))


def test_so_is_a_layer_that_another_holds_in_a_list():
    with pytest.raises(ValueError, match="beside the name under which it is registered"):
        from_module(head_that_holds_the_encoder_in_a_list(), F.cross_entropy, example=(X, Y))


@pytest.mark.parametrize("way", ["its own part in a dict", "its own method"])
def test_what_leads_to_the_registered_part_is_trained_as_torch_does(way):
    module = Beside(way)
    model = from_module(module, F.cross_entropy, keep_weights=True)
    _, found = model.gradient(model.initial(), (X, Y))
    assert found == pytest.approx(by_torch(module), rel=1e-12)


@pytest.mark.parametrize("make", [Recomputed, OnlyItsInputsAreWrong, lambda: Beside("a list")])
def test_a_layer_of_a_chain_is_looked_at_too(make):
    layer = TorchLayer("block", make(), uses=1)
    with pytest.raises(ValueError, match="'block' reads"):
        layer.output_shape((6,))


def test_a_layer_of_a_chain_with_the_old_weight_norm_is_told_which_works():
    for module, name in ((with_old_weight_norm(), "block.a"), (with_old_weight_norm().a, "block")):
        with pytest.raises(ValueError, match=f"'{name}' has .*weight_norm.*parametrizations"):
            TorchLayer("block", module, uses=1)
    works = TorchLayer("block", parametrizations.weight_norm(nn.Linear(6, 3)), uses=1)
    assert works.output_shape((6,)) == (3,)
