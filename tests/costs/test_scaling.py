"""T(N) = ceil(B / N) c + T_allreduce(N): where it is least, and whether it pays at all."""

import math
from dataclasses import replace

import pytest

from course_lib.costs import Step, predicted_s

STEP = Step(batch=1024, example_s=6e-3, n_bytes=10**8, alpha_s=2e-5, beta_s_per_byte=8e-10)


@pytest.mark.parametrize("workers", [1, 2, 3, 16, 700, 1024])
def test_a_step_is_the_largest_share_and_an_all_reduce(workers):
    exchange_s = predicted_s("allreduce_ring", workers, 10**8, 2e-5, 8e-10)
    assert STEP.exchange_s(workers) == exchange_s
    assert STEP.time_s(workers) == math.ceil(1024 / workers) * 6e-3 + exchange_s


def test_the_best_number_is_near_the_smooth_function_s_and_moves_with_the_latency():
    sizes = range(1, 1025)
    for alpha_s in (2e-5, 8e-5):
        step = replace(STEP, alpha_s=alpha_s)
        best = step.best(sizes)
        assert all(step.time_s(best) <= step.time_s(size) for size in (best - 1, best + 1))
        assert best == pytest.approx(math.sqrt(1024 * 6e-3 / (2 * alpha_s)), rel=0.2)


def test_of_equally_fast_numbers_the_smallest_is_best():
    free = replace(STEP, n_bytes=0, alpha_s=0.0)
    assert free.best(range(512, 1024)) == 512


def test_what_is_hidden_is_at_most_the_part_that_can_be():
    hidden = replace(STEP, hideable=2 / 3)
    assert hidden.time_s(4) == hidden.compute_s(4)
    assert hidden.time_s(1024) == pytest.approx(STEP.time_s(1024) - 2 / 3 * 6e-3, rel=1e-12)


def test_efficiency_is_the_speed_up_by_the_workers():
    assert STEP.efficiency(1) == 1
    assert STEP.efficiency(16) == pytest.approx(STEP.time_s(1) / STEP.time_s(16) / 16, rel=1e-12)
    assert STEP.grown(16).batch == 16 * 1024
    assert STEP.grown(16).compute_s(16) == STEP.compute_s(1)


def test_a_ring_pays_where_computing_takes_longer_than_twice_the_bytes():
    twice_s = 2 * 10**8 * 8e-10
    enough = replace(STEP, example_s=1.01 * twice_s / 1024, alpha_s=0.0)
    too_little = replace(STEP, batch=64, example_s=0.99 * twice_s / 64, alpha_s=0.0)
    assert enough.breaks_even_at() == 2
    assert too_little.breaks_even_at() is None
