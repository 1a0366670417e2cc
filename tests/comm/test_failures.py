"""A failure's report names the rank, the place and the reason, whatever the exception does."""

import threading
from typing import Any

import pytest

from course_lib.comm import failures
from course_lib.comm.ambient.entries import function_of
from course_lib.comm.errors import (
    MessageMismatchError,
    PeerFinishedError,
    RunError,
    WorkerError,
    WorkerExited,
)
from course_lib.comm.failures import Failure, to_error
from course_lib.comm.frames import frames_of, render, user_frame


def failure_of(error: BaseException, rank: int = 2) -> Failure:
    try:
        raise error
    except BaseException as caught:
        return Failure.of(caught, rank, 0.5)


def test_the_report_holds_rank_place_reason_and_source_line() -> None:
    error = to_error(failure_of(ZeroDivisionError("division by zero")), ["rank 0 was stopped"])
    assert isinstance(error, WorkerError)
    assert error.rank == 2
    text = str(error)
    assert text.startswith("rank 2 failed at test_failures.py, line ")
    assert "ZeroDivisionError: division by zero" in text
    assert "raise error" in text
    assert text.endswith("\n  rank 0 was stopped")
    assert isinstance(error.original, ZeroDivisionError)


class NeedsTwo(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


class HoldsALock(Exception):
    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class Exits(Exception):
    def __reduce__(self) -> Any:
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NeedsTwo(1, 2), "NeedsTwo: 1 and 2"),
        (HoldsALock(), "HoldsALock: locked"),
        (Exits("x"), "Exits: x"),
    ],
)
def test_exceptions_that_cannot_travel_are_still_told(error: Exception, text: str) -> None:
    told = to_error(failure_of(error))
    assert text in str(told)
    assert told.original is None
    assert "could not travel" in str(told)


def test_an_exception_that_cannot_be_printed_is_told_by_its_class() -> None:
    assert "Unprintable: <unprintable>" in str(to_error(failure_of(Unprintable())))


@pytest.mark.parametrize(("code", "shown"), [(0, "0"), (3, "3"), ("msg", "'msg'"), (None, "")])
def test_sys_exit_is_no_success(code: Any, shown: str) -> None:
    error = to_error(failure_of(SystemExit(code)))
    assert isinstance(error, WorkerExited)
    assert f"rank 2 called sys.exit({shown})" in str(error)


def test_the_librarys_own_errors_keep_their_class() -> None:
    error = to_error(failure_of(MessageMismatchError("the tags do not match", rank=2)))
    assert isinstance(error, MessageMismatchError)
    assert "the tags do not match" in str(error)


def test_an_endless_message_is_shortened() -> None:
    assert len(str(to_error(failure_of(ValueError("x" * 10**6))))) < 10_000


def test_a_watchdog_that_strikes_in_a_check_of_ours_is_told_at_the_learners_line() -> None:
    struck = function_of("1 // zero", {"zero": 0})
    with pytest.raises(ZeroDivisionError) as raised:
        struck()
    here = user_frame(frames_of(raised.tb))
    assert here is not None
    assert here[0] == __file__


def test_functions_that_call_each_other_are_told_once() -> None:
    frames = (("a.py", 1, "start"), *[("a.py", 5, "even"), ("a.py", 9, "odd")] * 15)
    assert render(frames).splitlines() == [
        *("  a.py, line 1, in start", "  a.py, line 5, in even", "  a.py, line 9, in odd"),
        "  ... and the same again, many times",
    ]


class Claims(RunError):
    """A learner's own."""


@pytest.mark.parametrize(
    ("error", "travels"),
    [
        (PeerFinishedError("rank 1 has returned", peer=1), True),
        (Claims("mine"), False),
        (ValueError("mine"), False),
    ],
)
def test_on_a_computer_that_is_too_busy_the_librarys_own_errors_stay_what_they_are(
    monkeypatch, error, travels
):
    patient = failures._attempt
    monkeypatch.setattr(  # a thread that was given some time has not come to anything
        failures, "_attempt", lambda step, for_s: patient(step, None) if for_s is None else None
    )
    failure = Failure.of(error, 2, 0.5, 0.3)
    assert (failure.original is not None) == travels
    assert (type(to_error(failure)) is type(error)) == travels
