"""The gradient is the derivative of the loss, and sums of parts are sums of the whole."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.models.linear_regression import LinearRegression


def examples(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 3)), rng.normal(size=rows)


@given(seed=st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_the_gradient_is_the_slope_of_the_loss(seed: int) -> None:
    model, batch = LinearRegression(3), examples(7, seed)
    w = np.random.default_rng(seed + 1).normal(size=4)
    _, grad = model.gradient(w, batch)
    step = 1e-6
    for index in range(4):
        nudge = np.eye(4)[index] * step
        slope = (model.gradient(w + nudge, batch)[0] - model.gradient(w - nudge, batch)[0]) / (
            2 * step
        )
        assert abs(slope - grad[index]) < 1e-6  # central difference: error ~ eps / step
        assert abs(slope - 7 * grad[index]) > 1e-5 or abs(grad[index]) < 1e-5  # sum, not mean


@given(seed=st.integers(0, 999), cut=st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_sums_over_any_two_parts_add_up_to_the_sum_over_all(seed: int, cut: int) -> None:
    model, (X, y) = LinearRegression(3), examples(9, seed)
    w = np.random.default_rng(seed + 1).normal(size=4)
    parts = [model.gradient_sum(w, (X[:cut], y[:cut])), model.gradient_sum(w, (X[cut:], y[cut:]))]
    loss, grad = model.gradient_sum(w, (X, y))
    assert np.isclose(parts[0][0] + parts[1][0], loss, rtol=1e-12)
    assert np.allclose(parts[0][1] + parts[1][1], grad, rtol=1e-11, atol=1e-12)


def test_no_gradient_can_be_smaller_than_the_one_at_the_optimum() -> None:
    model, batch = LinearRegression(3), examples(50, 0)
    best = model.optimum(batch)
    assert np.abs(model.gradient(best, batch)[1]).max() < 1e-13
    assert np.abs(model.gradient(best + 0.01, batch)[1]).max() > 1e-4


def test_flops_grow_with_rows_and_parameters() -> None:
    assert LinearRegression(10).flops((np.ones((100, 10)), np.ones(100))) == 4 * 100 * 11
