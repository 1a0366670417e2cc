"""Nothing grows: neither processes nor memory names nor files nor threads, however many runs."""

import numpy as np
import pytest

from course_lib import run
from tests.residue import assert_nothing_left, residue

pytestmark = pytest.mark.slow


def exchange(comm):
    got = comm.sendrecv(np.full(10, comm.rank), dst=1 - comm.rank, src=1 - comm.rank)
    return int(got[0])


def launch_many(n_launches, method):
    for launch in range(n_launches):
        if launch == 1:
            before = residue()  # whatever stays for good is there after the first
        assert run(exchange, workers=2, start_method=method).values == [1, 0]
    assert_nothing_left(before)


def test_two_hundred_launches_leave_nothing_behind(usual_method):
    launch_many(200, usual_method)


@pytest.mark.soak
def test_a_thousand_launches_leave_nothing_behind(start_method):
    launch_many(1000, start_method)
