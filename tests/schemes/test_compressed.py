"""Compressed gradients: nothing is lost, bytes are as said, and without a residual they stall."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.compression import PowerSGD, Sign, TopK
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.models.model import Layer
from course_lib.schemes import compressed, data_parallel
from course_lib.training import Plan

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(96, 7)), RNG.integers(0, 5, size=96)
MODEL = mlp(7, 5, 5)  # 5 x 7, 5, 5 x 5 and 5 numbers
PLAN = Plan(learning_rate=0.2, batch_size=24, epochs=5)
COMPRESSORS = [TopK(9), Sign(), PowerSGD(2)]
LOSSLESS = [TopK(MODEL.n_parameters), PowerSGD(5)]
names = pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)


def trained(scheme, workers=4, **options):
    task = partial(scheme, **options)
    values = run(task, MODEL, X, Y, PLAN, workers=workers, backend="simulated").values
    assert len({value.w.tobytes() for value in values}) == 1
    return values[0].w


def streamed(comm, compressor, layers, vectors, error_feedback=True):
    """Compress vector after vector, as the scheme does; return all sums, and what is left over."""
    w = np.zeros(vectors.shape[2])
    residual, memory = w * 0, compressor.start(w, layers, 0)
    totals = []
    for own in vectors[comm.rank]:
        vector = own + residual
        total, sent = compressor.add_up(comm, vector, layers, memory)
        if error_feedback:
            residual = vector - sent
        totals.append(total)
    return np.array(totals), residual


def in_stream(compressor, vectors, layers=MODEL.layers, **options):
    task = partial(streamed, **options)
    given_to = compressor, layers, vectors
    values = run(task, *given_to, workers=len(vectors), backend="simulated").values
    for totals, _ in values:
        assert totals.tobytes() == values[0][0].tobytes()
    return values[0][0], np.array([residual for _, residual in values])


@names
@settings(max_examples=10, deadline=None)
@given(size=st.integers(1, 8), seed=st.integers(0, 100))
def test_what_was_sent_and_what_is_left_over_add_up_to_the_gradients(compressor, size, seed):
    vectors = np.random.default_rng(seed).normal(size=(size, 6, MODEL.n_parameters))
    totals, residuals = in_stream(compressor, vectors)
    found = totals.sum(axis=0) + residuals.sum(axis=0)
    # 48 numbers of about 1, and what was made of them, in another order.
    np.testing.assert_allclose(found, vectors.sum(axis=(0, 1)), rtol=0, atol=1e-12)
    # The likely mistake: the residual is not added to the next vector, and so is only the last.
    without, _ = in_stream(compressor, vectors, error_feedback=False)
    assert np.abs(without.sum(axis=0) - vectors.sum(axis=(0, 1))).max() > 1e-2


@pytest.mark.parametrize("compressor", LOSSLESS, ids=str)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_a_compressor_that_leaves_nothing_out_is_data_parallel(compressor, size):
    found = trained(compressed, size, compressor=compressor)
    expected = trained(data_parallel, size)
    # 20 steps, in which sums are made in another order; factors round to some 1e-15.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    fewer = trained(compressed, size, compressor=type(compressor)(4))
    assert np.abs(fewer - expected).max() > 1e-4


def expected_bytes(compressor, size, n_bytes=8):
    """Return the bytes that a rank sends in a step, or all of them where they differ."""
    n, others = MODEL.n_parameters, size - 1
    if isinstance(compressor, TopK):
        return size * others * compressor.k * (n_bytes + 4)
    if isinstance(compressor, Sign):
        return size * others * (-(-n // 8) + n_bytes)
    thin = compressor.rank * (5 + 7 + 5 + 5)
    return 2 * others * (thin + 5 + 5) * n_bytes  # two rings of all-reduce, biases as they are


def test_bytes_and_messages_on_the_wire_are_those_of_the_formulas(world):
    size, steps, n = 4, 4, MODEL.n_parameters
    plan = Plan(learning_rate=0.2, batch_size=24)
    for compressor in COMPRESSORS:
        task = partial(compressed, compressor=compressor)
        trace = world(task, MODEL, X, Y, plan, workers=size).trace
        first = (size - 1) * 8 * n
        sent = first + steps * expected_bytes(compressor, size)
        assert sum(trace.bytes_sent()) == sent
        rounds = 4 if isinstance(compressor, PowerSGD) else 2
        assert trace.n_messages == (size - 1) + steps * rounds * (size - 1) * size


def test_float32_counts_four_bytes():
    model = mlp(7, 5, 5, dtype="float32")
    for compressor in COMPRESSORS:
        task = partial(compressed, compressor=compressor)
        plan = Plan(learning_rate=0.2, batch_size=96)
        trace = run(task, model, X, Y, plan, workers=2, backend="simulated").trace
        first = 4 * model.n_parameters
        assert sum(trace.bytes_sent()) == first + expected_bytes(compressor, 2, n_bytes=4)


# Without error feedback


def misleading():
    """Two examples whose gradients are long where they cancel, and short where they agree.

    The slopes of half a squared error are (w x - y) times (1, x): at w = 0 they are (1, 10) and
    (1, -10), and the largest number of each is that of x. What is sent adds up to 0.
    """
    return np.array([[10.0], [-10.0]]), np.array([-1.0, -1.0])


def test_top_k_without_error_feedback_never_moves_and_with_it_learns():
    model, (X, y) = LinearRegression(1), misleading()
    plan = Plan(learning_rate=0.01, batch_size=2, epochs=3000)
    found = {}
    for error_feedback in (False, True):
        task = partial(compressed, compressor=TopK(1), error_feedback=error_feedback)
        found[error_feedback] = (
            run(task, model, X, y, plan, workers=2, backend="simulated").values[0].w
        )
    assert found[False].tobytes() == np.zeros(2).tobytes()
    assert model.loss(found[False], (X, y)) == 0.5
    assert model.loss(found[True], (X, y)) < 1e-3


def test_signs_without_error_feedback_stay_on_a_line_and_with_it_leave_it():
    """All slopes have the signs of (1, -1) or its opposite, and the solution lies elsewhere."""
    model = LinearRegression(1)
    X, y = np.array([[-0.8], [-1.25]]), np.array([0.2, -0.25])  # solved by w = (1, 1)
    plan = Plan(learning_rate=0.1, batch_size=1, epochs=2000)
    found = {}
    for error_feedback in (False, True):
        task = partial(compressed, compressor=Sign(), error_feedback=error_feedback)
        found[error_feedback] = (
            run(task, model, X, y, plan, workers=1, backend="simulated").values[0].w
        )
    assert abs(found[False].sum()) < 1e-12  # where it began; at the solution it is 2
    assert model.loss(found[False], (X, y)) > 0.01
    assert model.loss(found[True], (X, y)) < 1e-4


def test_power_sgd_without_error_feedback_forgets_the_direction_that_is_always_the_shorter():
    """Two orthogonal parts: one long that changes its sign, one short that stays."""
    layers = [Layer("fc", slice(0, 4), ((2, 2),))]
    long, short = np.array([10.0, 0, 0, 0]), np.array([0, 0, 0, 1.0])
    steps = 200
    vectors = np.array([[short + (-1) ** step * long for step in range(steps)]])
    with_it, residuals = in_stream(PowerSGD(1), vectors, layers)
    without, _ = in_stream(PowerSGD(1), vectors, layers, error_feedback=False)
    assert np.abs(residuals).max() < 0.2 * steps
    assert with_it[:, 3].sum() > 0.8 * steps  # of the short part, which adds up to ``steps``
    assert without[:, 3].sum() < 0.05 * steps


# What cannot be compressed


@pytest.mark.parametrize(
    ("compressor", "told"),
    [
        (TopK(90), "k must be an int from 1 to 70, got 90"),
        ("topk", r"compressor must be a Compressor, as TopK\(24\), got 'topk'"),
        (PowerSGD, "compressor must be a Compressor, .* got <class "),
        (PowerSGD(6), "rank must be 5 at most for the 5 x 7 weights of fc1, got 6"),
    ],
)
def test_what_does_not_fit_to_the_model_is_refused_before_anything_is_sent(compressor, told):
    with pytest.raises(WorkerError, match=told) as caught:
        trained(compressed, compressor=compressor)
    assert len(caught.value.trace.messages) == 0


@pytest.mark.parametrize("make", [TopK, PowerSGD])
@pytest.mark.parametrize("number", [0, 1.5])
def test_no_numbers_at_all_are_refused_by_name(make, number):
    with pytest.raises((ValueError, TypeError), match=r"(k|rank) must be an int of 1 or more"):
        make(number)


def test_a_model_without_a_matrix_is_added_up_as_it_is():
    model, (X, y) = LinearRegression(1), misleading()
    plan = Plan(learning_rate=0.01, batch_size=2, epochs=5)
    given_to = (model, X, y, plan)
    task = partial(compressed, compressor=PowerSGD(2))
    found = run(task, *given_to, workers=2, backend="simulated").values[0].w
    whole = run(data_parallel, *given_to, workers=2, backend="simulated").values[0].w
    np.testing.assert_allclose(found, whole, rtol=0, atol=1e-15)


def test_layers_say_which_of_their_numbers_are_matrices():
    for model in (MODEL, deep_mlp(7, 5, 5)):
        assert [layer.shapes for layer in model.layers] == [((5, 7), (5,)), ((5, 5), (5,))]
