"""Bowls and saddles: descent is what the closed forms say."""

import numpy as np
import pytest

from course_lib.models.surfaces import Quadratic, descend, escape_step, escape_steps

BOWL, SADDLE = Quadratic((1.0, 10.0)), Quadratic((2.0, -2.0), height=0.5)


@pytest.mark.parametrize("surface", [BOWL, SADDLE])
def test_the_gradient_is_the_slope(surface):
    w, step = np.array([0.7, -1.3]), 1e-6
    slopes = [
        (surface.loss(w + step * unit) - surface.loss(w - step * unit)) / (2 * step)
        for unit in np.eye(2)
    ]
    assert np.abs(slopes - surface.gradient(w)).max() < 1e-8
    assert np.abs(slopes + surface.gradient(w)).max() > 1  # the wrong sign would be seen


def test_the_saddle_is_x_squared_minus_y_squared_and_a_constant():
    points = np.random.default_rng(0).normal(size=(5, 3, 2))
    x, y = points[..., 0], points[..., 1]
    assert np.abs(SADDLE.loss(points) - (x**2 - y**2 + 0.5)).max() < 1e-14


def test_each_coordinate_shrinks_by_its_own_factor():
    path = descend(BOWL, (4.0, 1.0), 0.18, 20)
    steps = np.arange(21)
    closed = np.column_stack([4 * 0.82**steps, (-0.8) ** steps])
    assert path.shape == (21, 2)
    assert np.abs(path - closed).max() < 1e-14


@pytest.mark.parametrize(("rate", "comes_closer"), [(0.199, True), (0.201, False)])
def test_two_over_the_largest_curvature_is_the_limit(rate, comes_closer):
    path = descend(BOWL, (0.0, 1.0), rate, 200)
    assert bool(abs(path[-1, 1]) < 1) is comes_closer


@pytest.mark.parametrize("offset", [1e-2, 1e-4, 1e-8, 1e-16])
@pytest.mark.parametrize("rate", [0.02, 0.1])
def test_escape_takes_the_logarithm_of_the_offset_over_the_growth(offset, rate):
    closed = escape_steps(offset, 1 + 2 * rate)
    measured = escape_step(descend(SADDLE, (1.0, offset), rate, 2000))
    assert 0 <= measured - closed < 1  # the next whole step
    assert abs(measured - escape_steps(offset**2, 1 + 2 * rate)) > 5


def test_only_noise_leaves_the_ridge():
    assert escape_step(descend(SADDLE, (1.0, 0.0), 0.1, 500)) is None
    steps = [escape_step(descend(SADDLE, (1.0, 0.0), 0.1, 500, 1e-3, seed)) for seed in range(21)]
    # a sum of noises, each as much larger as it is older: standard deviation 0.1 s / sqrt(1.44 - 1)
    closed = escape_steps(0.6745 * 0.1 * 1e-3 / np.sqrt(0.44), 1.2)
    assert abs(np.median(steps) - closed) < 4
    assert abs(np.median(steps) - escape_steps(1e-3, 1.2)) > 8


def test_the_same_seed_makes_the_same_noise():
    one, two, other = (descend(BOWL, (1.0, 1.0), 0.1, 5, 0.1, seed) for seed in (3, 3, 4))
    assert one.tobytes() == two.tobytes() != other.tobytes()
