"""Schedules of faults: drawn from a seed, written down, told, compared and refused."""

import math

import pytest

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.comm.simulated.faults import (
    Crash,
    Delay,
    Drop,
    Duplicate,
    Faults,
    Partition,
    SlowLink,
    schedule,
)
from tests.simulated.test_faults import numbers, simulate


def test_a_schedule_is_the_same_for_the_same_seed_and_has_what_was_asked_for():
    counts = {"crash": 1, "restart": 2, "slow_link": 1, "drop": 2, "duplicate": 1, "delay": 1,
              "partition": 1}  # fmt: skip
    drawn = [schedule(seed, 8, within_s=2.0, **counts) for seed in range(20)]
    assert drawn == [schedule(seed, 8, within_s=2.0, **counts) for seed in range(20)]
    assert len(set(drawn)) == 20
    for faults in drawn:
        faults.check(8)
        crashes = [event for event in faults.events if isinstance(event, Crash)]
        assert len({event.rank for event in crashes}) == 3
        assert sum(event.restart_at_s is None for event in crashes) == 1
        assert all(0 < event.at_s < 2.0 for event in crashes)
        kinds = [type(event).__name__ for event in faults.events]
        assert [kinds.count(kind) for kind in ("SlowLink", "Drop", "Partition")] == [1, 2, 1]


def test_a_schedule_can_be_pasted_from_the_error():
    faults = schedule(
        3, 4, within_s=9.0, restart=1, slow_link=1, drop=1, duplicate=1, delay=1, partition=1,
    )  # fmt: skip
    assert eval(repr(faults), {**globals(), "inf": math.inf}) == faults


def test_schedules_that_differ_are_not_equal():
    assert Faults([Drop(0, 1, 1)]) == Faults([Drop(0, 1, 1)])
    assert Faults([Drop(0, 1, 1)]) != Faults([Drop(0, 1, 2)])
    assert Faults([]) != ()


@pytest.mark.parametrize(
    ("make", "exception", "text"),
    [
        (lambda: Crash(-1, 1.0), ValueError, "rank must be an int of 0 or more"),
        (lambda: Crash(0, -1.0), ValueError, "at_s must be 0 or more"),
        (lambda: Crash(0, math.nan), ValueError, "at_s must be 0 or more"),
        (lambda: Crash(0, "soon"), TypeError, "at_s must be a number"),
        (lambda: Crash(0, 2.0, 2.0), ValueError, "restart_at_s must be above at_s=2.0"),
        (lambda: Drop(0, 0, 1), ValueError, "dst must be another rank"),
        (lambda: Drop(0, 1, 0), ValueError, "nth must be an int of 1 or more"),
        (lambda: Duplicate(0, 1.0, 1), TypeError, "dst must be an int"),
        (lambda: Delay(0, 1, 1, -1.0), ValueError, "by_s must be 0 or more"),
        (lambda: Delay(0, 1, 1, math.nan), ValueError, "by_s must be 0 or more"),
        (lambda: Partition((), 0.0, 1.0), TypeError, "group must be a tuple"),
        (lambda: Partition((0,), 1.0, 0.5), ValueError, "until_s must be above from_s"),
        (lambda: Partition((0,), 1.0, math.inf), ValueError, "until_s must be finite"),
        (lambda: Faults(["crash"]), TypeError, "events must be Crash"),
        (lambda: Faults(Crash(1, at_s=1.0)), TypeError, "events must be a list of faults"),
        (lambda: Faults([Crash(0, 1.0, 3.0), Crash(0, 2.0)]), ValueError, "has it down"),
        (lambda: Faults([Crash(0, 1.0), Crash(0, 1.0)]), ValueError, "has it down"),
        (lambda: schedule(1, 4, within_s=0.0), ValueError, "within_s must be above 0"),
        (lambda: schedule(1, 4, within_s=math.nan), ValueError, "within_s must be above 0"),
        (lambda: schedule(-1, 4, within_s=1.0), ValueError, "seed must be an int of 0 or more"),
        (lambda: schedule(1, 4, within_s=1.0, drop=1.5), TypeError, "drop must be an int"),
        (lambda: schedule(1, 4, within_s=1.0, delay=2**70), ValueError, "delay must be .* 100,000"),
        (lambda: schedule(1, 4, within_s=1.0, crash=3, restart=2), ValueError, "at most workers=4"),
        (lambda: schedule(1, 1, within_s=1.0, drop=1), ValueError, "workers must be 2 or more"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_by_name(make, exception, text):
    with pytest.raises(exception, match=text):
        make()


@pytest.mark.parametrize(
    "event", [Crash(2, 1.0), Drop(0, 2, 1), SlowLink(2, 0, 2.0), Partition((0, 2), 1.0, 2.0)]
)
def test_a_schedule_must_fit_the_run(event):
    def never(comm):
        raise AssertionError("this must not start")

    with pytest.raises(ValueError, match=r"faults has .*, but workers=2: there is no rank 2"):
        simulate(never, faults=[event])


def test_faults_are_for_the_simulator_and_of_their_kind():
    with pytest.raises(ValueError, match='faults is only for backend="simulated"'):
        run(numbers, 1, 1, workers=2, faults=Faults([]))
    with pytest.raises(TypeError, match="faults must be Faults such as"):
        run(numbers, 1, 1, workers=2, backend="simulated", faults=[Drop(0, 1, 1)])


def test_an_error_without_any_fault_yet_says_so():
    def fail(comm):
        raise ValueError("mine")

    with pytest.raises(RunError, match=r"mine(.|\n)*no fault had happened yet\nthe same again: f"):
        simulate(fail, faults=[Drop(0, 1, 5)])
