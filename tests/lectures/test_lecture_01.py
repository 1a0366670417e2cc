"""What lecture 01 runs: slices of a loss, clouds of trainings, the U, two ways to cut a table."""

import numpy as np
import pytest

from course_lib import run
from course_lib.data.digits import load_digits
from course_lib.lectures import lecture_01
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.landscape import gradient_spread, sharpest, sharpness
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.training import Plan

DIGITS = load_digits()
DATA = DIGITS.X_train[:128], DIGITS.y_train[:128]
MODEL = mlp(64, 8, 10)
ENDS = MODEL.initial(0), MODEL.initial(1), MODEL.initial(2)
RNG = np.random.default_rng(1)
LINE = RNG.normal(size=(40, 1)), RNG.normal(size=40)


def test_a_slice_keeps_lengths_and_has_the_corners_in_it():
    plane = lecture_01.Slice(MODEL, DATA, ENDS)
    far = [np.linalg.norm(w - ENDS[0]) for w in ENDS]
    assert [np.linalg.norm(plane.place(w)) for w in ENDS] == pytest.approx(far)
    for w in ENDS:
        assert plane.at(plane.place(w)) == pytest.approx(w)
    there = plane.loss(*plane.place(ENDS[2])[:, None])
    assert there == pytest.approx([MODEL.loss(ENDS[2], DATA)])


def test_going_downhill_in_a_slice_stays_in_it_and_goes_down():
    plane = lecture_01.Slice(MODEL, DATA, ENDS)
    path = plane.descend(plane.place(ENDS[2]), 1.0, 10)
    losses = plane.loss(*path.T)
    assert path.shape == (11, 2)
    assert (np.diff(losses) < 0).all()
    nudged = [plane.loss(*(path[0] + nudge)) for nudge in (1e-4 * np.eye(2))]
    slope = (np.array(nudged) - losses[0]) / 1e-4
    assert path[0] - path[1] == pytest.approx(slope, rel=1e-2)


def test_the_twin_is_the_same_function_and_sharper():
    twin = lecture_01.rescaled(MODEL, ENDS[0], 20.0)
    same = MODEL.outputs(ENDS[0], DATA[0]).numpy()
    assert MODEL.outputs(twin, DATA[0]).numpy() == pytest.approx(same, abs=1e-12)
    assert sharpness(MODEL, twin, DATA) > 20 * sharpness(MODEL, ENDS[0], DATA)
    unequal = ENDS[0] * 20.0
    assert np.abs(MODEL.outputs(unequal, DATA[0]).numpy() - same).max() > 0.1
    with pytest.raises(ValueError, match="factor must be above 0, got 0"):
        lecture_01.rescaled(MODEL, ENDS[0], 0)
    with pytest.raises(ValueError, match="model must have two layers, got 1"):
        lecture_01.rescaled(mlp(64, 10), mlp(64, 10).initial(), 2.0)


def test_the_steepest_direction_has_length_one_and_the_curvature_that_is_said():
    smooth = mlp(64, 10)  # without the kinks of ReLU
    w = smooth.initial()
    curvature, direction = sharpest(smooth, w, DATA)
    assert np.linalg.norm(direction) == pytest.approx(1)
    losses = [smooth.loss(w + s * direction, DATA) for s in (-1e-3, 0, 1e-3)]
    assert (losses[0] - 2 * losses[1] + losses[2]) / 1e-6 == pytest.approx(curvature, rel=0.01)
    shown = lecture_01.valley(smooth, w, DATA, "and more").chart
    assert shown["said"] == f"curvature {curvature:,.0f}; and more"


def test_trainings_start_together_and_part_unless_a_batch_has_all():
    plan = Plan(0.1, batch_size=4)
    paths = lecture_01.trainings(LinearRegression(1), LINE, plan, n_steps=5, n_times=3)
    assert paths.shape == (3, 6, 2)
    assert np.ptp(paths[:, 0], axis=0).max() == 0 < np.ptp(paths[:, 5], axis=0).min()
    of_all = lecture_01.trainings(LinearRegression(1), LINE, Plan(0.1, batch_size=400), 5, 3)
    assert np.ptp(of_all, axis=0).max() < 1e-12


def test_the_noise_scale_is_spread_over_squared_length():
    found = lecture_01.noise_scales(MODEL, DATA, Plan(1e-9, 64), looks=[2], n_examples=128)
    gradients, spread = gradient_spread(MODEL, MODEL.initial(), DATA)
    expected = spread / np.sum(gradients.mean(axis=0) ** 2)
    assert found == {2: pytest.approx(expected, rel=1e-4)}


def test_beside_the_saddle_at_zero_the_loss_stands_still_and_then_falls():
    usual = lecture_01.off_a_plateau(MODEL, DATA, Plan(0.5, 16, epochs=50), 1.0, 1.5)
    beside = lecture_01.off_a_plateau(MODEL, DATA, Plan(0.5, 16, epochs=50), 0.03, 1.5)
    assert max(usual[-1][1], beside[-1][1]) < 1.5
    assert len(beside) > 1.5 * len(usual)
    (_, first), (_, later) = beside[0], beside[len(beside) // 4]
    assert abs(first - later) < 0.1 * (first - beside[-1][1])


def test_the_bottom_of_the_u_is_where_the_formula_says():
    step = lecture_01.StepTime(fixed_s=200e-6, example_s=2e-6)
    sizes = np.arange(1, 400)
    time_s = (1 + 25 / sizes) * np.array([step.of(size) for size in sizes])
    assert step.best_batch(25) == 50 == sizes[time_s.argmin()]
    fitted = lecture_01.fit_step_time([1, 4, 64], [step.of(size) for size in (1, 4, 64)])
    assert fitted == pytest.approx(step)
    assert lecture_01.fit_step_time([1, 2], [1.0, 0.5]).example_s > 0


def test_steps_are_counted_at_the_best_rate_and_again_on_a_machine():
    n_steps, rate = lecture_01.best_steps(MODEL, DATA, 16, target=1.5, seeds=(0,))
    plan = Plan(rate, 16, epochs=50)
    step = lecture_01.StepTime(1e-3, 1e-5)
    task = lecture_01.on_a_machine, MODEL, DATA, plan, step, 1.5
    made = run(*task, workers=1, backend="simulated")
    assert made.values[0] == n_steps
    assert len(made.trace.notes_named("loss_partial")) == n_steps + 1
    worse = run(lecture_01.on_a_machine, MODEL, DATA, Plan(rate / 4, 16, epochs=50), step, 1.5,
                workers=1, backend="simulated")  # fmt: skip
    assert worse.values[0] > n_steps


def test_the_u_chart_marks_the_prediction_and_says_what_it_is_for():
    stated = lecture_01.StepTime(200e-6, 2e-6)
    drawn = lecture_01.time_chart({1: 100, 64: 10, 256: 9}, {"stated": stated}, 25.0).chart
    assert drawn["points"][0][:2] == ["predicted: 50", 50.0]
    assert min(drawn["lines"][0]["y"]) == 1
    assert "predicted 50, shortest of the six at 64" in drawn["said"]


@pytest.mark.parametrize(("cut", "n_bytes"), [("by_rows", 3 * 8), ("by_columns", 40 * 8)])
def test_both_cuts_give_the_gradient_and_send_what_they_say(cut, n_bytes):
    X, w = RNG.normal(size=(40, 3)), RNG.normal(size=3)
    made = run(getattr(lecture_01, cut), (X, LINE[1]), w, workers=2, backend="simulated")
    found = made.values[0] if cut == "by_rows" else np.concatenate(made.values)
    assert found == pytest.approx(X.T @ (X @ w - LINE[1]))
    assert made.trace.bytes_sent() == [n_bytes] * 2
    with pytest.raises(Exception, match="workers must be 2, got 3"):
        run(getattr(lecture_01, cut), (X, LINE[1]), w, workers=3, backend="simulated")


def test_a_step_in_pieces_is_the_gradient_in_the_order_of_back_propagation():
    chain = deep_mlp(64, 16, 16, 10)
    made = run(lecture_01.one_step, chain, DATA, chain.initial(), workers=1, backend="simulated")
    order, gradient = made.values[0]
    assert gradient == pytest.approx(chain.gradient(chain.initial(), DATA)[1], abs=1e-15)
    forward = ["forward fc1", "forward fc2", "forward fc3"]
    back = [f"{what} gradient fc{k}" for k in (3, 2, 1) for what in ("weight", "input")][:-1]
    assert order == forward + back == [span.label for span in made.trace.computes]
