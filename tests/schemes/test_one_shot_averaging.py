"""One-shot averaging: exact where the shards look alike, something else where they do not."""

import numpy as np
import pytest

from course_lib import run
from course_lib.data.diabetes import load_diabetes
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes.one_shot_averaging import one_shot_averaging

data = load_diabetes()
X, y = data.X_train, data.y_train
model = LinearRegression(n_features=10)


@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_ranks_agree_on_the_mean_of_their_optima(backend: str) -> None:
    values = run(one_shot_averaging, X, y, workers=4, backend=backend).values
    shards = [slice(100 * k, 100 * (k + 1)) for k in range(4)]
    expected = np.mean([model.optimum((X[rows], y[rows])) for rows in shards], axis=0)
    for w in values:
        np.testing.assert_array_equal(w, values[0])
        np.testing.assert_allclose(w, expected, rtol=1e-12)


def test_it_is_exact_where_all_shards_have_the_same_features_and_not_otherwise() -> None:
    twice = np.vstack([X[:200], X[:200]])
    same = run(one_shot_averaging, twice, y, workers=2, backend="simulated").values[0]
    np.testing.assert_allclose(same, model.optimum((twice, y)), rtol=1e-9)
    other = run(one_shot_averaging, X, y, workers=2, backend="simulated").values[0]
    assert np.abs(other - model.optimum((X, y))).max() > 1


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_it_costs_two_rounds_in_all(workers: int) -> None:
    trace = run(one_shot_averaging, X, y, workers=workers, backend="simulated").trace
    assert trace.n_messages == 2 * (workers - 1)
    assert trace.n_bytes == 2 * (workers - 1) * 88
    assert trace.rounds() == (2 if workers > 1 else 0)


def test_a_rank_without_rows_is_refused() -> None:
    with pytest.raises(Exception, match="X must have a row for each of the 3 ranks, got 2"):
        run(one_shot_averaging, X[:2], y[:2], workers=3, backend="simulated")
