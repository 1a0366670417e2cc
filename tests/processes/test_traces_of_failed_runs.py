"""What a run had recorded when it failed: of all ranks, or the trace says that it is a part."""

import os
import signal
import sys
import time

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import DeadlockError, LaunchTimeout, RunError, WorkerError
from course_lib.viz import export_page

pytestmark = pytest.mark.slow
BACKENDS = ["simulated", "processes", "torch"]


def exchange(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.sendrecv(np.ones(4), dst=right, src=left)


def exchange_and_fail(comm):
    exchange(comm)
    comm.barrier()
    if comm.rank == 2:
        raise ValueError("no")
    comm.note("after", 1)
    comm.recv(src=2)


def exchange_and_wait(comm):
    exchange(comm)
    comm.recv(src=(comm.rank + 1) % comm.size)


def exchange_and_loop(comm):
    exchange(comm)
    comm.barrier()
    while comm.rank == 1:
        pass
    comm.recv(src=1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("fn", "kind", "options"),
    [
        (exchange_and_fail, WorkerError, {}),
        (exchange_and_wait, DeadlockError, {}),
        (exchange_and_loop, LaunchTimeout, {"time_limit_s": 1.0}),
    ],
)
def test_a_run_that_failed_shows_the_messages_of_all_ranks(backend, fn, kind, options):
    with pytest.raises(kind) as raised:
        run(fn, workers=4, backend=backend, **options)
    trace = raised.value.trace
    pairs = sorted((m.src, m.dst, m.received_s is not None) for m in trace.messages)
    assert pairs == [(0, 1, True), (1, 2, True), (2, 3, True), (3, 0, True)]
    assert trace.unrecorded == []
    assert [fault.kind for fault in trace.faults] == [kind.__name__]
    assert "without" not in repr(trace)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is ended by a signal there")
@pytest.mark.parametrize("backend", ["processes", "torch"])
def test_a_trace_without_what_a_rank_recorded_says_that_it_is_a_part(backend, tmp_path):
    def die(comm):
        exchange(comm)
        comm.barrier()
        if comm.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)

    with pytest.raises(RunError) as raised:
        run(die, workers=4, backend=backend)
    trace = raised.value.trace
    assert trace.n_messages == 3
    assert trace.unrecorded == [2]
    assert type(trace).from_json(trace.to_json()).unrecorded == [2]
    assert repr(trace).endswith("measured time, without what rank 2 recorded)")
    export_page(trace, tmp_path / "trace.html")
    assert "without what rank 2 recorded" in (tmp_path / "trace.html").read_text()
