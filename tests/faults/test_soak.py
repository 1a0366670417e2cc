"""What takes minutes: a thousand launches that each meet a kill."""

import pytest

from tests.faults.random_kills import a_kill_at_a_random_moment_is_told_and_leaves_nothing
from tests.faults.table import Case

pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_a_thousand_kills_at_random_moments(start_method, tmp_path, temporary_folder):
    case = Case(start_method, workers=3, bad_rank=0, variant=1000, folder=tmp_path)
    a_kill_at_a_random_moment_is_told_and_leaves_nothing(case)
    times_s = sorted(case.times_s)
    print(f"{len(times_s)} told, 99 % within {times_s[int(0.99 * (len(times_s) - 1))]:.3f} s")
    assert times_s[-1] < 20.0
