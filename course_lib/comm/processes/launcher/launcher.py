"""What ``run`` does in worlds of real processes: start workers, watch them, say how it ended."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from course_lib.comm import collective_order
from course_lib.comm.errors import RunError
from course_lib.comm.forks import free_in_copies, in_copies
from course_lib.comm.job import Job
from course_lib.comm.limits import refusals_told
from course_lib.comm.memory import warn_of_memory
from course_lib.comm.messages import Tag
from course_lib.comm.processes.launcher import explain, fork_server_folder, start_methods
from course_lib.comm.processes.launcher.account import Phase
from course_lib.comm.processes.launcher.ends import ended_with_the_program
from course_lib.comm.processes.launcher.explain_deadlock import explain_deadlock
from course_lib.comm.processes.launcher.interrupts import WakingInterrupts
from course_lib.comm.processes.launcher.losses import Losses
from course_lib.comm.processes.launcher.supervisor import Ending, Supervisor
from course_lib.comm.processes.launcher.worker_handle import WorkerHandle
from course_lib.comm.processes.memory import shared_memory
from course_lib.comm.processes.rank.rank_context import FORGOTTEN
from course_lib.comm.processes.rank.transport import SharedMemory, SurvivingMemory, Transport
from course_lib.comm.processes.worker.control import Done
from course_lib.comm.result import Lost, Result
from course_lib.comm.shipping import load_value, pack_call
from course_lib.comm.unreceived import warn_unreceived
from course_lib.comm.warn import warn_caller
from course_lib.trace.events import NO_RECORD, Fault
from course_lib.trace.recorder import Recorder, assemble
from course_lib.trace.trace import Trace

__all__ = [
    "LOAD_LEAST_S",
    "START_LIMIT_S",
    "SharedMemory",
    "SurvivingMemory",
    "launch",
    "out_of_step",
    "unreceived",
]

START_LIMIT_S = 60.0
"""How long workers may take to start."""
LOAD_LEAST_S = 10.0
"""To load the function they have as long as the run, and at least so long: torch takes its time.
The run's own limit counts from then."""

_LEAVE_S = 0.5
_running_lock = free_in_copies(threading.Lock())
_n_running = 0


@in_copies
def _begin_anew() -> None:
    global _n_running
    _n_running = 0


shared_memory.sweep()
fork_server_folder.sweep()


def launch(job: Job, start_method: str | None, transport: Transport) -> Result:
    """Run a job on real processes.

    Parameters
    ----------
    job : Job
        The checked call of ``run``.
    start_method : {"forkserver", "spawn"} or None
        How to start processes; None takes the best there is.
    transport : Transport
        How messages move.

    Returns
    -------
    Result
        What each rank returned, the trace, and the time from the common start to the last return.

    Raises
    ------
    RunError
        If the run failed.
    KeyboardInterrupt
        If the user interrupted it; every worker has ended then.
    """
    method = start_methods.choose_method(start_method)
    call = pack_call(job.fn, job.args)
    warn_of_memory(job.fn, job.args, len(call), job.workers, method)
    with (
        refusals_told(),
        WakingInterrupts() as interrupts,
        ended_with_the_program(interrupts),
        transport,
        _context(method, transport.preload) as context,
    ):
        supervisor = Supervisor(job, context, interrupts, transport)
        workers = supervisor.workers
        error = _run(supervisor, job, call)
    losses = supervisor.losses
    error = interrupts.outcome(error, "its workers were leaving")
    if error is not None:
        if isinstance(error, RunError) and job.settings.trace:
            error.trace = _trace(workers, transport.backend, _faults(error, workers), losses)
        raise error from None
    result = _result(job, workers, transport.backend, losses)
    _warn_of_late_crashes(workers)
    _warn_of_lost_output(workers)
    if losses is None or not losses.happened:
        reports = {m.rank: m.done for m in workers if m.done is not None}
        warn_unreceived(unreceived(result, reports), out_of_step(reports))
    return result


def _run(supervisor: Supervisor, job: Job, call: bytes) -> BaseException | None:
    """Take the workers through their phases; end them all; return what went wrong."""
    ending, limit_s, leave_s = Ending.FAILURE, START_LIMIT_S, 0.0
    try:
        supervisor.start(call, dict(os.environ))
        ending = supervisor.wait(Phase.ATTACHED, limit_s)
        if ending is Ending.WELL:
            supervisor.all_attached()
            limit_s = max(job.time_limit_s, LOAD_LEAST_S)
            ending = supervisor.wait(Phase.LOADED, limit_s)
        if ending is Ending.WELL:
            supervisor.go()
            limit_s = job.time_limit_s
            ending = supervisor.wait(Phase.DONE, limit_s)
        leave_s = _LEAVE_S if ending is Ending.WELL else 0.0
        recall = job.settings.trace and ending is not Ending.INTERRUPT
        board = supervisor.locate(recall=recall) if leave_s == 0 else None
    except RunError as error:
        return error
    finally:
        supervisor.end(leave_s)
    if board is None:
        return None
    if supervisor.losses is not None and supervisor.losses.everybody_is_lost:
        return supervisor.losses.whole_story()
    if ending is Ending.FAILURE:
        return explain.explain_failure(supervisor.workers, board, supervisor.origin_s)
    if ending is Ending.DEADLOCK:
        lost = () if supervisor.losses is None else supervisor.losses.gone
        return explain_deadlock(
            supervisor.workers, board, supervisor.deadlock, job.settings.eager_bytes, lost
        )
    if ending is Ending.STALL:
        return explain.explain_stall(supervisor.workers, board, supervisor.stalled)
    if ending is Ending.TIMEOUT:
        return explain.explain_timeout(supervisor.workers, board, limit_s)
    return explain.explain_interrupt(supervisor.workers, board)


@contextmanager
def _context(method: str, preload: tuple[str, ...]) -> Iterator[Any]:
    global _n_running
    with _running_lock:
        context = start_methods.context(method, preload, nothing_runs=_n_running == 0)
        _n_running += 1
    try:
        yield context
    finally:
        with _running_lock:
            _n_running -= 1


def _result(job: Job, workers: list[WorkerHandle], backend: str, losses: Losses | None) -> Result:
    values, elapsed_s = [], 0.0
    for worker in workers:
        if worker.lost:
            values.append(Lost(worker.lost))
            continue
        assert worker.done is not None
        elapsed_s = max(elapsed_s, worker.done.ended_s)
        values.append(load_value(worker.done.value, worker.rank))
    trace = _trace(workers, backend, [], losses) if job.settings.trace else None
    return Result(values, elapsed_s, backend, trace)


def _trace(
    workers: list[WorkerHandle], backend: str, faults: list[Fault], losses: Losses | None
) -> Trace:
    recorders = [worker.recorder or Recorder(worker.rank) for worker in workers]
    if losses is not None:  # what lives on has its record, and what is lost has had one
        recorders = [Recorder(m.rank) if m.lost else recorders[m.rank] for m in workers]
        recorders += losses.recorders
        faults = [*losses.happened, *faults]
    return assemble(recorders, backend=backend, clock="measured", faults=faults)


def _faults(error: RunError, workers: list[WorkerHandle]) -> list[Fault]:
    """Tell the trace of the failure, and of the ranks whose records nobody has any more."""
    time_s = min((m.failure.failure.time_s for m in workers if m.failure is not None), default=0.0)
    summary = str(error.args[0]).splitlines()[0]
    faults = [Fault(error.rank, type(error).__name__, summary, time_s)]
    for worker in workers:
        if worker.recorder is None and worker.phase >= Phase.RUNNING and not worker.lost:
            text = f"what rank {worker.rank} had recorded was lost with it"
            faults.append(Fault(worker.rank, NO_RECORD, text, time_s))
    return faults


def unreceived(result: Result, reports: dict[int, Done]) -> list[tuple[int, int, Tag]]:
    """List the messages that nobody received: from whom, to whom, and the tag."""
    if result.recorded is not None:
        return [(m.src, m.dst, m.tag) for m in result.recorded.unreceived()]
    left: list[tuple[int, int, Tag]] = []
    for src, sender in reports.items():
        n_left = _left_to_each(src, reports)
        for (name, dst), n_sent in sender.sent.items():
            n_here = n_sent - _received(reports[dst], name, src, n_sent)
            tags = sender.last_tags[name, dst][-n_here:] if n_here else ()
            left += [(src, dst, tag) for tag in tags]
            n_left[dst] -= len(tags)
        left += [(src, dst, "unknown") for dst in n_left.elements()]
    return left


def _left_to_each(src: int, reports: dict[int, Done]) -> Counter[int]:
    """Count the messages that nobody received, in all communicators together."""
    n_left: Counter[int] = Counter()
    for (_, dst), n_sent in reports[src].sent.items():
        n_left[dst] += n_sent
    for dst in n_left:
        received = reports[dst].received.items()
        n_left[dst] -= sum(n for (_, from_), n in received if from_ == src)
    return n_left


def _received(report: Done, name: str, src: int, n_sent: int) -> int:
    """Count what was received in one communicator; as if all, where a rank has forgotten that."""
    forgotten = name == FORGOTTEN or (
        name not in report.last_stamps and (FORGOTTEN, src) in report.received
    )
    return n_sent if forgotten else report.received.get((name, src), 0)


def out_of_step(reports: dict[int, Done]) -> Iterator[str]:
    """Say of each communicator in which collectives its ranks were last, if in different ones."""
    for name in dict.fromkeys(name for report in reports.values() for name in report.last_stamps):
        yield collective_order.out_of_step([
            collective_order.entered_with(
                reports[rank].last_stamps.get(name, 0), rank, name, reports[rank].sites
            )
            for rank in _members(name, reports)
        ])  # fmt: skip


def _members(name: str, reports: dict[int, Done]) -> list[int]:
    """List who has a communicator; where it was started, also those who have never started it."""
    parent, _, last = name.rpartition("/")
    of_parent = _members(parent, reports) if last.startswith("start ") else []
    return [
        rank
        for rank, report in reports.items()
        if name in report.last_stamps
        or (rank in of_parent and FORGOTTEN not in report.last_stamps)  # else it may have had it
    ]


def _warn_of_lost_output(workers: list[WorkerHandle]) -> None:
    refusals = {worker.rank: worker.printer.refusal for worker in workers}
    lost = {rank: refusal for rank, refusal in refusals.items() if refusal is not None}
    if lost:
        ranks = f"rank{'s' * (len(lost) > 1)} {', '.join(map(str, lost))}"
        warn_caller(
            f"not all that {ranks} printed could be shown: {next(iter(lost.values()))}; "
            "make room where this program's output goes"
        )


def _warn_of_late_crashes(workers: list[WorkerHandle]) -> None:
    for worker in workers:
        if worker.exit_code and not (worker.ended_by_us or worker.lost):
            warn_caller(
                f"rank {worker.rank} returned its result and then ended with exit code "
                f"{worker.exit_code}; the result is kept"
            )
