"""What a model would convert without a word, or NumPy and torch refuse in theirs, is named."""

import numpy as np
import pytest
import scipy.sparse
import torch

from course_lib import run, schemes
from course_lib.comm.errors import RunError
from course_lib.models.alexnet import alexnet
from course_lib.models.conv_net import conv_net
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.training import Plan
from tests.schemes.test_refusals import WITH_MODEL, refusal

X = np.random.default_rng(0).normal(size=(8, 64))
OF_CLASSES = {
    "mlp": mlp(64, 6, 4),
    "conv_net": conv_net(2, 4),
    "deep_mlp": deep_mlp(64, 6, 4),
}
ALL = {**OF_CLASSES, "linear": LinearRegression(64), "logistic": LogisticRegression(64)}
WRONG_CLASSES = {
    "ignored by torch": -100, "negative": -1, "one too many": 4, "half": 0.9,
    "not a number": float("nan"), "infinite": float("inf"), "beyond int64": 1e300,
}  # fmt: skip


def targets_of(name):
    return np.arange(8) % (4 if name in OF_CLASSES else 2)


def every_way(model, batch):
    """Return what computes a loss, each as a call."""
    w = model.initial()
    passes = [lambda: model.loss(w, batch), lambda: model.gradient(w, batch)]
    return [*passes, lambda: list(model.backward_layers(w, batch))]


def refused(model, batch, kind, told):
    for call in every_way(model, batch):
        with pytest.raises(kind, match=told):
            call()


@pytest.mark.parametrize("name", ALL)
def test_the_examples_that_are_spoiled_below_are_good(name):
    for call in every_way(ALL[name], (X, targets_of(name))):
        call()


@pytest.mark.parametrize("wrong", WRONG_CLASSES)
@pytest.mark.parametrize("as_kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("name", OF_CLASSES)
def test_a_number_that_is_no_class_is_refused(name, as_kind, wrong):
    value = WRONG_CLASSES[wrong]
    y = targets_of(name).astype(type(value))
    y[3] = value
    told = "y must hold whole class numbers from 0 to 3, one for each output of the model, got"
    refused(OF_CLASSES[name], (X, as_kind(y)), ValueError, told)


@pytest.mark.parametrize("value", [2, -100, 0.5, float("nan")])
def test_of_two_classes_there_is_no_third(value):
    y = targets_of("logistic").astype(type(value))
    y[3] = value
    refused(ALL["logistic"], (X, y), ValueError, f"y must hold classes, 0 or 1, got {value}")


@pytest.mark.parametrize("dtype", ["i1", "u1", ">i4", "?", "f4", ">f8"])
@pytest.mark.parametrize("name", OF_CLASSES)
def test_whole_class_numbers_of_any_dtype_are_the_same_classes(name, dtype):
    model, y = OF_CLASSES[name], targets_of(name) % 2
    w = model.initial()
    loss, grad = model.gradient(w, (X, y))
    for targets in (y.astype(dtype), y.tolist()):
        other_loss, other_grad = model.gradient(w, (X, targets))
        assert loss == other_loss
        assert np.array_equal(grad, other_grad)


@pytest.mark.parametrize("name", ALL)
def test_a_column_of_targets_is_refused(name):
    told = r"y must have shape \(8,\), .* got (shape )?\(8, 1\)"
    refused(ALL[name], (X, targets_of(name)[:, None]), ValueError, told)


@pytest.mark.parametrize("name", ALL)
def test_numbers_that_are_not_real_are_refused(name):
    told = "must hold real numbers, got dtype complex128; take "
    y = targets_of(name)
    refused(ALL[name], (X + 1j, y), TypeError, f"X {told}X.real")
    refused(ALL[name], (X, y + 0j), TypeError, f"y {told}y.real")
    refused(ALL[name], (torch.as_tensor(X + 1j), y), TypeError, f"X {told}X.real")
    refused(ALL[name], (X.astype("U9"), y), TypeError, "X must hold real numbers, got dtype <U9")
    refused(ALL[name], (X.astype(object), y), TypeError, "X must be a plain array, got one of")


@pytest.mark.parametrize("name", OF_CLASSES)
def test_a_network_asks_for_dense_examples(name):
    y = targets_of(name)
    sparse = scipy.sparse.csr_matrix(X)
    refused(OF_CLASSES[name], (sparse, y), TypeError, r"got csr_matrix; X\.toarray\(\) makes")
    tensor = torch.as_tensor(X).to_sparse()
    refused(OF_CLASSES[name], (tensor, y), TypeError, r"got Tensor; X\.to_dense\(\) makes")


@pytest.mark.parametrize("name", ALL)
def test_another_number_of_columns_is_refused(name):
    told = r"X must .*\(8, 63\)|X must be what the model takes: its layer 'conv1'"
    refused(ALL[name], (X[:, 1:], targets_of(name)), ValueError, told)


@pytest.mark.parametrize("name", OF_CLASSES)
def test_bytes_in_another_order_are_the_same_numbers(name):
    model, y = ALL[name], targets_of(name)
    w = model.initial()
    loss, grad = model.gradient(w, (X, y))
    other_loss, other_grad = model.gradient(w, (X.astype(">f8"), y.astype(">i8")))
    assert loss == other_loss
    assert np.array_equal(grad, other_grad)


def test_images_of_another_size_are_refused():
    model = alexnet()
    told = "X must have examples of shape"
    with pytest.raises(ValueError, match=told):
        model.gradient(model.initial(), (np.zeros((1, 63)), np.zeros(1, int)))


@pytest.mark.parametrize("name", WITH_MODEL)
@pytest.mark.parametrize("which", ["X", "y"])
def test_every_scheme_refuses_masks_and_objects_before_anything_is_sent(name, which):
    for spoiled, got in [
        (np.ma.masked_array, "a masked array, whose mask would be lost"),
        (lambda array: array.astype(object), "one of dtype object"),
    ]:
        examples, targets = X[:, :3], np.arange(8) % 2
        data = (spoiled(examples), targets) if which == "X" else (examples, spoiled(targets))
        told = refusal(name, mlp(3, 2), *data)
        assert f"TypeError: {which} must be a plain array, got {got}" in told


class Series:
    """A column as pandas has it: with an array's shape, and rows that go by names."""

    iloc = None
    shape = (8,)
    dtype = np.dtype(float)


@pytest.mark.parametrize("name", WITH_MODEL)
def test_every_scheme_refuses_rows_that_go_by_names(name):
    told = refusal(name, mlp(3, 2), X[:, :3], Series())
    assert "TypeError: y must be a plain array, got a Series, whose rows go by names" in told


@pytest.mark.parametrize("name", ["map_reduce", "one_shot_averaging", "gradient_descent"])
def test_schemes_without_a_model_refuse_a_mask(name):
    masked = np.ma.masked_array(X[:, :3])
    y = np.arange(8.0)
    if name == "gradient_descent":
        with pytest.raises(TypeError, match="X must be a plain array, got a masked"):
            schemes.gradient_descent(masked, y, Plan(batch_size=8))
    else:
        assert "TypeError: X must be a plain array, got a masked" in refusal(name, masked, y)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_class_that_torch_leaves_out_ends_every_training_alike(workers):
    y = np.arange(8) % 4
    y[5] = -100
    with pytest.raises(RunError, match=r"y must hold whole class numbers from 0 to 3.* got -100"):
        run(
            schemes.data_parallel, mlp(64, 6, 4), X, y, Plan(batch_size=8, epochs=1),
            workers=workers, backend="simulated",
        )  # fmt: skip
