"""Training on one machine, step by step."""

import numpy as np
import pytest

from course_lib import run
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes.serial import gradient_descent, serial, steps_to_loss, train, walk
from course_lib.training import Plan
from course_lib.training.batches import epoch_batches
from course_lib.viz import loss_curve

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = X @ [1.0, -2.0, 0.5] + 1 + 0.1 * rng.normal(size=40)
MODEL = LinearRegression(3)


def test_walking_shows_every_step_of_training():
    plan = Plan(0.1, batch_size=7, epochs=2, momentum=0.5)
    shown = [(loss, w.copy()) for loss, w in walk(MODEL, X, y, plan)]
    trained = train(MODEL, X, y, plan)
    assert [loss for loss, _ in shown] == trained.losses
    assert shown[-1][1].tobytes() == trained.w.tobytes()
    assert len(shown) == 2 * 6
    assert shown[0][1].tobytes() != shown[1][1].tobytes()


def test_a_step_is_taken_with_the_batch_of_its_epoch():
    plan = Plan(0.1, batch_size=7, seed=5)
    w = MODEL.initial()
    for batch, (loss, after) in zip(
        epoch_batches(40, 7, 0, 5), walk(MODEL, X, y, plan), strict=True
    ):
        right_loss, grad = MODEL.gradient(w, (X[batch], y[batch]))
        w = w - 0.1 * grad
        assert loss == right_loss
        assert np.abs(after - w).max() < 1e-15


@pytest.mark.parametrize("workers", [1, 3])
def test_a_rank_notes_its_share_of_the_loss(workers):
    plan = Plan(0.1, batch_size=7, epochs=2)
    result = run(serial, MODEL, X, y, plan, workers=workers, backend="simulated")
    losses = [loss for _, loss in loss_curve(result.trace)]
    np.testing.assert_allclose(losses, train(MODEL, X, y, plan).losses, rtol=1e-15)


def test_no_epoch_leaves_the_first_parameters():
    assert train(MODEL, X, y, Plan(epochs=0)).w.tolist() == [0, 0, 0, 0]


def test_steps_are_counted_until_the_loss_of_all_is_below_the_target():
    plan = Plan(0.1, batch_size=40, epochs=100)
    losses = gradient_descent(X, y, Plan(0.1, epochs=100)).losses  # before each step
    target = 0.01
    first = next(step for step, loss in enumerate(losses) if loss < target)
    assert steps_to_loss(MODEL, X, y, plan, target) == first
    assert steps_to_loss(MODEL, X, y, plan, target, look_every=10) == -(-first // 10) * 10
    assert steps_to_loss(MODEL, X, y, Plan(0.1, 40, epochs=first - 1), target) is None
