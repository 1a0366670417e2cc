"""What ``run`` does under torchrun, and under mpiexec: join the ranks that there are.

There is no launcher then: each rank is a program of its own, which torchrun has started and ends
if another fails. So the ranks tell each other what a launcher would hear: what each has returned,
to rank 0, and that one has failed, to all. What a rank cannot tell, its witness does (``lookout``).
"""

import json
import pickle
import time
from collections.abc import Callable
from contextvars import Context
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch

from course_lib.comm.ambient.surroundings import surroundings
from course_lib.comm.collective_order import Sites, mismatch, site_of
from course_lib.comm.communicator import WORLD
from course_lib.comm.errors import CollectiveMismatchError, PeerFinishedError, RunError
from course_lib.comm.failures import Failure, to_error
from course_lib.comm.frames import place, user_frame
from course_lib.comm.job import Job
from course_lib.comm.processes.launcher.launcher import out_of_step, unreceived
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.rank.rank_context import RankContext
from course_lib.comm.processes.worker.control import Done
from course_lib.comm.processes.worker.worker import done
from course_lib.comm.rates import Rates
from course_lib.comm.result import Result, inside_worker
from course_lib.comm.settings import Settings
from course_lib.comm.shipping import load_call, load_value, pack_call, pack_value
from course_lib.comm.torch_backend.abandoned import abandon
from course_lib.comm.torch_backend.communicator import TorchCommunicator
from course_lib.comm.torch_backend.joining import Started, Torchrun, Wires
from course_lib.comm.torch_backend.lookout import Lookout
from course_lib.comm.torch_backend.once_a_host import write_once
from course_lib.comm.torch_backend.progress import REPORTS
from course_lib.comm.torch_backend.remote_progress import RemoteProgress
from course_lib.comm.unreceived import warn_unreceived
from course_lib.trace.recorder import Recorder, assemble

__all__ = ["take_part"]

_ROUNDS = 8
_ANOTHER_TELLS_S = 3.0
"""How long another rank has for its own words on a failure; a busy one needs over a second."""
_ADDRESS_BYTES = 512


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
        If this rank fails, or another has: then on every rank.
    """
    started = started or Torchrun()
    rank, size = started.rank, job.workers
    board = WaitBoard(memoryview(bytearray(8 * WaitBoard.WORDS * size)).cast("q"), None)
    lookout = Lookout(rank, size, started.host)
    try:
        wires = started.join(job.time_limit_s)
    except BaseException:
        lookout.end(at_once=True)
        raise
    progress = RemoteProgress(rank, size, board, wires, job.time_limit_s)
    address = lookout.address(started.address()) if rank == 0 else ""
    lookout.watch(_of_rank_0(address, wires, rank, size), progress.lose)
    origin_s = _common_origin_s(wires, rank, size)
    settings = _settings_of_rank_0(job.settings, wires, rank, size)
    progress.connect()
    timer, sites = progress.end_at_deadline(), Sites()
    try:
        context = RankContext(
            progress, None, settings, origin_s, fail=progress.stop, sites=sites
        )  # fmt: skip
        with inside_worker(rank), surroundings(settings.seed) as around:
            # As every rank anywhere, and what it returns is of a class that rank 0 knows.
            fn, args = load_call(pack_call(job.fn, job.args, alike=True), rank)
            around.seed_again()  # loading may have drawn
            reports = _call(fn, args, context)
        progress.finish()
        progress.close()
    except BaseException as error:
        abandon(wires.abort)
        told = _told(error, progress, time.perf_counter() - origin_s, sites)
        write_once(told)
        raise told from None
    finally:
        timer.cancel()
        lookout.end()
    return _result(settings, reports, started.backend)


def _call(fn: Callable[..., Any], args: tuple[Any, ...], context: RankContext) -> list[Done | None]:
    """Call the function; return what is known of how each rank ended."""
    progress: RemoteProgress = context.progress
    flow = progress.open_flow(WORLD)
    progress.enter(flow)
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


def _of_rank_0(text: str, wires: Wires, rank: int, size: int) -> str:
    """Return a short text of rank 0's on every rank."""
    payload = torch.zeros(_ADDRESS_BYTES, dtype=torch.uint8)
    if rank != 0:
        wires.receive(payload, 0, 0, on_device=False).wait()
        return bytes(payload.numpy()).rstrip(b"\0").decode()
    data = text.encode()
    payload[: len(data)] = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[
        : len(data)
    ]
    for peer in range(1, size):
        wires.send(payload, peer, 0, on_device=False).wait()
    return text


def _settings_of_rank_0(settings: Settings, wires: Wires, rank: int, size: int) -> Settings:
    """Return rank 0's settings, but for those that only a launcher goes by.

    Every computer has its own fit of rates, or none, and programs that seed themselves by the clock
    would each have another seed.
    """
    told = settings.eager_bytes, settings.seed, settings.trace, settings.rates.numbers
    eager_bytes, seed, trace, numbers = json.loads(_of_rank_0(json.dumps(told), wires, rank, size))
    alpha_s, beta_s_per_byte, gamma_s_per_byte = numbers  # no text: a file's name may be long
    rates = Rates(alpha_s, beta_s_per_byte, gamma_s_per_byte, "of rank 0")
    return replace(settings, eager_bytes=eager_bytes, seed=seed, trace=trace, rates=rates)


def _common_origin_s(wires: Wires, rank: int, size: int) -> float:
    """Return the run's time 0, a moment of rank 0, on this rank's clock.

    Each rank asks rank 0 for its time, as often as it takes for one answer to be fast.
    """
    if rank == 0:
        for peer in range(1, size):
            for _ in range(_ROUNDS):
                _hear(wires, peer)
                _say(wires, peer, time.perf_counter())
        origin_s = time.perf_counter()
        for peer in range(1, size):
            _say(wires, peer, origin_s)
        return origin_s
    answers = []
    for _ in range(_ROUNDS):
        asked_s = time.perf_counter()
        _say(wires, 0, 0.0)
        theirs_s = _hear(wires, 0)
        answered_s = time.perf_counter()
        answers.append((answered_s - asked_s, (asked_s + answered_s) / 2 - theirs_s))
    return _hear(wires, 0) + min(answers)[1]


def _say(wires: Wires, dst: int, time_s: float) -> None:
    payload = torch.tensor([time_s], dtype=torch.float64)
    wires.send(payload, dst, 0, on_device=False).wait()


def _hear(wires: Wires, src: int) -> float:
    room = torch.empty(1, dtype=torch.float64)
    wires.receive(room, src, 0, on_device=False).wait()
    return float(room)


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
    progress.tell_failure(pickle.dumps(failure))
    if issubclass(kind, KeyboardInterrupt):
        where = place(user_frame(failure.frames))
        return KeyboardInterrupt(f"the run was interrupted; rank {progress.rank} was at {where}")
    if issubclass(kind, RunError) and not issubclass(kind, PeerFinishedError):
        return error
    return to_error(failure)  # says where


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
