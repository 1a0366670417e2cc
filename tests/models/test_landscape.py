"""Slices, sharpness and noise of a loss, where they can be known exactly."""

import numpy as np
import pytest

from course_lib.models import landscape
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(1)
    return rng.normal(size=(60, 3)) * [1, 2, 3], rng.normal(size=60)


def test_a_line_begins_and_ends_where_it_should(examples):
    model = LinearRegression(3)
    start, end = np.zeros(4), np.ones(4)
    losses = landscape.loss_along(model, examples, start, end, [0, 1, 2])
    right = [model.loss(w, examples) for w in (start, end, 2 * end)]
    assert losses.tolist() == right


def test_a_plane_goes_through_its_three_corners(examples):
    model = LinearRegression(3)
    corners = tuple(np.random.default_rng(2).normal(size=(3, 4)))
    plane = landscape.loss_plane(model, examples, corners, [0.0, 0.5, 1.0])
    a, b, c = (model.loss(corner, examples) for corner in corners)
    found = np.array([plane[0, 0], plane[0, 2], plane[2, 0]])
    assert np.abs(found - [a, b, c]).max() < 1e-12 * max(a, b, c)
    assert abs(plane[0, 2] - plane[2, 0]) > 1e-3  # the axes are not exchanged


def test_sharpness_of_a_bowl_is_its_largest_curvature(examples):
    X, _ = examples
    design = np.column_stack([np.ones(len(X)), X])
    curvatures = np.linalg.eigvalsh(design.T @ design / len(X))
    found = landscape.sharpness(LinearRegression(3), np.ones(4), examples, steps=60)
    assert found == pytest.approx(curvatures[-1], rel=1e-6)
    assert found > 1.2 * curvatures[-2]


def test_rescaling_layers_changes_sharpness_and_no_output():
    model, rng = mlp(3, 5, 2), np.random.default_rng(3)
    batch = rng.normal(size=(40, 3)), rng.integers(0, 2, size=40)
    w = model.initial()
    other = w.copy()
    other[model.layers[0].part] *= 30.0
    other[model.layers[1].part][: 5 * 2] /= 30.0
    assert (model.outputs(w, batch[0]) - model.outputs(other, batch[0])).abs().max() < 1e-12
    assert landscape.sharpness(model, other, batch) > 10 * landscape.sharpness(model, w, batch)


def test_the_error_of_a_batch_is_the_spread_over_its_size(examples):
    rows, spread = landscape.gradient_spread(LinearRegression(3), np.ones(4), examples)
    whole = LinearRegression(3).gradient(np.ones(4), examples)[1]
    assert np.abs(rows.mean(axis=0) - whole).max() < 1e-12 * np.abs(whole).max()
    for size in (1, 4, 16, 59):
        without_replacement = np.sqrt(spread / size * (60 - size) / 59)
        measured = landscape.gradient_error(rows, size, draws=4000)
        # 4,000 draws of a squared distance whose deviation is a few times its mean
        assert measured == pytest.approx(without_replacement, rel=0.06)
    with_replacement = np.sqrt(spread / 59)
    assert with_replacement > 2 * measured


def test_all_examples_at_once_have_no_error(examples):
    rows, _ = landscape.gradient_spread(LinearRegression(3), np.ones(4), examples)
    assert landscape.gradient_error(rows, 60, draws=3) < 1e-12 * np.abs(rows).max()
