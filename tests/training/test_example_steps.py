"""Steps of one example: what is compiled does what is to be read, and its locks keep others out."""

import sys
import threading
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from course_lib.training.example_steps import compiled_steps, rows_of, steps
from course_lib.training.locks import LINE, Locks, compiled_exchange, compiled_take


def rows(n_rows=60, n_columns=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.05)
    X[3] = 0  # a row that stores nothing
    return rows_of(csr_matrix(X), rng.integers(0, 2, n_rows))


@pytest.mark.parametrize("shift", [63, 5])
@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_what_is_compiled_does_what_is_to_be_read(shift, locked, counted):
    data, order = rows(), np.random.default_rng(1).permutation(60).astype(np.uint64)
    words = np.zeros(7 * LINE, np.int64) if locked else None
    found = []
    for loop, lock in ((steps, None), (compiled_steps(), words)):
        w, seen = np.zeros(201), np.zeros(200, np.int64) if counted else None
        losses = [loop(w, data, order, 0.5, np.uint64(shift), lock, seen) for _ in range(3)]
        found.append((w, losses, seen))
    (w, losses, seen), (other_w, other_losses, other_seen) = found
    # Sums of few numbers in the same order; the exponential functions differ in the last bit.
    np.testing.assert_allclose(other_w, w, rtol=0, atol=1e-14)
    np.testing.assert_allclose(other_losses, losses, rtol=1e-13)
    if counted:
        np.testing.assert_array_equal(other_seen, seen)
        assert seen.sum() == 3 * len(data.values)
    if locked:
        assert not words.any()  # all have been given back
    w_of_other_order = np.zeros(201)
    for _ in range(3):
        steps(w_of_other_order, data, order[::-1].copy(), 0.5)
    assert np.abs(w_of_other_order - w).max() > 1e-3


def test_margins_that_would_overflow_do_not():
    data = rows_of(csr_matrix([[1e4], [-1e4]]), np.array([0, 1]))
    for loop in (steps, compiled_steps()):
        w = np.array([0.0, 1.0])
        assert loop(w, data, np.arange(2, dtype=np.uint64), 0.0) == 2e4
        np.testing.assert_array_equal(w, [0, 1])


def test_a_lock_keeps_threads_apart():
    """A compiled loop lets go of the interpreter, so that they really run at the same time."""
    import numba

    exchange, take = compiled_exchange(), compiled_take()

    def add(words, number, n_times):
        for _ in range(n_times):
            take(words, np.uint64(1))
            number[0] += 1
            exchange(words, np.uint64(1), 0)

    add = numba.njit(nogil=True)(add)
    words, number = np.zeros(2 * LINE, np.int64), np.zeros(1)
    threads = [threading.Thread(target=add, args=(words, number, 50_000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert number[0] == 4 * 50_000


def test_who_waits_long_for_a_lock_sleeps_and_who_gets_it_at_once_counts_no_references():
    """Its holder may be waiting for the very processor, and most locks are free."""
    import numba

    take = compiled_take()
    assert "call void @NRT_incref" not in "".join(take.inspect_llvm().values())
    wait = numba.njit("void(int64[::1])", nogil=True)(lambda words: take(words, np.uint64(0)))
    words, took_s = np.zeros(LINE, np.int64), []

    def waits():
        before = time.perf_counter(), time.thread_time()
        wait(words)
        took_s.extend(np.subtract((time.perf_counter(), time.thread_time()), before))

    locks = Locks(words)
    assert locks.try_take(0)
    waiting = threading.Thread(target=waits)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    locks.release(0)
    waiting.join()
    assert not locks.try_take(0), "it has the lock now"
    wall_s, processor_s = took_s
    assert wall_s > 0.1
    if sys.platform != "win32":  # where it only gives its turn away
        assert processor_s < 0.4 * wall_s


def test_who_finds_a_lock_taken_does_not_get_it_and_others_are_free():
    locks = Locks(np.zeros(3 * LINE, np.int64))
    assert locks.try_take(1)
    assert not locks.try_take(1)
    assert locks.try_take(2)
    locks.release(1)
    assert locks.try_take(1)
    assert locks.words[::LINE].tolist() == [0, 1, 1]
