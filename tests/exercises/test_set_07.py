"""Exercises 07: orders that are carried out, numbers that agree with schedules and texts."""

from typing import Any

import pytest

from course_lib import checks, run
from course_lib.checks.cost import measured_price
from course_lib.checks.lecture_07.fewest_microbatches import TASK as FEWEST
from course_lib.checks.lecture_07.order_1f1b import TASK as ORDER
from course_lib.checks.lecture_07.order_1f1b import carry_out
from course_lib.checks.lecture_07.predict_pipeline import TASK as PIPELINE
from course_lib.checks.lecture_07.run_order import TASK as RUN
from course_lib.comm.errors import DeadlockError
from course_lib.lectures.lecture_07 import flow
from course_lib.pipelines import Schedule, one_f_one_b
from tests.exercises.answers import handed_in


@pytest.fixture(scope="module")
def solutions() -> dict[str, Any]:
    return handed_in("lecture_07", solved=True)


def test_the_texts_name_the_right_numbers() -> None:
    assert list(PIPELINE.measure(4, 8, 1, 2, 1).values()) == [33, 9, 39, 8, 4]
    assert FEWEST.measure(4, 64, 20) == {"microbatches": 16, "held": 16}


def test_all_ranks_with_the_order_of_rank_0_are_twice_as_slow() -> None:
    def as_rank_0(ranks: int, microbatches: int) -> Schedule:
        order = one_f_one_b(ranks, microbatches).orders[0]
        orders = tuple(tuple(a._replace(stage=rank) for a in order) for rank in range(ranks))
        return Schedule("as rank 0", orders, tuple(range(ranks)), microbatches)

    slow = flow(as_rank_0, 4, 8)
    assert (slow.ms, slow.held) == (69, [4, 4, 4, 4])


def test_what_is_carried_out_takes_the_schedule_s_time(solutions: dict[str, Any]) -> None:
    case = next(ORDER.cases(0))
    price = ORDER.price(case)
    assert price.seconds == pytest.approx(flow("1F1B").ms / 1e3, rel=0.02), "and messages"
    assert price.messages == flow("1F1B").schedule.n_messages

    def one_rank(comm: Any) -> None:
        carry_out(comm, solutions["order_1f1b"](comm.rank, comm.size, 8))

    assert run(one_rank, workers=4, backend="simulated").elapsed_s == price.seconds


def test_orders_that_wait_for_each_other_are_a_deadlock_that_names_the_actions() -> None:
    orders = [["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]]
    with pytest.raises(DeadlockError, match=r"rank 0 waits in recv\(src=1, tag='B0'\)"):
        run(lambda comm: carry_out(comm, orders[comm.rank]), workers=2, backend="simulated")


def test_a_report_of_an_order_has_no_line_of_the_check_and_a_trace_to_play() -> None:
    def order_1f1b(rank: int, ranks: int, microbatches: int) -> list[str]:
        ahead = min(rank, microbatches)
        turns = [f"{kind}{m}" for m in range(microbatches - ahead) for kind in "FB"]
        forward = [f"F{m}" for m in range(ahead)]
        late = {f"F{m}": f"F{m + ahead}" for m in range(microbatches)}
        left = [f"B{m}" for m in range(microbatches - ahead, microbatches)]
        return [*forward, *[late.get(action, action) for action in turns], *left]

    report = checks.order_1f1b(order_1f1b)
    assert report.hint_id == "deadlock"
    assert "each waits for the next" in repr(report)
    assert ".py" not in repr(report)
    assert report.trace is not None
    assert report.trace.computes


@pytest.mark.parametrize("number", range(9))
def test_reference_price_of_a_run_order_is_what_the_solution_costs(
    number: int, solutions: dict[str, Any]
) -> None:
    case = list(RUN.cases(3))[number]

    def one_call(comm: Any) -> Any:
        return RUN.call(solutions["run_order"], comm, RUN.arguments(case, comm.rank, 0))

    cost = measured_price(run(one_call, workers=case.workers, backend="simulated"), 1)  # type: ignore[arg-type]
    assert cost._replace(rounds=None) == RUN.price(case)


def test_plain_sends_carry_out_gpipe_and_stop_in_1f1b(solutions: dict[str, Any]) -> None:
    class Impatient:
        """A communicator whose isend waits, as send does."""

        def __init__(self, comm: Any) -> None:
            self._comm = comm

        def __getattr__(self, name: str) -> Any:
            return getattr(self._comm, name)

        def isend(self, array: Any, dst: int) -> Any:
            self._comm.send(array, dst)
            return self

        def wait(self) -> None:
            return None

    def one_call(comm: Any, case: Any) -> Any:
        arguments = RUN.arguments(case, comm.rank, 0)
        return RUN.call(solutions["run_order"], Impatient(comm), arguments)

    cases = {case.settings["kind"]: case for case in RUN.cases(0) if case.workers == 4}
    there = {"workers": 4, "backend": "simulated", "rendezvous": True}
    assert run(one_call, cases["gpipe"], **there).values
    first = next(case for case in RUN.cases(0) if case.settings["kind"] == "1f1b")
    with pytest.raises(DeadlockError, match=r"rank \d waits in send"):
        run(one_call, first, **there)


def test_the_colleague_s_step_is_wrong_in_two_ways(solutions: dict[str, Any]) -> None:
    assert checks.microbatch_step(solutions["their_step"]).hint_id == "other-weights"

    def updates_once(gradient: Any, w: Any, X: Any, y: Any, microbatches: int, rate: float) -> Any:
        size, total = -(-len(y) // microbatches), 0.0
        starts = range(0, len(y), size)
        for start in starts:
            part = slice(start, start + size)
            total = total + gradient(w, X[part], y[part]) / len(starts)
        return w - rate * total

    assert not checks.microbatch_step(updates_once).passed, "equal weights for unequal parts"
