"""Nothing grows: no processes, names, files, threads, nor memory, however many runs there are."""

import numpy as np
import psutil
import pytest

from course_lib import run
from tests.residue import assert_nothing_left, residue

pytestmark = pytest.mark.slow
MIB = 2**20
SETTLED = 20
"""Launches until the memory has everything that stays for good."""


def exchange(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.size == 1:
        return left
    return int(comm.sendrecv(np.full(10, comm.rank), dst=right, src=left)[0])


def launch_many(n_launches, method, workers):
    """Launch; return by how many bytes the memory of this process has grown."""
    for launch in range(n_launches):
        if launch == 1:
            before = residue()
        if launch == SETTLED:
            held_before = psutil.Process().memory_info().rss
        values = run(exchange, workers=workers, start_method=method).values
        assert values == [(rank - 1) % workers for rank in range(workers)]
    assert_nothing_left(before)
    grown = psutil.Process().memory_info().rss - held_before
    print(f"{n_launches} launches of {workers} ({method}): {grown / MIB:.1f} MiB more memory")
    return grown


@pytest.mark.soak
def test_two_hundred_launches_leave_nothing_behind(usual_method):
    assert launch_many(200, usual_method, workers=2) < 8 * MIB


@pytest.mark.soak
def test_a_thousand_launches_leave_nothing_behind(start_method):
    assert launch_many(1000, start_method, workers=2) < 20 * MIB


@pytest.mark.soak
def test_ten_thousand_launches_leave_nothing_behind(usual_method):
    assert launch_many(10_000, usual_method, workers=1) < 20 * MIB
