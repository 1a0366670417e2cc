"""MapReduce equals one process, costs what its docstring says, weighs unequal shards rightly."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.data.diabetes import load_diabetes
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import gradient_descent, map_reduce
from course_lib.training import Plan, Training
from course_lib.training.shards import split_evenly

PLAN = Plan(0.1, epochs=100)  # each of one step

TOLERANCE = 1e-12  # a few hundred roundings of 1.1e-16, over 100 steps that shrink errors


def relative_error(found: Any, expected: Any) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def mean_of_means(comm: Any, X: Any, y: Any, plan: Plan) -> Any:
    """The likely mistake: every shard's mean gradient counts the same, whatever its size."""
    rows = split_evenly(len(y), comm.size)[comm.rank]
    model = LinearRegression(X.shape[1])
    w = model.initial()
    for _ in range(plan.epochs):
        _, grad = model.gradient(w, (X[rows], y[rows]))
        if comm.rank == 0:
            for src in range(1, comm.size):
                comm.recv(src, out=grad, op="sum")
            w = w - plan.learning_rate * grad / comm.size
            for dst in range(1, comm.size):
                comm.send(w, dst)
        else:
            comm.send(grad, 0)
            w = comm.recv(0)
    return Training(w, [])


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    examples = load_diabetes()
    return examples.X_train, examples.y_train


@pytest.mark.parametrize("workers", range(1, 9))
@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_equals_one_process_after_100_steps(data: Any, workers: int, backend: str) -> None:
    expected = gradient_descent(*data, PLAN).w
    values = run(map_reduce, *data, PLAN, workers=workers, backend=backend).values
    assert len(values) == workers
    for w, _ in values:
        assert relative_error(w, expected) < TOLERANCE


@pytest.mark.parametrize("workers", [3, 7])
def test_unequal_shards_weigh_rightly_and_the_mean_of_means_does_not(
    data: Any, workers: int
) -> None:
    X, y = data[0][:23], data[1][:23]  # 23 rows: shards of 7, 8, 8 and of 3 and 4
    expected = gradient_descent(X, y, PLAN).w
    right = run(map_reduce, X, y, PLAN, workers=workers, backend="simulated").values[0].w
    wrong = run(mean_of_means, X, y, PLAN, workers=workers, backend="simulated").values[0].w
    assert relative_error(right, expected) < TOLERANCE
    assert relative_error(wrong, expected) > 1e6 * TOLERANCE


def test_the_mean_of_means_is_right_for_equal_shards_only(data: Any) -> None:
    expected = gradient_descent(*data, PLAN).w  # 400 rows, 4 x 100: this is why the mistake hides
    values = run(mean_of_means, *data, PLAN, workers=4, backend="simulated").values
    assert relative_error(values[0].w, expected) < TOLERANCE


@given(rows=st.integers(1, 12), workers=st.integers(1, 8), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_any_number_of_rows_for_any_number_of_workers(rows: int, workers: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, 3)), rng.normal(size=rows)
    plan = Plan(0.05, epochs=10)
    expected = gradient_descent(X, y, plan).w
    for w, _ in run(map_reduce, X, y, plan, workers=workers, backend="simulated").values:
        assert relative_error(w, expected) < TOLERANCE


@pytest.mark.parametrize("backend", ["simulated", "processes"])
@pytest.mark.parametrize("workers", [1, 2, 4, 5])
def test_messages_and_bytes_of_a_step_equal_the_formula(
    data: Any, workers: int, backend: str
) -> None:
    trace = run(map_reduce, *data, Plan(epochs=1), workers=workers, backend=backend).trace
    n_bytes = 8 * 11  # ten features and the intercept, float64
    assert trace.n_messages == 2 * (workers - 1)
    assert trace.n_bytes == 2 * (workers - 1) * n_bytes
    assert trace.messages_received() == [workers - 1] + [1] * (workers - 1)
    assert trace.messages_sent() == [workers - 1] + [1] * (workers - 1)
    assert trace.bytes_received()[0] == (workers - 1) * n_bytes
    assert {m.tag for m in trace.messages if m.dst == 0} <= {"temp"}
    assert {m.tag for m in trace.messages if m.src == 0} <= {"model"}
    assert trace.rounds() == (2 if workers > 1 else 0)


def test_the_noted_partial_losses_add_up_to_the_serial_losses(data: Any) -> None:
    plan = Plan(0.1, epochs=5)
    expected = gradient_descent(*data, plan).losses
    result = run(map_reduce, *data, plan, workers=4, backend="simulated")
    by_rank = [
        [n.value for n in result.trace.notes_named("loss_partial") if n.rank == r] for r in range(4)
    ]
    assert by_rank == [value.losses for value in result.values]
    assert np.allclose(np.sum(by_rank, axis=0), expected, rtol=1e-12, atol=0)


def test_not_a_number_is_carried_to_every_rank() -> None:
    X, y = np.ones((8, 2)), np.ones(8)
    X[5, 1] = np.nan
    for w, _ in run(map_reduce, X, y, Plan(epochs=2), workers=4, backend="simulated").values:
        assert np.isnan(w).any()


@pytest.mark.parametrize(
    ("X", "y", "error", "named"),
    [
        (np.ones((0, 2)), np.ones(0), ValueError, "X must hold at least one example, got 0 rows"),
        (np.ones(4), np.ones(4), ValueError, r"X must have shape .* got \(4,\)"),
        (np.ones((4, 2)), np.ones(3), ValueError, r"y must have shape \(4,\)"),
        (np.array([["a"]]), np.ones(1), TypeError, "X must hold numbers"),
        (
            np.array([[None]]),
            np.ones(1),
            TypeError,
            "X must be a plain array, got one of dtype object",
        ),
    ],
)
def test_unusable_data_is_refused_naming_the_argument(
    X: Any, y: Any, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        gradient_descent(X, y, PLAN)
    with pytest.raises(RuntimeError, match=named):
        run(map_reduce, X, y, PLAN, workers=2, backend="simulated")


def test_momentum_which_the_combiner_does_not_keep_is_refused(data: Any) -> None:
    with pytest.raises(RuntimeError, match="momentum must be 0"):
        run(map_reduce, *data, Plan(momentum=0.5), workers=2, backend="simulated")


def test_a_plan_for_all_examples_warms_up_alike(data: Any) -> None:
    plan = Plan(0.1, batch_size=7, epochs=10, warmup_steps=4)
    found = run(map_reduce, *data, plan, workers=4, backend="simulated").values[0]
    assert relative_error(found.w, gradient_descent(*data, plan).w) < TOLERANCE
    assert relative_error(found.w, gradient_descent(*data, Plan(0.1, epochs=10)).w) > 1e-3
