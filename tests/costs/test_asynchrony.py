"""Formulas of asynchrony against the thing itself: recursions, matrices, drawn times."""

import math

import numpy as np
import pytest

from course_lib.costs import (
    backup_step,
    delayed_edge,
    implicit_momentum,
    mean_square_edge,
    staleness_chance,
    staleness_sum,
)


def test_chances_are_a_distribution_with_one_less_than_replicas_as_its_mean():
    for replicas in (1, 2, 4, 8):
        chances = [staleness_chance(replicas, k) for k in range(2000)]
        assert math.fsum(chances) == pytest.approx(1, abs=1e-12)
        mean = math.fsum(k * chance for k, chance in enumerate(chances))
        assert mean == pytest.approx(replicas - 1, abs=1e-9)


def test_the_sum_of_staleness_is_right_for_any_order_of_pushes():
    rng = np.random.default_rng(0)
    for _ in range(200):
        replicas = int(rng.integers(1, 7))
        order = [*range(replicas), *rng.integers(0, replicas, size=30).tolist()]
        rng.shuffle(order)
        read, last, total = [0] * replicas, [0] * replicas, 0
        for update, replica in enumerate(order):
            total += update - read[replica]
            read[replica], last[replica] = update + 1, update
        assert total == staleness_sum(last, len(order))


def delayed(replicas, rate, n_updates=40_000):
    w = [1.0] * replicas
    for _ in range(n_updates):
        w = [*w[1:], w[-1] - rate * w[0]]
        if not 1e-9 < max(map(abs, w)) < 1e9:
            break
    return max(map(abs, w))


@pytest.mark.parametrize("replicas", range(1, 17))
def test_a_delay_is_unstable_from_its_edge_on_within_a_thousandth(replicas):
    edge = delayed_edge(replicas)
    assert delayed(replicas, 0.999 * edge) < 1
    assert delayed(replicas, 1.001 * edge) > 1
    assert edge < 1.01 * math.pi / (2 * replicas - 1)


def test_the_edge_of_three_replicas_is_the_golden_ratio():
    assert delayed_edge(3) == pytest.approx((math.sqrt(5) - 1) / 2, abs=1e-15)


def second_moments(P, a):
    """The mean of A x A over whose turn it is: the state is w and the P copies read."""
    total = np.zeros(((P + 1) ** 2,) * 2)
    for j in range(1, P + 1):
        step = np.eye(P + 1)
        step[0, j] -= a
        step[j] = step[0]
        total += np.kron(step, step) / P
    return np.abs(np.linalg.eigvals(total)).max()


@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 6])
def test_the_mean_square_edge_is_that_of_the_whole_matrix(replicas):
    edge = mean_square_edge(replicas)
    assert second_moments(replicas, 0.999 * edge) < 1 < second_moments(replicas, 1.001 * edge)
    known = {1: 2.0, 2: (1 + math.sqrt(17)) / 4, 3: 1.0}
    assert edge == pytest.approx(known.get(replicas, edge), abs=1e-9)


def test_it_lies_above_the_edge_of_a_fixed_delay():
    for replicas in range(2, 17):
        edge = mean_square_edge(replicas)
        assert delayed_edge(replicas) < edge < mean_square_edge(replicas - 1) <= 2


def test_the_momentum_of_one_replica_is_none():
    assert [implicit_momentum(P) for P in (1, 2, 4)] == [0.0, 0.5, 0.75]


@pytest.mark.parametrize(
    ("needed", "backups", "expected"),
    [(4, 0, 2.0833), (4, 1, 1.2833), (8, 0, 2.7179), (8, 2, 1.4290), (96, 4, 3.1040)],
)
def test_a_step_with_backups_is_the_first_of_exponential_times(needed, backups, expected):
    found = backup_step(needed, backups, interrupted=True)
    assert found == pytest.approx(expected, abs=5e-5)
    drawn = np.random.default_rng(0).exponential(size=(20_000, needed + backups))
    first = np.sort(drawn, axis=1)[:, needed - 1].mean()
    assert found == pytest.approx(first, rel=0.01)
    assert backup_step(needed, backups) >= found - 1e-9
    assert (backup_step(needed, backups) > 1.03 * found) == (backups > 0)
    assert abs(backup_step(needed, 0) - found) > 0.2 or backups == 0


def test_late_work_that_is_finished_first_by_hand():
    """One of two is needed: either the fresh one is first, or the late one, and both are fresh."""
    assert backup_step(1, 1) == pytest.approx(1 / 2 + (1 / 2) * (1 / 2))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: delayed_edge(0), "replicas must be an int of 1 or more, got 0"),
        (lambda: mean_square_edge(1.5), "replicas must be an int"),
        (lambda: staleness_chance(2, -1), "staleness must be an int of 0 or more"),
        (lambda: backup_step(4, -1), "backups must be an int of 0 or more"),
        (lambda: backup_step(4, 1, interrupted=1), "interrupted must be True or False"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(call, told):
    with pytest.raises((TypeError, ValueError), match=told):
        call()
