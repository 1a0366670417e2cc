"""A worker dies: by an exception, an exit, a signal, a crash, at any moment of its life."""

import time

from course_lib.comm.errors import WorkerError
from tests.faults.table import Case, row

HERE = "at worker_dies.py, line "


@row(1, "a rank raises", limit_s=1.0, workers=3)
def an_exception_comes_with_rank_line_traceback_and_what_the_others_did(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def inner(comm):
        fault()
        raise ZeroDivisionError("planned")

    def work(comm):
        if comm.rank == bad_rank:
            inner(comm)
        comm.recv(src=bad_rank)

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert type(error.original) is ZeroDivisionError
    text = str(error)
    assert text.startswith(f"rank {bad_rank} failed {HERE}")
    assert "ZeroDivisionError: planned" in text
    assert "in work" in text
    assert "in inner" in text
    assert "course_lib" not in text
    assert len(error.consequences) == case.workers - 1
    # Where the others were is asked a moment after the failure; they may have got no further.
    assert all("waited in recv" in line or "was running" in line for line in error.consequences)
    assert [found.kind for found in error.trace.faults] == ["WorkerError"]


@row(2, "all ranks raise", limit_s=1.0, workers=3)
def of_several_exceptions_the_first_by_time_is_raised(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        comm.barrier()
        time.sleep(0.0 if comm.rank == bad_rank else 0.05)
        fault()
        raise ValueError(f"from {comm.rank}")

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert f"ValueError: from {bad_rank}" in str(error)
    # A rank is ended as soon as the first failure is known; it may not have come to its own.
    assert len(error.consequences) == case.workers - 1
    assert all("failed too: ValueError" in line or "was" in line for line in error.consequences)
