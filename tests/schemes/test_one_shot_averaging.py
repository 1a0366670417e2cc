"""One-shot averaging: exact where the shards look alike, something else where they do not."""

import numpy as np
import pytest

from course_lib import run
from course_lib.data.diabetes import load_diabetes
from course_lib.data.two_moons import two_moons
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import one_shot_averaging, one_shot_training, train
from course_lib.training import Plan

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


# Any model


def test_training_alone_and_averaging_once_is_exact_where_the_shards_look_alike(world) -> None:
    """Least squares over the same features: the mean of the ends is the end of the mean."""
    twice = np.vstack([X[:200], X[:200]])
    plan = Plan(learning_rate=0.3, batch_size=200, epochs=50)  # of all of a rank's rows
    values = world(one_shot_training, model, twice, y, plan, workers=2).values
    together = train(model, twice, y, Plan(learning_rate=0.3, batch_size=400, epochs=50))
    for value in values:
        assert value.w.tobytes() == values[0].w.tobytes()
        np.testing.assert_allclose(value.w, together.w, rtol=1e-9)
    losses = np.sum([value.losses for value in values], axis=0)
    assert losses[0] == pytest.approx(together.losses[0], rel=1e-12)
    other = run(one_shot_training, model, X, y, plan, workers=2, backend="simulated").values[0]
    whole = train(model, X, y, Plan(learning_rate=0.3, batch_size=400, epochs=50))
    assert np.abs(other.w - whole.w).max() > 0.1


def test_one_step_is_data_parallel_and_many_of_a_network_are_not() -> None:
    """A network of which each rank has its own half: equal for a step, then no more."""
    rng = np.random.default_rng(0)
    inputs, classes = rng.normal(size=(40, 3)), rng.integers(0, 2, size=40)
    net = mlp(3, 6, 2)

    def distance(epochs: int) -> float:
        local = Plan(learning_rate=0.5, batch_size=20, epochs=epochs)
        together = Plan(learning_rate=0.5, batch_size=40, epochs=epochs)
        alone = run(
            one_shot_training, net, inputs, classes, local, workers=2, backend="simulated"
        ).values[0]
        return float(np.abs(alone.w - train(net, inputs, classes, together).w).max())

    assert distance(epochs=1) < 1e-14
    assert distance(epochs=20) > 0.03


def test_the_mean_of_two_networks_fits_neither_half_as_each_rank_fitted_its_own() -> None:
    """One rank sees the left of the moons, the other the right."""
    inputs, classes = two_moons(200, noise=0.1, seed=3)
    left_to_right = np.argsort(inputs[:, 0])
    inputs, classes = inputs[left_to_right], classes[left_to_right]
    net, plan = mlp(2, 8, 2), Plan(learning_rate=0.5, batch_size=20, epochs=20)
    mean = run(
        one_shot_training, net, inputs, classes, plan, workers=2, backend="simulated"
    ).values[0]
    for half in (slice(100), slice(100, 200)):
        own = train(net, inputs[half], classes[half], plan)
        of_its_rank = net.loss(own.w, (inputs[half], classes[half]))
        assert net.loss(mean.w, (inputs[half], classes[half])) > 2 * of_its_rank
    together = train(net, inputs, classes, plan)
    assert net.loss(mean.w, (inputs, classes)) > 2 * net.loss(together.w, (inputs, classes))


@pytest.mark.parametrize("workers", [1, 3])
def test_training_costs_two_rounds_in_all(workers: int) -> None:
    plan = Plan(batch_size=10, epochs=3)
    result = run(one_shot_training, model, X, y, plan, workers=workers, backend="simulated")
    assert result.trace.n_messages == 2 * (workers - 1)
    assert result.trace.n_bytes == 2 * (workers - 1) * 88
    assert result.trace.rounds() == (2 if workers > 1 else 0)
    with pytest.raises(Exception, match="X must have a row for each of the 3 ranks, got 2"):
        run(one_shot_training, model, X[:2], y[:2], plan, workers=3, backend="simulated")
