"""Exercises 09: orders that are kept, formulas that agree with runs, histories of real servers."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from course_lib import checks, run
from course_lib.checks.lecture_09.applied_twice import SERVERS
from course_lib.checks.lecture_09.asynchronous_server import SLOT_S
from course_lib.checks.lecture_09.asynchronous_server import TASK as SERVER
from course_lib.checks.lecture_09.predict_edge import TASK as EDGE
from course_lib.costs.asynchrony import delayed_edge, implicit_momentum
from course_lib.lectures.lecture_09 import (
    RETURNED,
    ages,
    history_of,
    landed,
    on_bowl,
    pace,
    push_and_repeat,
)
from course_lib.schemes import bounded_staleness
from tests.exercises.answers import handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_09", solved=True)


@pytest.mark.parametrize("P", [1, 2, 3, 4, 6, 8])
def test_what_is_measured_is_what_the_formulas_say(P: int) -> None:
    found = EDGE.measure(P, 4)
    assert found["mean_staleness"] == P - 1
    assert found["largest_rate"] == pytest.approx(delayed_edge(P) / 4, rel=1e-10)
    assert found["momentum"] == pytest.approx(implicit_momentum(P), abs=1e-11)


def test_the_highest_number_is_enough_for_the_pushes_of_the_exercise() -> None:
    sent = {1: [0, 1, 1, 0, 2], 2: [0, 1, 0, 1], 3: [0, 0, 0, 1]}

    def above(seen: list[tuple[int, int]], rank: int, number: int) -> bool:
        return number > max((n for src, n in seen if src == rank), default=-1)

    for applies, updates in ((above, 7), (SERVERS["a forgetful server"], 10)):
        served = run(push_and_repeat, sent, applies, workers=4, backend="simulated")
        assert served.values[0] == updates


@pytest.mark.parametrize("times", ["equal", "random", "straggler"])
def test_ages_from_the_order_are_those_that_a_server_notes(
    times: str, solutions: dict[str, Any]
) -> None:
    trace = on_bowl(RETURNED, 3, 30, pace(3, times)).trace
    order = {number: rank for rank, numbers in landed(trace).items() for number in numbers}
    assert solutions["staleness_of"]([order[k] for k in range(30)]) == ages(trace)


def test_the_bound_lets_nobody_lead_by_more_as_in_the_library(solutions: dict[str, Any]) -> None:
    trace = on_bowl(bounded_staleness, 3, 30, pace(3, "straggler")).trace  # its bound is 1
    leads = [note.value for note in trace.notes_named("lead")]
    assert max(leads) == 1
    may = solutions["who_may_read"]
    for lead in range(4):
        assert may({1: 5 + lead, 2: 5}, [1], 1) == ([1] if lead <= max(leads) else [])


def test_pushes_arrive_in_the_order_of_the_case_whatever_messages_take(
    solutions: dict[str, Any],
) -> None:
    for case in [*SERVER.cases(5)][:6]:

        def one_call(comm: Any, case: Any = case) -> Any:
            arguments = SERVER.arguments(case, comm.rank, 0)
            return SERVER.call(solutions["asynchronous_server"], comm, arguments)

        made = run(one_call, workers=case.workers, backend="simulated", network=case.network)  # type: ignore[arg-type]
        pushes = sorted((m.received_s, m.src) for m in made.trace.messages if m.dst == 0)
        assert [src for _, src in pushes] == case.settings["order"]
        times = [time_s for time_s, _ in pushes]
        late = np.subtract(times, SLOT_S * np.arange(1, len(times) + 1))
        assert 0 <= late.min() <= late.max() < SLOT_S / 10


@pytest.mark.parametrize("name", SERVERS)
def test_a_history_says_of_each_server_what_it_has_applied(
    name: str, solutions: dict[str, Any]
) -> None:
    sent = {1: [0, 1, 1, 0, 2], 2: [0, 1, 0, 1], 3: [0, 0, 0, 1]}
    made = run(push_and_repeat, sent, SERVERS[name], workers=4, backend="simulated")
    found = solutions["applied_twice"](history_of(made.trace))
    several = {
        (rank, number)
        for rank, numbers in sent.items()
        for number, times in Counter(numbers).items() if times > 1
    }  # fmt: skip
    expected = {"a careless server": several, "a forgetful server": {(1, 0), (2, 0), (2, 1)}}
    assert set(found) == expected.get(name, set())


def test_a_synchronous_server_is_named() -> None:
    report = checks.asynchronous_server(handed_in("lecture_04", solved=True)["parameter_server"])
    assert report.hint_id == "waits-for-all"
