"""What a report says about a run without results, or with bad manners: once, and to be followed."""

from typing import Any

import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from course_lib import checks
from course_lib.checks.check import _given
from course_lib.checks.lecture_13.message_faults import TASK
from course_lib.checks.task import Case
from course_lib.viz import Player
from tests.checks.test_harness import hint_of


def test_line_of_a_cell_is_shown_with_its_number_and_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    for source in ("x = 1", "def hello(comm):\n    print('now')\n    return misspelt"):
        shell.run_cell(source, store_history=True).raise_error()
    report = checks.hello(shell.user_ns["hello"])
    assert "failed at cell In[2], line 3: NameError" in repr(report)
    assert "  cell In[2], line 3, in hello\n    return misspelt\n" in repr(report)
    assert report.fault is not None
    assert report.fault.says.count("not defined") == 1
    assert hint_of(report) == "unknown-name"
    assert "  printed   now" in repr(report), "the hint says that what is printed is shown"


def test_error_that_names_a_rank_is_told_once() -> None:
    def pass_around(comm: Any, x: Any) -> None:
        comm.send(x, dst=comm.size)

    report = checks.pass_around(pass_around)
    assert report.fault is not None
    assert report.fault.says.count("must be a rank") == 1
    assert report.fault.says.endswith("    comm.send(x, dst=comm.size)")


def test_advice_of_a_deadlock_keeps_to_the_verbs_of_the_task() -> None:
    def waits(comm: Any, x: Any) -> Any:
        return comm.recv(src=(comm.rank - 1) % comm.size) if comm.size > 1 else x.copy()

    passing, adding = checks.pass_around(waits), checks.allreduce_butterfly(waits)
    assert hint_of(passing) == hint_of(adding) == "deadlock"
    assert "rank 1 waits in recv(src=0)" in repr(passing)
    assert "sendrecv" not in repr(passing)
    assert "or use sendrecv" in repr(adding)


def test_a_mistake_of_the_one_rank_that_returns_is_told_where_others_return_too() -> None:
    def ping_pong(comm: Any, n_bytes: int, n_trips: int) -> Any:
        if comm.rank > 1:
            return None
        message, start_s = np.zeros(n_bytes, np.uint8), comm.clock()
        for _ in range(n_trips):
            if comm.rank == 0:
                comm.send(message, dst=1)
                comm.recv(src=1)
            else:
                comm.recv(src=0)
                comm.send(message, dst=0)
        return (comm.clock() - start_s) / n_trips

    report = checks.ping_pong(ping_pong)
    assert hint_of(report) == "round-trip"
    assert report.fault is not None
    assert report.fault.says.startswith(
        "rank 0: should be 2.08e-05 s, got 4.16e-05 s; rank 1: expected None, got "
    )


def test_where_a_deadlock_is_the_task_its_report_leaves_the_cure_to_the_learner() -> None:
    def send_first(comm: Any, x: Any) -> Any:
        if comm.size == 1:
            return x.copy()
        comm.send(x, dst=(comm.rank + 1) % comm.size)
        return comm.recv(src=(comm.rank - 1) % comm.size)

    told = repr(checks.shift_right(send_first))
    assert "rank 3 waits in send(dst=0)" in told
    assert "sendrecv" not in told
    assert "first" not in told.partition("hint")[2]


def test_refusal_says_what_is_enough_for_this_task() -> None:
    def shard_bounds(n_rows: int, rank: int, size: int) -> tuple[int, int]:
        part = np.array_split(np.arange(n_rows), size)[rank]
        return int(part[0]), int(part[-1]) + 1

    report = checks.shard_bounds(shard_bounds)
    assert hint_of(report) == "library-answer"
    assert report.fault is not None
    assert "without numpy.array_split: whole-number arithmetic is" in report.fault.says
    assert len(np.array_split(np.arange(3), 3)) == 3, "it works again outside"


def test_short_arguments_of_a_case_that_is_to_be_worked_out_by_hand_are_shown() -> None:
    report = checks.message_faults(lambda inputs, ranks, sent: {"missing": [], "needless": []})
    given = "inputs=((), (0,), (0,), (1, 2)), ranks=(0, 0, 1, 0), sent=[(0, 0, 1)]"
    assert report.given == given
    assert f"  case      one is missing\n  given     {given}\n" in repr(report)
    assert "<b>given:</b> inputs=((), (0,)" in report._html()
    long = Case(1, "", alone=True, settings={"graph": (((),) * 200, (0,) * 200, ())})
    assert _given(TASK, long) == ""


def test_changed_argument_is_named() -> None:
    def pass_around(comm: Any, x: Any) -> Any:
        if comm.rank > 0:
            x += comm.recv(src=comm.rank - 1)
        if comm.size > 1:
            comm.send(x, dst=(comm.rank + 1) % comm.size)
        return comm.recv(src=comm.size - 1) if comm.rank == 0 and comm.size > 1 else x.copy()

    report = checks.pass_around(pass_around)
    assert hint_of(report) == "changes-input"
    assert "rank 1: the call changed its argument x" in repr(report)
    assert "total = x.copy()" in repr(report)


def test_task_of_one_process_is_told_without_ranks() -> None:
    def in_place(w: Any, X: Any, y: Any, learning_rate: float) -> Any:
        error = w[0] + X @ w[1:] - y
        w -= learning_rate * np.concatenate([[error.mean()], X.T @ error / len(y)])
        return w.copy()

    changed = checks.gradient_step(in_place)
    assert "not right yet. the call changed its argument w\n" in repr(changed)
    assert hint_of(changed) == "changes-input"
    nothing = checks.gradient_step(lambda w, X, y, learning_rate: None)
    assert "not right yet. the call returned None\n" in repr(nothing)
    wrong = checks.gradient_step(lambda w, X, y, learning_rate: w + 1)
    assert "not right yet. element 0 should be" in repr(wrong)
    assert "rank" not in repr(changed) + repr(nothing) + repr(wrong)


def test_tensor_is_told_by_its_name_whatever_else_the_task_would_say() -> None:
    step = checks.gradient_step(lambda w, X, y, learning_rate: torch.from_numpy(w))
    number = checks.noise_scale(lambda gradients: torch.tensor(0.56))
    for report in (step, number):
        assert hint_of(report) == "torch-tensor"
        assert "got a torch tensor" in repr(report)


@pytest.mark.parametrize("kind", [float, np.float64])
def test_right_number_that_is_a_float_is_called_right(kind: Any) -> None:
    def predict_gather(n_workers: int, n_numbers: int) -> dict[str, Any]:
        into = 8 * n_numbers * (n_workers - 1)
        right = {"messages": 2 * n_workers - 2, "n_bytes": 2 * into, "bytes_into_rank_0": into}
        return {name: kind(number) for name, number in right.items()}

    report = checks.predict_gather(predict_gather)
    assert hint_of(report) == "float"
    assert "the number is right, but it is a float" in repr(report)


def test_other_even_cuts_are_right_and_the_expected_one_is_an_example() -> None:
    report = checks.shard_bounds(lambda n_rows, rank, size: (0, 0))
    assert "for example [[0, 100], [100, 200], [200, 300], [300, 400]]" in repr(report)


def test_failing_run_of_a_star_is_played_as_a_star(monkeypatch: pytest.MonkeyPatch) -> None:
    def combine(comm: Any, grad_partial: Any, w: Any, step_size: float) -> Any:
        if comm.rank > 0:
            comm.send(grad_partial, dst=0)
        return w

    report = checks.combine(combine)
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda value, **_: shown.append(value))
    report._ipython_display_()
    player = shown[1]
    assert isinstance(player, Player)
    assert player.scene["layout"] == "star"
    assert player.scene["roles"] == ["combiner", "", "", ""]


def test_prediction_that_measures_is_sent_to_its_arithmetic() -> None:
    def predict_gather(n_workers: int, n_numbers: int) -> None:
        from course_lib import run

        run(lambda comm: comm.rank, workers=n_workers, backend="simulated")

    report = checks.predict_gather(predict_gather)
    assert hint_of(report) == "starts-workers"
    assert "this check wants arithmetic" in repr(report)
    assert "rank" not in repr(report), "there are no ranks in a prediction"
