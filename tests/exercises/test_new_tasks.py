"""Tasks whose cases are drawn: what is planted shows, whatever is drawn."""

import numpy as np
import pytest

from course_lib.checks.lecture_01.minibatches import _wrong_chances
from course_lib.checks.lecture_01.tuned_batch import TASK as TUNED
from course_lib.checks.lecture_03.diagnose_curve import TASK as CURVE
from course_lib.checks.lecture_06.order_exchanges import TASK as ORDER
from course_lib.checks.lecture_06.order_exchanges import _by_need


@pytest.mark.parametrize("secret", range(20))
def test_planted_mistake_is_what_the_spec_says_of_the_curves(secret: int) -> None:
    for case in CURVE.cases(secret):
        losses, alone = CURVE.arguments(case, 0, 0)
        wrong, first = case.settings["wrong"], losses[:, :1]
        apart = (losses != first).any(axis=1)
        change, right = abs(losses[1, 0] - losses[0, 0]), abs(alone[1] - alone[0])
        assert apart[0] == (wrong == "no broadcast")
        assert apart.any() == (wrong in ("no broadcast", "no all-reduce"))
        if not apart.any():
            alike = np.allclose(losses[:, 0], alone, rtol=1e-9, atol=0)
            assert alike == (wrong == "fine")
            far = 1.0 if "by_hand" in case.settings else 1.1  # by hand, it may be a last digit
            assert alike or (change > far * right) == (wrong == "sum for mean")
            assert alike or (right > far * change) == (wrong == "divided twice")
    climbing = next(case for case in CURVE.cases(secret) if "climbs" in case.settings["special"])
    losses, _ = CURVE.arguments(climbing, 0, 0)
    assert losses[1, 0] > losses[0, 0]


def test_best_rate_is_at_the_edge_where_it_is_said_to_be() -> None:
    for case in TUNED.cases(3):
        steps, _, rates, *_ = given = TUNED.arguments(case, 0, 0)
        answer, edge = TUNED.expected(case, [given])[0], case.settings.get("edge", "")
        assert steps.shape[1] == len(rates)
        if edge:
            assert answer["best_rate"] == rates[0 if edge == "first" else -1]
            assert answer["rate_at_edge"]


def test_some_order_is_better_than_that_of_need_and_the_lectures_takes_19_ms() -> None:
    cases = [*ORDER.cases(2)]
    answers = [ORDER.expected(case, [ORDER.arguments(case, 0, 0)])[0] for case in cases]
    assert answers[0]["order"] == [2, 0, 1]
    assert answers[0]["seconds"] == pytest.approx(19e-3)
    assert any(
        answer["order"] != _by_need(*ORDER.arguments(case, 0, 0)[:2])
        for case, answer in zip(cases, answers, strict=True)
    )


@pytest.mark.slow
def test_twenty_times_300_shuffles_are_never_taken_for_half_shuffled_ones() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        epochs = [np.split(rng.permutation(12), 4) for _ in range(300)]
        assert _wrong_chances(epochs, 12, 3) == ""
    half = [np.split(np.r_[rng.permutation(6), 6 + rng.permutation(6)], 4) for _ in range(300)]
    assert "is in batch" in _wrong_chances(half, 12, 3)
