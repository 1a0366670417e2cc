"""Exercises 13: predictions that the executor agrees with, placements, what a placement sends."""

from collections import deque
from typing import Any

import pytest

from course_lib.checks.lecture_13.message_faults import TASK as FAULTS
from course_lib.checks.lecture_13.place_nodes import TASK as PLACE
from course_lib.checks.lecture_13.place_nodes import least_us
from course_lib.checks.lecture_13.predict_makespan import TASK as MAKESPAN
from course_lib.checks.lecture_13.predict_makespan import finished_us
from course_lib.checks.plain import plain
from course_lib.planning.numbered import (
    broken_cutters,
    equal_messages,
    graph_of,
    list_ranks,
    random_nodes,
    run_ranks,
)
from course_lib.planning.planner import plan_exhaustively
from tests.exercises.answers import handed_in

MISLEADING = (((), (0,), (1,), (0,), (2, 3)), (10, 30, 30, 80, 10), 2, 45)


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_13", solved=True)


@pytest.mark.parametrize("secret", range(4))
def test_what_is_predicted_on_paper_is_what_runs(secret: int) -> None:
    for case in MAKESPAN.cases(secret):
        inputs, us, ranks, _, message_us = numbers = case.settings["numbers"]
        done = finished_us(inputs, us, ranks, message_us)
        assert MAKESPAN.measure(*numbers)["makespan_us"] == max(done)


def test_the_first_case_tells_all_mistakes_apart() -> None:
    numbers = MAKESPAN.tried()[0]
    right = MAKESPAN.measure(*numbers)
    for name, alternatives in MAKESPAN.alternatives(*numbers).items():
        told = {(hint_id, number) for hint_id, _, number in alternatives}
        assert len({number for _, number in told}) == len(told)
        assert right[name] not in {number for _, number in told}


@pytest.mark.parametrize("seed", range(4))
def test_the_least_makespan_is_that_of_the_library(seed: int, solutions: dict[str, Any]) -> None:
    inputs, us = random_nodes(seed, 6)
    planned = plan_exhaustively(graph_of(inputs, us), equal_messages(25), 2)
    assert 1e6 * planned.makespan_s == pytest.approx(least_us(inputs, us, 2, 25), rel=1e-9)
    ranks = solutions["place_nodes"](inputs, us, 2, 25)
    assert max(finished_us(inputs, us, ranks, 25)) == least_us(inputs, us, 2, 25)


def test_the_planner_is_beaten_where_the_exercise_says_so(solutions: dict[str, Any]) -> None:
    inputs, us, n_workers, message_us = MISLEADING
    took = {
        name: round(1e6 * run_ranks(inputs, us, ranks, n_workers, message_us).end_s)
        for name, ranks in (
            ("planner", list_ranks(*MISLEADING)), ("mine", solutions["place_nodes"](*MISLEADING)),
        )
    }  # fmt: skip
    assert took == {"planner": 160, "mine": 145}
    assert set(list_ranks(*MISLEADING)) == {0}


def test_which_nodes_must_move_together_is_what_the_answer_says() -> None:
    inputs, us, _, message_us = MISLEADING
    took = {
        moved: max(finished_us(inputs, us, [int(k in moved) for k in range(5)], message_us))
        for moved in ((), (1,), (2,), (3,), (4,), (1, 2), (3, 4), (1, 2, 4))
    }
    assert list(took.values()) == [160, 250, 170, 190, 205, 170, 145, 145]


def test_every_placement_that_is_as_good_is_accepted() -> None:
    case = next(c for c in PLACE.cases(0) if c.label == "two branches")
    arguments = [PLACE.arguments(case, 0, 0)]
    for ranks in ([0, 0, 1, 1], [1, 1, 0, 0], (0, 0, 1, 1)):
        assert PLACE.compare(case, arguments, [ranks]) is None
    for ranks in ([0, 0, 0, 0], [0, 0, 1], [0, 0, 1, 2], [0, 0, True, 1], None):
        assert PLACE.compare(case, arguments, [ranks]) is not None


@pytest.mark.parametrize("label", ["two branches", "one node"])
def test_what_is_no_list_of_ranks_is_told_by_its_type(label: str) -> None:
    case = next(c for c in PLACE.cases(0) if c.label == label)
    arguments, got = [PLACE.arguments(case, 0, 0)], [plain(deque([0]))]
    wrong = PLACE.compare(case, arguments, got)
    assert wrong is not None
    assert wrong.got == "a value of type deque"
    hint = PLACE.explain(case, arguments, got, wrong)
    assert hint is not None
    assert hint.id == "a-rank-each"


def test_what_broken_programs_send_is_told_and_a_right_one_passes(
    solutions: dict[str, Any],
) -> None:
    inputs, ranks = ((), (0,), (0,), (0,), (1, 2, 3)), (0, 1, 1, 2, 0)
    sent = [
        (int(m.tag), m.src, m.dst)
        for m in run_ranks(inputs, (10,) * 5, ranks, 3, 5).messages
        if isinstance(m.tag, str)
    ]
    find = solutions["message_faults"]
    assert find(inputs, ranks, sent) == {"missing": [], "needless": []}
    found = {name: find(inputs, ranks, s) for name, s in broken_cutters(inputs, ranks).items()}
    assert found["by node"] == {"missing": [(0, 0, 2)], "needless": []}
    assert found["by edge"] == {"missing": [], "needless": [(0, 0, 1)]}
    assert found["to all"]["missing"] == []
    assert len(found["to all"]["needless"]) == 3
    assert {case.label for case in FAULTS.cases(0)} >= {"all is well", "one is sent twice"}
