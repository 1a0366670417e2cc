"""Every model: the gradient is the slope of the loss, whole or layer by layer."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from course_lib.models.alexnet import alexnet
from course_lib.models.chain import Chain
from course_lib.models.conv_net import conv_net
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.models.torch_layer import TorchLayer
from course_lib.models.torch_model import TorchModel

MODELS = {
    "linear": LinearRegression(3),
    "logistic": LogisticRegression(3, l2=0.1),
    "mlp": mlp(3, 5, 4),
    "one layer": mlp(3, 2),
    "conv": conv_net(2, 3),
    "conv with BatchNorm": conv_net(2, 3, batch_norm=True),
    "chain": deep_mlp(3, 5, 4, 4),
    "conv chain": alexnet(2, 4, 3),
}
WITHOUT_BATCH_NORM = [name for name in MODELS if "BatchNorm" not in name]


def examples(name, rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 64 if "conv" in name else 3))
    return X, rng.normal(size=rows) if name == "linear" else rng.integers(0, 2, size=rows)


def somewhere(model, seed=0):
    """Parameters away from every special point."""
    noise = np.random.default_rng(seed + 100).normal(size=model.n_parameters)
    return model.initial(seed) + 0.1 * noise


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_the_slope_of_the_loss(name):
    model, batch = MODELS[name], examples(name, 6)
    w = somewhere(model)
    loss, grad = model.gradient(w, batch)
    assert loss == pytest.approx(model.loss(w, batch), rel=1e-14)
    assert grad.shape == w.shape
    step = 1e-6
    for index in range(0, model.n_parameters, max(1, model.n_parameters // 40)):
        nudge = np.eye(1, model.n_parameters, index)[0] * step
        slope = (model.loss(w + nudge, batch) - model.loss(w - nudge, batch)) / (2 * step)
        assert abs(slope - grad[index]) < 1e-7  # central difference: error ~ eps / step
    assert np.abs(6 * grad - grad).max() > 1e-3  # the likely mistake, a sum, would be seen


@pytest.mark.parametrize("name", MODELS)
def test_layers_come_last_first_and_together_are_the_gradient(name):
    model, batch = MODELS[name], examples(name, 5)
    w = somewhere(model)
    before = w.copy()
    _, whole = model.gradient(w, batch)
    found = np.full(model.n_parameters, np.nan)
    names = []
    for layer, grad in model.backward_layers(w, batch):
        assert grad.shape == (layer.n_parameters,)
        found[layer.part] = grad
        names.append(layer.name)
    assert names == [layer.name for layer in model.layers][::-1]
    assert found.tobytes() == whole.tobytes()
    assert w.tobytes() == before.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_back_propagation_written_out_is_autograds_to_rounding(dtype):
    """Also where a unit is silent for all examples, and where one is exactly at the bend."""
    model, rng = mlp(20, 70, 30, 5, dtype=dtype), np.random.default_rng(0)
    batch = rng.normal(size=(33, 20)).astype(dtype), rng.integers(0, 5, size=33)
    w = model.initial() + rng.normal(size=model.n_parameters).astype(dtype) / 10
    biases = w[20 * 70 : 21 * 70]
    biases[:7] = -100
    w[7 * 20 : 8 * 20] = biases[7] = 0
    before = w.copy(), batch[0].copy()
    loss, grad = model.gradient(w, batch, weight=0.3)
    assert type(model).gradient is not TorchModel.gradient
    expected = TorchModel.gradient(model, w, batch, weight=0.3)
    assert loss == expected[0]
    # The slope of the loss is rounded otherwise: p - 1 in one step, and products of it are added.
    few_bits = 8 * np.finfo(dtype).eps * np.abs(grad).max()
    assert np.abs(grad - expected[1]).max() < few_bits
    not_weighed = model.gradient(w, batch)[1]  # the likely mistake is far outside
    assert np.abs(not_weighed - expected[1]).max() > 1e5 * few_bits
    assert not grad[: 8 * 20].any()
    assert (w.tobytes(), batch[0].tobytes()) == tuple(array.tobytes() for array in before)


@pytest.mark.parametrize("name", MODELS)
def test_a_gradient_in_steps_reads_each_layer_when_it_comes_to_it(name):
    model, batch = MODELS[name], examples(name, 5)
    w = somewhere(model)
    loss, whole = model.gradient(w, batch)
    late = np.full(model.n_parameters, np.nan)
    passes = model.passes(late, batch)
    for layer in model.layers:
        late[layer.part] = w[layer.part]  # the layers behind it are still unknown
        passes.forward(layer)
    assert passes.loss() == loss == passes.loss()
    found = [passes.backward(layer) for layer in model.layers[::-1]]
    assert np.concatenate(found[::-1]).tobytes() == whole.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_weight_multiplies_loss_and_gradient_whole_or_in_steps(name):
    model, batch = MODELS[name], examples(name, 5)
    w = somewhere(model)
    loss, grad = model.gradient(w, batch)
    weighted_loss, weighted = model.gradient(w, batch, weight=0.3)
    assert weighted_loss == pytest.approx(0.3 * loss, rel=1e-14)
    np.testing.assert_allclose(weighted, 0.3 * grad, rtol=1e-12, atol=1e-15)
    assert np.abs(weighted - grad).max() > 1e-3  # the likely mistake: only the loss is weighed

    passes = model.passes(w, batch, weight=0.3)
    for layer in model.layers:
        passes.forward(layer)
    assert passes.loss() == weighted_loss
    found = [passes.backward(layer) for layer in model.layers[::-1]]
    assert np.concatenate(found[::-1]).tobytes() == weighted.tobytes()


def test_a_gradient_in_steps_keeps_to_the_order_of_the_layers():
    model, batch = MODELS["mlp"], examples("mlp", 5)
    first, last = model.layers
    passes = model.passes(somewhere(model), batch)
    with pytest.raises(ValueError, match="whose turn it is must be fc1, got fc2"):
        passes.forward(last)
    passes.forward(first)
    passes.forward(last)
    with pytest.raises(ValueError, match="whose turn it is must be none, got fc2"):
        passes.forward(last)
    with pytest.raises(ValueError, match="whose turn it is must be fc2, got fc1"):
        passes.backward(first)


@pytest.mark.parametrize("name", MODELS)
def test_the_flops_of_the_layers_are_those_of_the_model(name):
    model, batch = MODELS[name], examples(name, 5)
    per_layer = model.layer_flops(batch)
    assert len(per_layer) == len(model.layers)
    assert sum(map(sum, per_layer)) == model.flops(batch)


@pytest.mark.parametrize("name", MODELS)
def test_layers_cover_the_parameters_once(name):
    places = [i for layer in MODELS[name].layers for i in range(*layer.part.indices(10**6))]
    assert places == list(range(MODELS[name].n_parameters))


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_parameters(name):
    model = MODELS[name]
    assert model.initial(3).tobytes() == model.initial(3).tobytes()
    if name not in ("linear", "logistic"):
        assert model.initial(3).tobytes() != model.initial(4).tobytes()


@pytest.mark.parametrize("name", WITHOUT_BATCH_NORM)
@given(cut=st.integers(1, 8), seed=st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_weighted_means_of_parts_are_the_gradient_of_the_whole(name, cut, seed):
    model, (X, y) = MODELS[name], examples(name, 9, seed)
    w = somewhere(model, seed)
    _, whole = model.gradient(w, (X, y))

    def of_parts(left_weight, right_weight):
        _, left = model.gradient(w, (X[:cut], y[:cut]), left_weight)
        _, right = model.gradient(w, (X[cut:], y[cut:]), right_weight)
        return left + right

    error = np.abs(of_parts(cut / 9, (9 - cut) / 9) - whole).max()
    assert error < 1e-14 * max(1, np.abs(whole).max()) * 50  # 9 additions, twice
    # Where no input counts any more, parts with the same share of each class are alike.
    assume(np.abs(of_parts(1, -1)).max() > 1e-3)
    unweighted = np.abs(of_parts(1 / 2, 1 / 2) - whole).max()
    assert unweighted > 1e-6  # the likely mistake: unequal parts weighed alike


def test_with_batch_norm_parts_are_not_the_whole():
    model, (X, y) = MODELS["conv with BatchNorm"], examples("conv", 8)
    w = somewhere(model)
    _, whole = model.gradient(w, (X, y))
    halves = [model.gradient(w, (X[part], y[part]))[1] for part in (slice(4), slice(4, 8))]
    assert np.abs(np.mean(halves, axis=0) - whole).max() > 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_an_empty_batch_is_refused(name):
    X, y = examples(name, 4)
    with pytest.raises(ValueError, match="batch must hold at least one example"):
        MODELS[name].gradient(MODELS[name].initial(), (X[:0], y[:0]))
    with pytest.raises(ValueError, match="batch must hold at least one example"):
        next(iter(MODELS[name].backward_layers(MODELS[name].initial(), (X[:0], y[:0]))))


def test_parameters_of_another_length_or_dtype_are_refused():
    batch = examples("mlp", 4)
    for w in (np.zeros(3), MODELS["mlp"].initial().astype("f4")):
        with pytest.raises(ValueError, match=r"w must have shape \(44,\) and dtype torch.float64"):
            MODELS["mlp"].gradient(w, batch)


def test_tensors_in_give_tensors_out_and_float32_stays():
    model, batch = mlp(3, 4, 2, dtype="float32"), examples("mlp", 5)
    w = torch.from_numpy(model.initial())
    loss, grad = model.gradient(w, batch)
    assert isinstance(loss, float)
    assert isinstance(grad, torch.Tensor)
    assert grad.dtype == torch.float32
    np.testing.assert_array_equal(grad.numpy(), model.gradient(w.numpy(), batch)[1])


def test_a_caller_may_be_under_no_grad():
    model, batch = MODELS["mlp"], examples("mlp", 5)
    w = somewhere(model)
    expected = model.gradient(w, batch)[1]
    with torch.no_grad():
        np.testing.assert_array_equal(model.gradient(w, batch)[1], expected)
        parts = [grad for _, grad in model.backward_layers(w, batch)]
        assert not torch.is_grad_enabled()
    np.testing.assert_array_equal(np.concatenate(parts[::-1]), expected)


def test_sparse_and_dense_examples_give_the_same():
    model, (X, y) = MODELS["logistic"], examples("logistic", 6)
    X[X < 0] = 0
    w = somewhere(model)
    dense, sparse = model.gradient(w, (X, y)), model.gradient(w, (csr_matrix(X), y))
    assert sparse[0] == pytest.approx(dense[0], rel=1e-14)
    np.testing.assert_allclose(sparse[1], dense[1], rtol=1e-13)
    assert model.flops((csr_matrix(X), y)) < model.flops((X, y)) == 4 * (18 + 6)


def test_a_probability_far_from_the_border_does_not_overflow():
    loss, grad = LogisticRegression(1).gradient(
        np.array([0.0, 1.0]), (np.array([[1e6], [-1e6]]), np.array([0, 1]))
    )
    assert loss == 1e6
    assert np.isfinite(grad).all()


def test_flops_are_counted_by_hand():
    X, y = np.zeros((7, 3)), np.zeros(7)
    # forward and the weights' gradient for both layers, the inputs' for the second: 2 each.
    assert mlp(3, 5, 4).flops((X, y)) == 7 * 2 * (2 * 15 + 3 * 20)
    assert mlp(3, 5, 4).layer_flops((X, y)) == ((7 * 30, 7 * 30), (7 * 40, 7 * 80))


def test_impossible_models_are_refused():
    for sizes in ((3,), (3, 0, 2)):
        with pytest.raises(ValueError, match="sizes must be two or more numbers"):
            mlp(*sizes)
    with pytest.raises(ValueError, match="channels and n_classes must be 1 or more"):
        conv_net(channels=0)
    with pytest.raises(ValueError, match="every layer must have parameters, but 'bend' has none"):
        TorchModel([("fc", torch.nn.Linear(3, 2)), ("bend", torch.nn.ReLU())], [6, 0])
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32', got 'float16'"):
        mlp(3, 2, dtype="float16")


def test_a_torch_layer_copies_its_module_begins_with_scales_of_1_and_refuses_dropout():
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    layer = TorchLayer("norm", module, 9)
    w = layer.initial(np.random.default_rng(0))
    assert w[9:].tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    assert np.ptp(w[:9]) > 0.5
    assert module[0].weight.dtype == torch.float32
    drops = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.1))
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="'drops' must not draw random numbers, as Dropout does"):
        Chain([TorchLayer("drops", drops, 6)], (3,))
    assert torch.equal(before, torch.get_rng_state())
    Chain([TorchLayer("drops", drops.eval(), 6)], (3,))
    writes = torch.nn.Sequential(torch.nn.ReLU(inplace=True), torch.nn.Linear(3, 2))
    with pytest.raises(ValueError, match="'writes' must not write into its inputs"):
        Chain([TorchLayer("writes", writes, 6)], (3,))
