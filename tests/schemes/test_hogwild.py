"""Hogwild: what is lost is counted, locks lose nothing, and one worker alone is serial SGD."""

from dataclasses import replace
from functools import partial
from threading import Thread

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.data.digits import load_digits
from course_lib.data.text_like import text_like
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import hogwild, hogwild_sparse, serial, train
from course_lib.schemes import hogwild_sparse as scheme_of_sparse
from course_lib.schemes.hogwild import Uneven
from course_lib.training import Adam, Plan
from course_lib.training.checking import LOCKS
from course_lib.training.example_steps import ONE_STRIPE, compiled_steps, rows_of
from course_lib.training.locks import LINE, Locks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 5))
Y = (X @ RNG.normal(size=5) > 0).astype(int)
MODEL = LogisticRegression(5)
PLAN = Plan(0.5, 16, epochs=4, momentum=0.5, seed=1)
TEXT = text_like(200, 1000, 10, seed=1)
READER = LogisticRegression(1000)
TOGETHER = Uneven(most=0.0)
"""All gradients take equally long, so that all ranks load, and store, at the same time."""


def simulated(scheme, *args, workers=4, **options):
    return run(partial(scheme, **options), *args, workers=workers, backend="simulated")


def noted(trace, name):
    return sum(note.value for note in trace.notes_named(name))


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("optimizer", [None, Adam])
def test_one_worker_takes_the_steps_of_serial_sgd_to_the_bit(lock, optimizer):
    options = {} if optimizer is None else {"optimizer": optimizer}
    plan = PLAN if optimizer is None else replace(PLAN, momentum=0.0, learning_rate=0.01)
    for model, examples, y in ((MODEL, X, Y), (READER, TEXT.X, TEXT.y), (mlp(5, 4, 2), X, Y)):
        found = simulated(hogwild, model, examples, y, plan, lock, 3, workers=1, **options)
        expected = run(
            partial(serial, **options), model, examples, y, plan, workers=1, backend="simulated"
        ).values[0]
        assert found.values[0].w.tobytes() == expected.w.tobytes()
        assert found.values[0].losses == expected.losses
        assert noted(found.trace, "lost_updates") == 0
        other = train(model, examples, y, replace(plan, seed=2))
        assert np.abs(other.w - expected.w).max() > 1e-3


def test_what_two_ranks_store_at_the_same_time_is_lost_but_for_the_last():
    """By hand: both load at 0, compute equally long, and store; ties go by rank."""
    plan = Plan(0.5, 48, epochs=1)
    w = MODEL.initial()
    order = next(plan.shares(48)).examples
    parts = [0.5 * MODEL.gradient(w, (X[half], Y[half]))[1] for half in (order[:24], order[24:])]
    result = simulated(hogwild, MODEL, X, Y, plan, workers=2, pace=TOGETHER)
    np.testing.assert_array_equal(result.values[0].w, w - 0.5 * parts[1])
    n_both = np.count_nonzero((parts[0] != 0) & (parts[1] != 0))
    assert n_both >= 5
    assert [note.value for note in result.trace.notes_named("lost_update")] == [n_both]
    assert noted(result.trace, "lost_updates") == n_both
    for lock in ("one", "striped"):
        result = simulated(hogwild, MODEL, X, Y, plan, lock, workers=2, pace=TOGETHER)
        np.testing.assert_allclose(result.values[0].w, w - 0.5 * sum(parts), rtol=0, atol=1e-15)
        assert noted(result.trace, "lost_updates") == 0
        assert "wait for a lock" in {compute.label for compute in result.trace.computes}
    assert np.abs(parts[0]).max() > 1e-3  # what is lost is more than rounding


def test_another_pace_is_another_interleaving_and_the_same_is_the_same_to_the_bit():
    plan = replace(PLAN, learning_rate=0.1)
    runs = [simulated(hogwild, MODEL, X, Y, plan, pace=Uneven(seed, 2.0)) for seed in (1, 1, 2)]
    first, again, other = ((r.values[0].w.tobytes(), r.trace.to_json()) for r in runs)
    assert first == again
    assert first[0] != other[0]
    slow = simulated(hogwild, MODEL, X, Y, plan, pace=lambda rank, _: 9.0 if rank == 2 else 1.0)
    staleness = {rank: [] for rank in range(4)}
    for note in slow.trace.notes_named("staleness"):
        staleness[note.rank].append(note.value)
    assert staleness[2][0] == 3 * 3  # while it computes once, the others take all their steps
    assert max(staleness[0]) < 9


@pytest.mark.parametrize("seed", range(3))
def test_what_stores_overwrite_is_what_is_missing_in_the_end(seed):
    lost = {}
    plan = Plan(0.5, 4, epochs=2)  # an example each
    for name, model, examples, y in (("dense", MODEL, X, Y), ("sparse", READER, TEXT.X, TEXT.y)):
        for lock in LOCKS:
            result = simulated(hogwild, model, examples, y, plan, lock, 3, pace=Uneven(seed, 0.1))
            lost[name, lock] = noted(result.trace, "lost_updates")
            assert noted(result.trace, "lost_update") == lost[name, lock]
            assert len({value.w.tobytes() for value in result.values}) == 1
    assert {number for (_, lock), number in lost.items() if lock != "none"} == {0}
    n_dense = 48 * 2 * 6
    n_sparse = (TEXT.X.nnz + len(TEXT.y)) * 2
    assert lost["dense", "none"] / n_dense > lost["sparse", "none"] / n_sparse


def race(comm, examples):
    """Train by both schemes with every lock; return the losses after it."""
    found = {}
    for lock in LOCKS:
        for name, (rows, y) in examples.items():
            model = LogisticRegression(rows.shape[1])
            plan = Plan(0.1, 2000, epochs=4)
            w = hogwild_sparse(comm, model, rows, y, plan, lock, 8, count=True).w
            found[name, lock] = model.loss(w, (rows, y))
    model, plan = LogisticRegression(5), Plan(0.5, 8, epochs=3)
    for lock in LOCKS:
        found["readable", lock] = model.loss(hogwild(comm, model, X, Y, plan, lock, 3).w, (X, Y))
    return found


@pytest.mark.parametrize(
    "backend", ["simulated", pytest.param("processes", marks=pytest.mark.slow)]
)
def test_locked_no_update_is_lost_and_without_a_lock_it_learns_all_the_same(backend):
    dense = csr_matrix(RNG.normal(size=(4000, 16)) / 4)
    examples = {
        "dense": (dense, (dense @ np.ones(16) > 0).astype(int)),
        "sparse": (TEXT.X, TEXT.y),
    }
    result = run(race, examples, workers=2, backend=backend)
    lost = [note.value for note in result.trace.notes_named("lost_updates")]
    updates = [note.value for note in result.trace.notes_named("updates")]
    assert updates == [4 * 4000 * 16, 4 * TEXT.X.nnz] * 3
    assert len(lost) == 9
    assert lost[2:6] == [0] * 4  # striped, one: counted by the loop
    assert lost[7:] == [0] * 2
    assert min(lost) >= 0
    losses = result.values[0]
    for name in ("dense", "sparse", "readable"):
        for lock in LOCKS:
            assert losses[name, lock] < 0.9 * np.log(2), (name, lock)


def test_one_sparse_worker_ends_where_serial_sgd_does():
    plan = Plan(0.5, 50, epochs=2)
    for lock in LOCKS:
        found = simulated(hogwild_sparse, READER, TEXT.X, TEXT.y, plan, lock, workers=1).values[0]
        expected = train(READER, TEXT.X, TEXT.y, replace(plan, batch_size=1))
        # The compiled exponential function rounds otherwise; 400 steps.
        np.testing.assert_allclose(found.w, expected.w, rtol=0, atol=1e-12)
        assert len(found.losses) == 8
        np.testing.assert_allclose(np.mean(found.losses), np.mean(expected.losses), rtol=1e-12)
    as_they_stand = simulated(
        hogwild_sparse, READER, TEXT.X, TEXT.y, plan, shuffle=False, workers=1
    ).values[0]
    assert np.abs(as_they_stand.w - expected.w).max() > 1e-6


@pytest.mark.slow
def test_digits_are_read_after_three_epochs():
    data, model = load_digits(), mlp(64, 32, 10)
    plan = Plan(0.1, 64, epochs=3, momentum=0.9)
    w = simulated(hogwild, model, data.X_train, data.y_train, plan).values[0].w
    assert (model.predict(w, data.X_test) == data.y_test).mean() >= 0.75
    assert (model.predict(model.initial(), data.X_test) == data.y_test).mean() < 0.3


@pytest.mark.parametrize(
    ("arguments", "options", "told"),
    [
        ((MODEL, X, Y, PLAN), {"lock": "two"}, "lock must be one of none, striped, one, got 'two'"),
        ((MODEL, X, Y, PLAN), {"stripes": 0}, "stripes must be an int of 1 or more, got 0"),
        ((MODEL, X[:0], Y[:0], PLAN), {}, "one at least, got 0 rows"),
        ((MODEL, X, Y, replace(PLAN, clip=1.0)), {}, "clip must be None for hogwild, got 1.0"),
        ((mlp(5, 4, 2), csr_matrix(X), Y, PLAN), {}, "cannot take a sparse X"),
        ((MODEL, coo_matrix(X), Y, PLAN), {}, "X must be a csr_matrix, got coo_matrix"),
    ],
)
def test_what_cannot_be_trained_so_is_refused_by_name(arguments, options, told):
    with pytest.raises(WorkerError, match=told):
        simulated(hogwild, *arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((mlp(5, 4, 2), csr_matrix(X), Y, Plan()), "must be a LogisticRegression, got Perceptron"),
        ((MODEL, X, Y, Plan()), "X must be a csr_matrix, got ndarray"),
        ((READER, csr_matrix(X), Y, Plan()), r"X must have shape \(examples, 1000\)"),
        ((MODEL, csr_matrix(X), Y + 1, Plan()), "y must hold classes, 0 or 1, got 2"),
        ((MODEL, csr_matrix(X), Y, Plan(momentum=0.5)), "momentum must be 0.0 for hogwild_sparse"),
        ((LogisticRegression(5, 0.1), csr_matrix(X), Y, Plan()), "l2 must be 0 for hogwild_sparse"),
        ((MODEL, csr_matrix(X), Y, Plan(), "both"), "lock must be one of"),
    ],
)
def test_so_is_what_cannot_be_learned_one_sparse_example_at_a_time(arguments, told):
    with pytest.raises(WorkerError, match=told):
        simulated(hogwild_sparse, *arguments)


@pytest.mark.parametrize("scheme", [hogwild, hogwild_sparse])
@pytest.mark.parametrize(("by", "told"), [(1, "got 1 to 5; in some files"), (-1, "got -1 to 3")])
def test_columns_beside_a_sparse_example_are_refused_and_nothing_is_written_there(scheme, by, told):
    beside = csr_matrix(X)
    beside.indices = beside.indices + by
    with pytest.raises(WorkerError, match=f"X must have column indices from 0 to 4, {told}"):
        simulated(scheme, MODEL, beside, Y, Plan(0.1, 8, epochs=1))
    torn = csr_matrix(X)
    torn.indptr = torn.indptr[::-1].copy()
    with pytest.raises(WorkerError, match="X must be a csr_matrix that is whole"):
        simulated(scheme, MODEL, torn, Y, Plan(0.1, 8, epochs=1))


@pytest.mark.parametrize("lock", ["one", "striped"])
def test_a_lock_that_a_lost_rank_could_keep_is_refused(lock):
    for scheme, examples in [(hogwild, X), (hogwild_sparse, csr_matrix(X))]:
        with pytest.raises(WorkerError, match="lock must be none in a run with survive=True, got"):
            run(
                partial(scheme, lock=lock), MODEL, examples, Y, Plan(0.1, 8, epochs=1),
                workers=2, backend="simulated", survive=True,
            )  # fmt: skip


@pytest.mark.slow
def test_the_intercept_is_added_under_the_first_lock():
    rows, order = rows_of(csr_matrix((1, 2)), np.array([1])), np.zeros(1, np.uint64)
    w, words, loop = np.zeros(3), np.zeros(LINE, np.int64), compiled_steps()
    loop(w, rows, order[:0], 0.5, ONE_STRIPE, words)  # compiled
    lock = Locks(words)
    assert lock.try_take(0)
    other = Thread(target=loop, args=(w, rows, order, 0.5, ONE_STRIPE, words))
    other.start()
    other.join(0.2)
    waited = other.is_alive(), w[0]
    lock.release(0)
    other.join()
    assert waited == (True, 0)
    assert w[0] == 0.25
    assert lock.try_take(0), "given back"


def test_a_training_that_diverges_is_told():
    def quietly(comm):
        with np.errstate(all="ignore"):
            plan = Plan(500.0, 8, epochs=60)
            return hogwild(comm, LinearRegression(5), X, X @ np.arange(5.0), plan)

    with pytest.raises(WorkerError, match=r"has diverged.* a learning_rate below 500 may help"):
        simulated(quietly)


def test_without_numba_the_loop_to_read_runs_and_says_so_and_locks_are_refused(monkeypatch):
    from course_lib.training import locks

    plan = Plan(0.5, 50)
    compiled = simulated(hogwild_sparse, READER, TEXT.X, TEXT.y, plan, workers=2).values[0].w
    for module in (locks, __import__(scheme_of_sparse.__module__, fromlist=["why_not_compiled"])):
        monkeypatch.setattr(module, "why_not_compiled", lambda: "numba is planted to be missing")
    with pytest.warns(UserWarning, match="planted to be missing: hogwild_sparse runs a hundred"):
        read = simulated(hogwild_sparse, READER, TEXT.X, TEXT.y, plan, workers=2).values[0].w
    np.testing.assert_allclose(read, compiled, rtol=0, atol=1e-12)
    for scheme, data in ((hogwild, (MODEL, X, Y)), (hogwild_sparse, (READER, TEXT.X, TEXT.y))):
        with pytest.raises(WorkerError, match=r'planted.* a lock needs .*lock="none" needs none'):
            simulated(scheme, *data, plan, "one")


class Ones(LogisticRegression):
    def initial(self, seed=0):
        return np.ones(self.n_parameters)


@pytest.mark.parametrize("lock", ["one", "striped"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_weights_decay_as_on_one_process_however_many_step(lock, workers):
    """A column of zeros has no slope: what becomes of its weight is decay alone."""
    examples, plan = np.zeros((60, 4)), Plan(0.1, 6, 2, weight_decay=0.3)
    examples[:, 0] = 1
    made = simulated(
        hogwild, Ones(4), examples, np.array([0, 1] * 30), plan, lock=lock, workers=workers
    )
    decayed = (1 - 0.03) ** 20  # what the likely mistake makes of it: (1 - 0.03) ** 60
    assert made.values[0].w[2:4] == pytest.approx(decayed, rel=0.02)
