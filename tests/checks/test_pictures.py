"""What is drawn under a failing check, and that a report stays short whatever the function did."""

import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from course_lib import checks
from course_lib.checks.check import LIMITS
from course_lib.checks.diagnosis import Diagnosis
from course_lib.checks.report import Report, _price_lines, few, price_rows
from course_lib.checks.right_runs import RIGHT, first_other_step, right_runs
from course_lib.checks.steps import excerpt, first_other_message, weigh
from course_lib.checks.task import Hint, Price
from course_lib.collectives import allreduce_ring
from course_lib.trace.events import Message
from course_lib.trace.trace import Trace
from course_lib.viz import Player
from tests.checks.test_harness import hint_of
from tests.exercises.answers import SETS, handed_in
from tests.exercises.test_answers import task_of

MOST_LINES = 30


def pictures_of(report: Report) -> tuple[list[Any], Player | None]:
    """List what is no player, and the player."""
    drawn = list(report._pictures())
    players = [picture for picture in drawn if isinstance(picture, Player)]
    return [picture for picture in drawn if picture not in players], next(iter(players), None)


def right_shift(comm: Any, x: Any) -> Any:
    if comm.size == 1:
        return x.copy()
    return comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SETS if name != "lecture_01"])
def test_no_step_of_a_solution_is_other_than_in_the_right_run(name: str) -> None:
    solutions = handed_in(name, solved=True)
    for task in map(task_of, sorted(RIGHT.keys() & set(checks.SETS[name]))):
        case = next(iter(task.cases(5)))
        assert all(run.mishap is None for run in right_runs(task, case))
        (solved,), _ = checks.check._examined(task, solutions[task.name], [case], LIMITS)
        assert solved.trace is not None
        assert solved.trace.n_messages > 0
        assert first_other_step(task, case, solved) is None, task.name


def test_every_task_in_which_ranks_talk_has_a_right_run() -> None:
    talking = {name for name in checks._HOME if task_of(name).talks}
    # A ping-pong may warm up; orders of pipelines are played beside their own reports.
    assert talking - set(RIGHT) == {"ping_pong", "order_1f1b", "run_order"}
    assert "lecture_01" not in {checks._HOME[name] for name in talking}


def test_picture_begins_where_a_message_carries_what_it_should_not() -> None:
    def pass_around(comm: Any, x: Any) -> Any:
        left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        if comm.rank == 0:
            comm.send(x, dst=right)
            return comm.recv(src=left)
        total = comm.recv(src=left) + x * (2 if comm.rank == 2 else 1)
        comm.send(total, dst=right)
        return total

    report = checks.pass_around(pass_around)
    assert "differs   message 1 from rank 2 to rank 3 carries other numbers" in repr(report)
    _, player = pictures_of(report)
    assert report.trace is not None
    wrong = report.trace.between(2, 3)[0]
    assert player is not None
    assert player.time_s == wrong.posted_s > 0


def gradients_first(comm: Any, grad: Any, n_examples: int) -> Any:
    total = allreduce_ring(comm, grad)  # not weighed
    return total / allreduce_ring(comm, np.array([float(n_examples)]))


def counts_first(comm: Any, grad: Any, n_examples: int) -> Any:
    total = allreduce_ring(comm, np.array([float(n_examples)]))
    return allreduce_ring(comm, grad) / total  # not weighed


@pytest.mark.parametrize(
    ("answer", "differs"),
    [
        (gradients_first, "message 1 from rank 1 to rank 2 carries other numbers"),
        (counts_first, "message 7 from rank 3 to rank 0 carries other numbers"),
    ],
)
def test_a_run_is_compared_with_a_right_one_of_its_own_order(answer: Any, differs: str) -> None:
    """Which of two all-reduces comes first is free: their lengths are not what is wrong."""
    report = checks.weighted_mean(answer)
    assert report.hint_id == "not-weighed"
    assert f"differs   {differs}" in repr(report)


def test_picture_begins_at_the_first_message_that_goes_the_wrong_way() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        if comm.size == 1:
            return x.copy()
        return comm.sendrecv(x, dst=(comm.rank - 1) % comm.size, src=(comm.rank + 1) % comm.size)

    report = checks.shift_right(shift_right)
    assert "differs   rank 0 sends nothing to rank 1, in a right run 1 message" in repr(report)


def test_wrong_result_of_right_messages_is_played_from_the_beginning() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        return right_shift(comm, x) + 1

    report = checks.shift_right(shift_right)
    _, player = pictures_of(report)
    assert report.other is None
    assert player is not None
    assert player.time_s == 0


def trace_of(*messages: tuple[int, int, float, int]) -> Trace:
    made = [
        Message(src, dst, None, "float64", (n,), 8 * n, at_s, at_s, at_s + 1, at_s + 1, "world")
        for src, dst, at_s, n in messages
    ]
    return Trace("simulated", "virtual", 4, messages=made)


def test_first_other_message_is_that_of_the_earliest_time_and_rounding_is_none() -> None:
    right = trace_of((0, 1, 0.0, 2), (1, 2, 1.0, 2), (2, 3, 2.0, 2))
    sums = {("world", a, a + 1): [(10.0, 7.0, 20.0)] for a in range(3)}
    assert first_other_message(right, sums, right, sums) is None
    nearly = {**sums, ("world", 1, 2): [(10.0 + 1e-9, 7.0, 20.0)]}
    assert first_other_message(right, nearly, right, sums) is None
    other = {**sums, ("world", 1, 2): [(12.0, 7.0, 20.0)], ("world", 2, 3): [(9.0, 7.0, 20.0)]}
    step = first_other_message(right, other, right, sums)
    assert step is not None
    assert (step.time_s, step.says.partition(" carries")[0]) == (
        1.0,
        "message 1 from rank 1 to rank 2",
    )
    longer = trace_of((0, 1, 0.0, 2), (1, 2, 1.0, 3), (1, 3, 0.5, 1))
    step = first_other_message(longer, {}, right, sums)
    assert step is not None
    assert step.says.startswith("rank 1 sends to rank 3")


def test_deadlock_draws_who_waits_for_whom() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        if comm.size > 1:
            comm.send(x, dst=(comm.rank + 1) % comm.size)
            return comm.recv(src=(comm.rank - 1) % comm.size)
        return x.copy()

    report = checks.shift_right(shift_right)
    assert hint_of(report) == "hidden-deadlock" or "deadlock" in repr(report)
    (graph,), player = pictures_of(report)
    assert "wait-for graph of ranks 0, 1, 2, 3" in repr(graph)
    assert player is None, "no message was on its way"


@pytest.mark.slow
def test_endless_exchange_is_drawn_in_part_and_told_in_few_lines() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        while comm.size > 1:
            x = right_shift(comm, x)
        return x.copy()

    report = checks.shift_right(shift_right)
    assert report.trace is not None
    assert report.trace.n_messages > 10_000
    _, player = pictures_of(report)
    assert player is not None
    assert player._trace.n_messages == 200
    assert "(200 of " in player.title
    assert len(repr(report).splitlines()) <= MOST_LINES
    assert "rank 0 sends more to rank 1 than the 1 message of a right run" in repr(report)


def test_an_excerpt_begins_a_little_before_the_moment_asked_for() -> None:
    long = trace_of(*[(k % 4, (k + 1) % 4, float(k), 1) for k in range(3000)])
    part, begin_s = excerpt(long, 1500.0)
    assert part.n_messages == 200
    assert begin_s == 1460.0
    assert part.messages[0].posted_s == 0
    short = trace_of((0, 1, 0.0, 1))
    assert excerpt(short, 0.5) == (short, 0.0)


def test_function_that_calls_itself_is_told_in_few_lines() -> None:
    def pass_around(comm: Any, x: Any) -> Any:
        return pass_around(comm, x)

    report = checks.pass_around(pass_around)
    assert repr(report).count("in pass_around") == 1
    assert "and the same again, many times" in repr(report)
    assert len(repr(report).splitlines()) <= MOST_LINES


def test_flood_of_prints_is_cut_and_other_programs_are_not_heard(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def pass_around(comm: Any, x: Any) -> Any:
        os.system("echo flood; echo flood >&2")
        for number in range(1000):
            print("line", number)
        return x * 0

    report = checks.pass_around(pass_around)
    assert "printed   line 0\n" in repr(report)
    assert "line 999\n" in repr(report), "the last lines are there, too"
    assert re.search(r"\.\.\. [37],99\d more lines", repr(report)), "of a thousand of each rank"
    assert len(repr(report).splitlines()) <= MOST_LINES
    assert "flood" not in "".join(capfd.readouterr()) + repr(report)


def test_few_lines_say_how_many_are_left_out() -> None:
    assert few(["a", "b", "c"], 3) == ["a", "b", "c"]
    assert few([f"{n}" for n in range(10)], 6) == ["0", "1", "... 5 more lines", "7", "8", "9"]
    assert few(["x", "y"] * 4, 6) == ["x", "y", "  ... and the same again, 3 times"]


def test_report_names_the_cell_of_the_function_and_a_later_one_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    for source in ("x = 1", "def hello(comm):\n    return 'no'"):
        shell.run_cell(source, store_history=True).raise_error()
    hello = shell.user_ns["hello"]
    assert "  defined   in cell In[2]\n" in repr(checks.hello(hello))
    monkeypatch.setattr(shell, "showsyntaxerror", lambda *_, **__: None)
    shell.run_cell("def hello(comm):\n    return f'rank {comm.rank'", store_history=True)
    told = " ".join(repr(checks.hello(hello)).split())
    assert "in cell In[2]; cell In[3], run later, ended in an error" in told
    assert "this is the old one" in told
    shell.run_cell("def hello(comm):\n    raise NotImplementedError", store_history=True)
    assert "defined" not in repr(checks.hello(shell.user_ns["hello"])), "nobody need ask"


def test_line_of_a_float32_and_of_a_large_price_do_not_run_together() -> None:
    rows = price_rows(Price(1, 8, 8, 1e-3), Price(1, 8, 8, 1.0), Price(1, 8, 8, 1e-3))
    assert any(
        line.split()[-3:] == ["1,000.00", "1,000,000.00", "1,000.00"] for line in _price_lines(rows)
    )
    without = price_rows(Price(1, 8, 8, 1e-3), Price(1, 8, 8, 1.0), Price(1, 8, 8))
    assert len(without) == 3, "a budget that no reference has is none"


def test_interrupted_check_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("course_lib.checks.check.run", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        checks.hello(lambda comm: "x")
    render: Any = vars(caught.value)["_render_traceback_"]
    assert render() == ["KeyboardInterrupt: the check of hello was stopped before its verdict"]


def test_one_of_a_thing_is_no_plural() -> None:
    report = Report("a", "b", "failed", case="1 rows, 11 rows, 1 round trips, x=1.1 rows, 1 bytes")
    told = repr(replace(report, fault=Diagnosis("c", Hint("d", "e"))))
    assert "1 row, 11 rows, 1 round trip, x=1.1 rows, 1 byte" in told


def test_numbers_of_whatever_kind_can_be_weighed() -> None:
    weights: Any = {}
    for data in (np.array([]), np.array(["a"]), np.array([np.nan]), np.array(True), np.ones(3)):
        weigh(weights, 0, "world", 1, data)
    assert weights["world", 0, 1][-1] == (3.0, 2.0, 3.0)
    assert len(weights["world", 0, 1]) == 5
