"""Exercises 10: what is counted by hand is what memory, simulator and formula have."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from course_lib import checks, run
from course_lib.checks.lecture_10.lock_free import TASK as FREE
from course_lib.checks.lecture_10.lock_free import _follow
from course_lib.checks.lecture_10.losing_order import LEAST
from course_lib.checks.lecture_10.predict_lost import TASK as LOST
from course_lib.lectures.lecture_10 import in_turn, lost_share, outcomes
from tests.exercises.answers import handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_10", solved=True)


@pytest.mark.parametrize("counts", [[2, 2], [2, 3], [4, 4], [2, 2, 2]])
def test_the_least_is_what_no_order_goes_below(counts: list[int], solutions: Any) -> None:
    assert min(outcomes(counts)) == LEAST
    order = solutions["losing_order"](counts)
    assert in_turn(order).kept == solutions["counter_after"](order) == LEAST


def test_what_the_check_expects_is_what_the_simulator_does(solutions: Any) -> None:
    lost = []
    for case in FREE.cases(5):

        def one_call(comm: Any, case: Any = case) -> Any:
            arguments = FREE.arguments(case, comm.rank, 0)
            return FREE.call(solutions["lock_free"], comm, arguments)

        made = run(one_call, workers=case.workers, backend="simulated", network=case.network)  # type: ignore[arg-type]
        given = [FREE.arguments(case, rank, 0) for rank in range(case.workers)]
        w, n_lost = _follow(given)
        lost.append(n_lost)
        for found, n_found in made.values:
            np.testing.assert_array_equal(found, w)
            assert n_found == n_lost
    assert lost[0] > 0
    assert sum(n > 0 for n in lost) >= 5, "without losses nothing is examined"


@pytest.mark.parametrize(("P", "d", "k"), [(1, 5, 2), (2, 6, 3), (3, 6, 4), (4, 7, 2)])
def test_what_is_counted_over_all_draws_is_the_formula(P: int, d: int, k: int) -> None:
    found = LOST.measure(P, d, k)
    assert found["lost_share"] == pytest.approx(lost_share(P, k, d), rel=1e-12)
    assert found["most_lost"] == (P - 1) * k
    by_hand = [len({*columns}) for columns in product(range(d), repeat=P)]
    one = LOST.measure(P, d, 1)["lost_share"]
    assert one == pytest.approx(1 - np.mean(by_hand) / P, rel=1e-12)


def test_a_barrier_for_each_example_is_told() -> None:
    def in_turns(comm: Any, w: Any, touched: Any, gradient: Any, step: Any) -> Any:
        for _ in touched:
            comm.barrier()
        return w, 0

    report = checks.lock_free(in_turns)
    assert report.status == "failed"
    assert "barrier" in repr(report)
