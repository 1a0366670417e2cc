"""The largest curvature of a linear regression, without a matrix as wide as it has features."""

import numpy as np
import pytest

from course_lib.models.linear_regression import LinearRegression
from course_lib.training import Plan
from course_lib.training.divergence import past_edge


def edge_of(X):
    """Where the eigenvalues of the whole matrix say that the edge of four replicas is."""
    rows = np.column_stack([np.ones(len(X)), X])
    return 2 * np.sin(np.pi / 14) / np.linalg.eigvalsh(rows.T @ rows / len(X))[-1]


@pytest.mark.parametrize("shape", [(60, 3), (8, 40), (1, 5), (200, 200)])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_edge_is_where_all_eigenvalues_say(shape, scale):
    for seed in range(10):
        X = scale * np.random.default_rng(seed).normal(size=shape)
        model, edge = LinearRegression(shape[1]), edge_of(X)
        assert past_edge(model, X, Plan(0.999 * edge, 1), 4) == ""
        assert "4 replicas diverges" in past_edge(model, X, Plan(1.01 * edge, 1), 4)


def test_a_model_of_many_features_is_looked_at_in_no_time():
    X = np.ones((4, 300_000))  # the matrix would have 720 GB
    assert "largest curvature, 3e+05" in past_edge(LinearRegression(300_000), X, Plan(1e-3, 1), 4)


def test_examples_that_are_no_numbers_are_not_judged():
    assert past_edge(LinearRegression(2), np.full((4, 2), np.nan), Plan(9.0, 1), 4) == ""
