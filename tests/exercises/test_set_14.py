"""Exercises 14: ASHA's rule in the library's search, coordinators that go wrong, grids that run."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest

from course_lib.checks.lecture_14.asha_next import TASK as NEXT
from course_lib.checks.lecture_14.lost_or_twice import TASK as LOST
from course_lib.checks.lecture_14.predict_serving import TASK as SERVING
from course_lib.comm.launch import run
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.lectures import lecture_14
from course_lib.search import Asha, Outcome, SuccessiveHalving
from tests.exercises.answers import handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_14", solved=True)


@pytest.mark.parametrize(("n", "most", "eta"), [(9, 9, 3), (16, 8, 2), (20, 16, 4), (5, 3, 3)])
def test_the_rule_hands_out_what_the_librarys_asha_does(
    n: int, most: int, eta: int, solutions: dict[str, Any]
) -> None:
    library = Asha(n, 1, most, eta)
    mine = lecture_14.ByRule(solutions["asha_next"], n, 1, most, eta)
    under_way, n_promoted = [], 0
    while True:
        job = library.next_job()
        assert mine.next_job() == job
        if job is not None:
            under_way.append(job)
            n_promoted += job.resource > 1
        if not under_way:
            break
        if job is None or len(under_way) == 4:
            done = under_way.pop(len(under_way) // 2)
            outcome = Outcome(done, (done.trial * 7 % n) / n + 1 / done.resource)
            for strategy in (library, mine):
                strategy.tell(outcome)
    assert n_promoted >= n // eta


def test_cases_ask_for_promotions_from_every_rung_for_new_trials_and_for_none() -> None:
    said = [NEXT.expected(case, [NEXT.arguments(case, 0, 0)])[0] for case in NEXT.cases(1)]
    assert {len(pair) for pair in said} == {0, 2}
    assert {pair[1] for pair in said if pair} >= {0, 1, 2}


@pytest.mark.parametrize("secret", range(8))
def test_a_careful_coordinator_loses_nothing_and_the_others_do_what_they_are_called(
    secret: int,
) -> None:
    for case in LOST.cases(secret):
        (wrong,) = LOST.expected(case, [LOST.arguments(case, 0, 0)])
        whys = {why for _, why in wrong}
        if "careful" in case.label:
            assert not wrong
        elif "forgets" in case.label:
            assert whys == {"lost"}
        elif "gives out twice" in case.label or "impatient" in case.label:
            assert whys == {"twice"}


def test_the_history_has_every_loss_that_the_coordinator_was_told() -> None:
    trace = lecture_14.played("a careful one", {2: (1.5, 2.5)})
    history = lecture_14.history_of(trace)
    assert sorted(trial for what, _, trial in history if what == "loss") == list(range(8))
    assert [record for record in history if record[0] == "died"] == [("died", 2, -1)]
    given = [trial for what, _, trial in history if what == "given"]
    assert len(given) == 9, "the trial of the dead was given out again"


@pytest.mark.parametrize("name", lecture_14.COORDINATORS)
def test_a_search_ends_where_its_last_job_is_lost_while_a_worker_waits(name: str) -> None:
    trace = lecture_14.played(name, {1: (2.003, 2.254), 3: (2.493, 3.434)})
    losses = [trial for what, _, trial in lecture_14.history_of(trace) if what == "loss"]
    assert (set(losses) == set(range(8))) == (name != "one that forgets")


@pytest.mark.parametrize("numbers", [(2, 2, 700, 50, 7), (3, 2, 250, 250, 10)])
def test_what_is_served_is_what_the_formulas_say(
    numbers: tuple[int, ...], solutions: dict[str, Any]
) -> None:
    assert SERVING.measure(*numbers) == solutions["predict_serving"](*numbers)
    others = (*numbers[:3], 0, numbers[4])
    assert SERVING.measure(*others)["first_us"] < SERVING.measure(*numbers)["first_us"]


def test_the_first_rung_promotes_at_most_all_but_the_two_worst() -> None:
    """The answer in task 1: 25 of 27; and no order of six losses promotes more than four."""

    def promoted(losses: Sequence[float]) -> list[int]:
        strategy, found = Asha(len(losses), 1, 3), list[int]()
        while (job := strategy.next_job()) is not None:
            strategy.tell(Outcome(job, losses[job.trial]))
            found += [job.trial] if job.resource == 3 else []
        return found

    assert promoted([27.0 - trial for trial in range(27)]) == list(range(2, 27))
    assert len(promoted([float(trial) for trial in range(27)])) == 9, "as many as halving"
    assert max(len(promoted(losses)) for losses in permutations(map(float, range(6)))) == 4


def test_a_rung_without_a_lost_trial_is_never_complete_and_one_counted_twice_too_early() -> None:
    """The answer in task 2: what halving makes of both."""

    def searched(name: str) -> list[Outcome]:
        return run(
            lecture_14.coordinators._search_with, lecture_14.COORDINATORS[name],
            SuccessiveHalving(8, 1, 2, 2), workers=4, backend="simulated", survive=True,
            faults=Faults([Crash(2, 1.5, 2.5)]), network=lecture_14.coordinators._NETWORK,
        ).values[0]  # fmt: skip

    lost = searched("one that forgets")
    assert {outcome.job.resource for outcome in lost} == {1}
    assert len({outcome.job.trial for outcome in lost}) == 7
    jobs = [tuple(outcome.job) for outcome in searched("one that gives out twice")]
    second_rung = next(k for k, (_, resource) in enumerate(jobs) if resource == 2)
    assert jobs.count((1, 1)) == 2
    assert (7, 1) in jobs[second_rung:], "its loss comes in when the second rung has begun"
    careful = searched("a careful one")
    assert [outcome.job.resource for outcome in careful] == [1] * 8 + [2] * 4
