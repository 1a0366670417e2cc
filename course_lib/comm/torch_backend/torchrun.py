"""What ``run`` does under torchrun, and under mpiexec: join the ranks that there are.

There is no launcher then: each rank is a program of its own, which torchrun has started and ends
if another fails. So the ranks tell each other what a launcher would hear: what each has returned,
to rank 0, and that one has failed, to all. What a rank cannot tell, its witness does (``lookout``).
"""

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from functools import partial
from typing import Any, cast

import numpy as np

from course_lib.comm.ambient.surroundings import surroundings
from course_lib.comm.collective_order import Sites, mismatch, site_of
from course_lib.comm.communicator import WORLD
from course_lib.comm.errors import (
    CollectiveMismatchError,
    LaunchError,
    PeerFinishedError,
    RunError,
)
from course_lib.comm.failures import Failure, to_error
from course_lib.comm.forks import free_in_copies
from course_lib.comm.frames import is_of_library, place, user_frame
from course_lib.comm.interrupts import Interrupts
from course_lib.comm.job import Job
from course_lib.comm.processes.launcher.launcher import out_of_step, unreceived
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.rank.rank_context import RankContext
from course_lib.comm.processes.worker.control import Done
from course_lib.comm.processes.worker.worker import done
from course_lib.comm.result import Result, inside_worker
from course_lib.comm.settings import Settings
from course_lib.comm.shipping import load_call, load_value, pack_call, pack_value
from course_lib.comm.torch_backend.abandoned import abandon
from course_lib.comm.torch_backend.beginning import (
    beginning,
    common_origin_s,
    of_rank_0,
    settings_of_rank_0,
)
from course_lib.comm.torch_backend.communicator import TorchCommunicator
from course_lib.comm.torch_backend.joining import Started, Torchrun
from course_lib.comm.torch_backend.lookout import Lookout
from course_lib.comm.torch_backend.once_a_host import write_once
from course_lib.comm.torch_backend.progress import REPORTS
from course_lib.comm.torch_backend.remote_progress import RemoteProgress
from course_lib.comm.unreceived import warn_unreceived
from course_lib.trace.recorder import Recorder, assemble

__all__ = ["take_part"]

_ANOTHER_TELLS_S = 3.0
"""How long another rank has for its own words on a failure; a busy one needs over a second."""
_RUN = free_in_copies(threading.Lock())
"""Held by the thread that is in a run."""


def take_part(job: Job, started: Started | None = None) -> Result:
    """Be this program's rank of a run.

    Parameters
    ----------
    job : Job
        The checked call of ``run``, the same in all programs.
    started : Started or None, default: None
        What has started the ranks; None is torchrun.

    Returns
    -------
    Result
        On rank 0 all of it; on another rank its own value (None for the others) and its own events.

    Raises
    ------
    RunError
        If this rank fails, or another has: then on every rank. At once, if another thread of this
        program is in a run.
    """
    with Interrupts() as interrupts, _alone():
        return _take_part(job, started or Torchrun(), interrupts)


@contextmanager
def _alone() -> Iterator[None]:
    """Refuse a second run: which ones of two threads belong together, no program could tell."""
    if not _RUN.acquire(blocking=False):
        raise LaunchError(
            "another thread of this program is in a run(); a program that torchrun or mpiexec has "
            "started is one rank of one run at a time: call run() in one thread, one after another"
        )
    try:
        yield
    finally:
        _RUN.release()


def _take_part(job: Job, started: Started, interrupts: Interrupts) -> Result:
    """Be this program's rank of a run; others count on it, so it is interrupted where they hear."""
    rank, size = started.rank, job.workers
    board = WaitBoard(memoryview(bytearray(8 * WaitBoard.WORDS * size)).cast("q"), None)
    lookout = Lookout(rank, size, started.host)
    try:
        wires = interrupts.call(partial(started.join, job.time_limit_s))
    except BaseException:
        lookout.end(at_once=True)
        raise
    progress = RemoteProgress(rank, size, board, wires, job.time_limit_s)
    timer, sites, origin_s = progress.end_at_deadline(), Sites(), time.perf_counter()
    try:
        with beginning(rank):
            address = lookout.address(started.address()) if rank == 0 else ""
            lookout.watch(of_rank_0(address, wires, rank, size), progress.lose)
            origin_s = common_origin_s(wires, rank, size)
            settings = settings_of_rank_0(job.settings, wires, rank, size)
        progress.connect()
        context = RankContext(
            progress, None, settings, origin_s, fail=progress.stop, sites=sites
        )  # fmt: skip
        reports = interrupts.call(partial(_work, job, context))
    except BaseException as error:
        abandon(wires)
        told = _told(error, progress, time.perf_counter() - origin_s, sites)
        write_once(told)
        raise told from None
    finally:
        timer.cancel()
        lookout.end()
    return interrupts.call(partial(_result, settings, reports, started.backend))


def _work(job: Job, context: RankContext) -> list[Done | None]:
    """Call the function, and wait for the others; return what is known of how each rank ended."""
    progress: RemoteProgress = context.progress
    with inside_worker(progress.rank), surroundings(context.settings.seed) as around:
        # As every rank anywhere, and what it returns is of a class that rank 0 knows.
        fn, args = load_call(pack_call(job.fn, job.args, alike=True), progress.rank)
        around.seed_again()  # loading may have drawn
        reports = _call(fn, args, context)
    progress.finish()
    progress.close()
    return reports


def _call(fn: Callable[..., Any], args: tuple[Any, ...], context: RankContext) -> list[Done | None]:
    """Call the function; return what is known of how each rank ended."""
    progress: RemoteProgress = context.progress
    flow = progress.open_flow(WORLD)
    progress.enter(flow)
    progress.has_begun = True
    comm = TorchCommunicator(context, flow)
    # NumPy's errstate, decimal's precision and the like are as in a new process, and stay here.
    value = Context().run(fn, comm, *args)
    progress.settle_all(flow)
    progress.wait_for_all(flow)
    mine = done(context, pack_value(value, progress.rank), context.clock())
    progress.tell_returned()
    # Another communicator: nobody who still waits for this rank is to take a report for its answer.
    comm = TorchCommunicator(context, flow, REPORTS)
    reports: list[Done | None] = [
        mine if rank == progress.rank else None for rank in range(progress.size)
    ]
    if progress.rank != 0:
        comm.quietly_report(np.frombuffer(pickle.dumps(mine), np.uint8))
    else:
        for rank in range(1, progress.size):
            reports[rank] = pickle.loads(comm.quietly_hear(rank).tobytes())
    return reports


def _told(
    error: BaseException, progress: RemoteProgress, time_s: float, sites: Sites
) -> BaseException:
    """Return what to raise for an exception: if another rank has failed, that rank's failure."""
    error = progress.cause_of(error)
    if progress.is_consequence(error):
        progress.await_word(_ANOTHER_TELLS_S)
    kind = type(error)  # isinstance would ask the exception, which may answer with another one
    if issubclass(kind, CollectiveMismatchError):
        return _of_both(cast(CollectiveMismatchError, error), progress, time_s)
    if progress.told is not None:
        told = to_error(pickle.loads(progress.told))
        if isinstance(told, CollectiveMismatchError):
            return _of_both(told, progress, time_s, sites)
        return told
    if progress.lost is not None:
        return progress.lost
    failure = Failure.of(error, progress.rank, time_s)
    if issubclass(kind, KeyboardInterrupt):
        return _interrupted(failure, progress)
    progress.tell_failure(pickle.dumps(failure))
    if issubclass(kind, RunError) and not issubclass(kind, PeerFinishedError):
        return error
    return to_error(failure)  # says where


def _interrupted(failure: Failure, progress: RemoteProgress) -> KeyboardInterrupt:
    """Tell the others where Ctrl-C has reached this rank; return what to raise here."""
    rank, at = failure.rank, user_frame(failure.frames)
    if at is None or is_of_library(at):  # not in the rank's function
        when = "before its function was called"
        if progress.has_begun:
            when = "while it waited for the others"
        text = f"rank {rank} was interrupted {when}"
        failure = Failure.of(LaunchError(text, rank=rank), rank, failure.time_s)
        told = f"the run was interrupted: {text}"
    else:
        told = f"the run was interrupted; rank {rank} was at {place(at)}"
    progress.tell_failure(pickle.dumps(failure))
    return KeyboardInterrupt(told)


def _of_both(
    error: CollectiveMismatchError,
    progress: RemoteProgress,
    time_s: float,
    sites: Sites | None = None,
) -> RunError:
    """Name both ranks that are in different collectives: each knows only of itself in which.

    Parameters
    ----------
    error : CollectiveMismatchError
        This rank's own; with ``sites``, another rank's.
    progress : RemoteProgress
        Tells the others, and hears of them.
    time_s : float
        The time on the run's clock.
    sites : Sites or None, default: None
        Where this rank has called collectives, to fill in for another one what it did not know.

    Returns
    -------
    RunError
        With both, where the other one has told of itself in time.
    """
    unknown = [one for one in error.entered if one.site is None and one.number is not None]
    told: CollectiveMismatchError | None = None
    if sites is None:
        progress.tell_failure(pickle.dumps(Failure.of(error, progress.rank, time_s)))
        if unknown:
            progress.await_word(_ANOTHER_TELLS_S)
        failure = None if progress.told is None else to_error(pickle.loads(progress.told))
        told = failure if isinstance(failure, CollectiveMismatchError) else None
    known = {} if told is None else {(one.rank, one.number): one for one in told.entered}
    for one in unknown:
        if sites is not None and one.rank == progress.rank:
            site = site_of(sites.known, error.stamp)
            known[one.rank, one.number] = one._replace(site=site)
    entered = [known.get((one.rank, one.number), one) for one in unknown]
    if all(one.site is None for one in entered):
        return error
    named = [one for one in error.entered if one not in unknown] + entered
    both = mismatch(named, consequences=error.consequences, stamp=error.stamp)
    if sites is not None:  # the other one waits for that
        progress.tell_failure(pickle.dumps(Failure.of(both, progress.rank, time_s)))
    return both


def _result(settings: Settings, reports: list[Done | None], backend: str) -> Result:
    known = {rank: report for rank, report in enumerate(reports) if report is not None}
    values = [
        None if report is None else load_value(report.value, rank)
        for rank, report in enumerate(reports)
    ]
    elapsed_s = max(report.ended_s for report in known.values())
    trace = None
    if settings.trace:
        recorders = [
            Recorder(rank) if report is None else report.recorder
            for rank, report in enumerate(reports)
        ]
        trace = assemble(recorders, backend=backend, clock="measured")
    result = Result(values, elapsed_s, backend, trace, is_whole=len(known) == len(reports))
    if result.is_whole:
        warn_unreceived(unreceived(result, known), out_of_step(known))
    return result
