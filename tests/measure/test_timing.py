"""The one loop that takes the time, on a clock that tells what it is asked."""

from itertools import count

import pytest

from course_lib.measure.timing import calls_a_round, slowest, time_rounds


@pytest.mark.parametrize("warm_up", [0, 1, 2])
def test_only_the_work_of_rounds_that_count_is_timed(warm_up):
    clock, events = count(), []

    def begin():
        events.append("begin")
        next(clock)  # outside the time
        return lambda: [events.append("work"), next(clock)]

    def check(done):
        events.append("check")
        assert done[0] is None
        next(clock)

    seconds = time_rounds(
        begin, 3, calls=4, warm_up=warm_up, check=check, clock=lambda: next(clock)
    )
    assert seconds == [2 / 4] * 3
    assert events == ["begin", "work", "check"] * (3 + warm_up)


def test_a_round_s_results_are_gone_before_the_next_one_begins():
    class Result:
        alive = 0

        def __init__(self):
            Result.alive += 1

        def __del__(self):
            Result.alive -= 1

    def begin():
        assert Result.alive == 0
        return Result

    assert len(time_rounds(begin, 3)) == 3


def test_short_calls_are_made_often_and_long_ones_once():
    assert [calls_a_round(n_bytes) for n_bytes in (8, 2**20, 2**26)] == [100, 4, 1]
    assert calls_a_round(2**26, least=2) == 2


def test_a_round_takes_as_long_as_its_slowest_rank():
    assert slowest([(1, 5, 2), (3, 4, 2)]) == [3, 5, 2]
