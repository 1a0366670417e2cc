"""Whatever a learner's function does, the check ends with a report that helps."""

import contextlib
import importlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import nbformat
import numpy as np
import pytest

from authoring.outputs import problems_of
from course_lib import checks, run
from course_lib.checks import check, originals
from course_lib.checks.forbidden import forbidding
from course_lib.checks.lecture_00.pass_around import TASK as PASS_AROUND
from course_lib.checks.lecture_00.shift_right import TASK as SHIFT_RIGHT
from course_lib.checks.report import Report
from course_lib.checks.room import Limits
from course_lib.comm.ambient.loading import WhenLoaded
from course_lib.viz import Player


def hint_of(report: Report) -> str:
    assert not report.passed
    assert report.fault is not None
    assert report.fault.says, "a failure says what is wrong"
    return report.hint_id


def test_what_is_no_function_is_refused_with_the_way_to_call_it() -> None:
    for value in ("rank 0 of 4", None, 3):
        report = checks.hello(value)
        assert hint_of(report) == "not-callable"
        assert "checks.hello(hello)" in repr(report)


def test_an_unknown_check_names_those_that_exist() -> None:
    with pytest.raises(AttributeError, match="pass_around"):
        checks.pass_it_on  # noqa: B018


def n_cases_run(fn: Callable[..., Any]) -> int:
    cases = list(SHIFT_RIGHT.cases(3))
    assert len(cases) > 20
    seen, end = check._examined(SHIFT_RIGHT, fn, cases, check.LIMITS)
    assert end is None
    return len(seen)


def test_no_case_is_run_after_one_that_is_wrong() -> None:
    assert n_cases_run(lambda comm, x: x - 1) == 1


def test_what_only_seems_wrong_where_names_were_replaced_is_run_to_the_end() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        if comm.size == 1:
            sys.modules["course_lib.checks.verdict"]._wrong_manners = lambda *_: "all is wrong"
            return x.copy()
        return comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)

    report = checks.shift_right(shift_right)
    assert hint_of(report) == "replaces-names"
    assert "course_lib.checks.verdict._wrong_manners" in repr(report)
    assert n_cases_run(shift_right) > 20


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork server on Windows")
def test_what_every_check_needs_is_loaded_already_when_its_process_starts() -> None:
    def loaded(_: Any) -> bool:
        return {"course_lib.checks.room", "greenlet"} <= set(sys.modules)

    assert run(loaded, workers=1, start_method="forkserver").values == [True]


def test_exception_names_rank_line_and_reason_and_not_our_own_frames() -> None:
    def pass_around(comm: Any, x: Any) -> Any:
        return x / comm.nothing

    report = checks.pass_around(pass_around)
    assert hint_of(report) == "no-such-verb"
    assert "rank 0 failed at" in repr(report)
    told = " ".join(repr(report).split())
    assert "AttributeError: comm has no attribute 'nothing'" in told, "no class of ours is named"
    assert "examine.py" not in repr(report)
    assert "in call" not in repr(report)
    assert told.count("has no attribute") == 1, "the reason is told once"
    assert "return x / comm.nothing" in repr(report)


def test_exception_that_cannot_be_printed_is_a_report_too() -> None:
    def hello(comm: Any) -> str:
        class Rude(Exception):
            def __str__(self) -> str:
                raise ValueError("no")

        raise Rude

    assert hint_of(checks.hello(hello)) == "exception"


def test_wrong_number_of_arguments_is_told() -> None:
    report = checks.hello(lambda: "rank 0 of 4")
    assert hint_of(report) == "arguments"
    assert "argument" in repr(report)


def test_generators_are_not_results() -> None:
    def pass_around(comm: Any, x: Any) -> Any:
        yield x

    assert hint_of(checks.pass_around(pass_around)) in ("no-messages", "shape")


def test_function_that_holds_a_lock_cannot_travel() -> None:
    lock = threading.Lock()

    def hello(comm: Any) -> str:
        with lock:
            return f"rank {comm.rank} of {comm.size}"

    report = checks.hello(hello)
    assert hint_of(report) == "cannot-travel"
    assert "'lock'" in repr(report)


@pytest.mark.slow
def test_function_that_swallows_its_end_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("course_lib.checks.check.LIMITS", Limits(0.5, 4.5, 8.0))

    def hello(comm: Any) -> str:
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(0.01)

    started = time.monotonic()
    assert hint_of(checks.hello(hello)) == "too-slow"
    assert time.monotonic() - started < 30


def test_killed_examination_room_is_a_failure() -> None:
    def hello(comm: Any) -> str:
        os.kill(os.getpid(), 9)
        return f"rank {comm.rank} of {comm.size}"

    assert hint_of(checks.hello(hello)) == "exited"


def test_starting_workers_inside_a_worker_is_refused() -> None:
    def hello(comm: Any) -> str:
        from course_lib import run

        return str(run(lambda comm: comm.rank, workers=2).values)

    report = checks.hello(hello)
    assert hint_of(report) == "starts-workers"
    assert re.search(r"run was called in the function: \S+, line \d+\n", repr(report))
    assert "the check starts the workers" in repr(report)


def test_what_the_function_prints_is_in_the_report_and_nowhere_else(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def hello(comm: Any) -> None:
        print(f"my rank is {comm.rank}" * 1000)

    report = checks.hello(hello)
    assert "my rank is 0" in repr(report)
    assert len(repr(report)) < 2500
    assert "my rank" not in "".join(capfd.readouterr())


def test_the_notebook_is_not_touched_by_what_the_function_overwrites() -> None:
    before = np.allclose

    def hello(comm: Any) -> str:
        np.allclose = lambda *_: True
        os.environ["COURSE_LIB_TEST_TRACE"] = "1"
        return f"rank {comm.rank} of {comm.size}"

    assert checks.hello(hello).passed
    assert np.allclose is before
    assert "COURSE_LIB_TEST_TRACE" not in os.environ


def test_data_of_two_checks_differ_and_seeds_repeat_them() -> None:
    cases = [case for case in PASS_AROUND.cases(7) if case.seed]
    others = [case for case in PASS_AROUND.cases(8) if case.seed]
    again = [case for case in PASS_AROUND.cases(7) if case.seed]
    for one, other, same in zip(cases, others, again, strict=True):
        (x,), (y,), (z,) = (PASS_AROUND.arguments(case, 0, 0) for case in (one, other, same))
        assert not np.array_equal(x, y)
        assert np.array_equal(x, z)
        (second_call,) = PASS_AROUND.arguments(one, 0, 1)
        assert not np.array_equal(x, second_call)


def test_cases_cover_all_sizes_both_ways_of_sending_and_two_calls() -> None:
    cases = list(PASS_AROUND.cases(1))
    assert {case.workers for case in cases if case.rendezvous} == {1, 2, 3, 4, 5, 7, 8}
    assert {case.workers for case in cases if case.stagger} == {1, 2, 3, 4, 5, 7, 8}
    assert {case.calls for case in cases} == {1, 2}


def test_forbidden_modules_come_back() -> None:
    module = importlib.import_module("course_lib.schemes.map_reduce")

    with forbidding(("course_lib.schemes",)), pytest.raises(ImportError, match="without"):
        from course_lib.schemes.map_reduce import combine  # noqa: F401
    assert importlib.import_module("course_lib.schemes.map_reduce") is module
    from course_lib import schemes

    assert schemes.map_reduce is module.map_reduce  # and the package hands out the function again


@pytest.mark.skipif(sys.platform == "win32", reason="no fork server, so nothing is noted before")
def test_what_a_fork_server_has_noted_is_what_one_would_find_without() -> None:
    def look(_: Any) -> tuple[int, bool, bool]:
        def found(changed: set[str]) -> dict[str, tuple[int, dict[str, int]]]:
            spaces = originals.Originals(changed)._spaces
            return {
                space.label: (id(space.owner), {key: id(it) for key, it in space.names.items()})
                for space in spaces
            }

        n_noted = len(originals._noted)
        hidden, refused = "course_lib.schemes.map_reduce", "course_lib.words.split.split_evenly"
        with forbidding((hidden,), (refused,)) as changed:
            with_all_that_changed, with_nothing = found(changed), found(set())
            originals._noted.clear()
            fresh = found(set())
        return n_noted, with_all_that_changed == fresh, with_nothing == fresh

    (n_noted, alike, alike_if_nothing_had_changed) = run(look, workers=1).values[0]
    assert n_noted > 100
    assert alike
    assert not alike_if_nothing_had_changed


def test_a_forbidden_module_is_not_to_be_had_from_its_package_either() -> None:
    with forbidding(("course_lib.schemes.map_reduce",)), pytest.raises(ImportError, match="withou"):
        from course_lib.schemes import map_reduce
    from course_lib.schemes import map_reduce

    assert callable(map_reduce)


def passes_its_own(comm: Any, x: Any) -> Any:
    comm.send(x, (comm.rank + 1) % comm.size)
    return comm.recv((comm.rank - 1) % comm.size)


@pytest.fixture
def reports() -> list[Report]:
    def unwritten(comm: Any, x: Any) -> Any:
        raise NotImplementedError

    def right(comm: Any, x: Any) -> Any:
        if comm.size == 1:
            return x.copy()
        return comm.sendrecv(x, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)

    return [
        checks.pass_around(passes_its_own),
        checks.pass_around(unwritten),
        checks.shift_right(right),
    ]


def test_reports_show_what_committed_notebooks_may_hold(
    reports: list[Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda value, **_: shown.append(value))
    for report in reports:
        report._ipython_display_()
    bundles = [value for value in shown if isinstance(value, dict)]
    assert len(bundles) == 3
    assert isinstance(shown[1], Player), "the failing run follows its report"
    assert len(shown) == 4, "only a failing run is played"
    outputs = [nbformat.v4.new_output("display_data", data=bundle) for bundle in bundles]
    cell = nbformat.v4.new_code_cell("checks", outputs=outputs, execution_count=1)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    assert problems_of(notebook, runs=True) == []


def test_reports_say_everything_in_plain_text(reports: list[Report]) -> None:
    failed, unwritten, passed = map(repr, reports)
    for word in ("case", "expected", "got", "hint", "4 workers", "yours", "budget", "reference"):
        assert word in failed
    assert unwritten.startswith("pass_around: not written yet.")
    assert passed.startswith("shift_right: right, in all 28 cases.")
    assert "bytes at the busiest rank" in passed


def test_the_same_wrong_answer_gives_the_same_report(reports: list[Report]) -> None:
    assert repr(checks.pass_around(passes_its_own)) == repr(reports[0])


def test_html_escapes_what_a_learner_returns() -> None:
    hello: Callable[[Any], str] = lambda comm: "<script>alert(1)</script>"  # noqa: E731
    assert "<script>" not in checks.hello(hello)._html()


def test_who_waited_for_a_module_may_leave_the_finders_and_no_other_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, finders = object(), [*sys.meta_path]
    monkeypatch.setattr(sys, "meta_path", [own, *finders])
    waiting = WhenLoaded("no_such_module", lambda _: None)
    noted = originals.Originals()
    waiting.forget()
    assert noted.after_case(thorough=False) == ()
    sys.meta_path.remove(own)
    assert noted.after_case(thorough=False) == ("sys.meta_path",)
    assert sys.meta_path == [own, *finders]
