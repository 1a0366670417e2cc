"""What the launcher says when a run ends badly: one error, and a line for every other rank."""

import errno
import signal
from collections.abc import Sequence

from course_lib.comm import collective_order
from course_lib.comm.errors import (
    CollectiveMismatchError,
    LaunchError,
    LaunchTimeout,
    RunError,
    WorkerExited,
    WorkerKilled,
    WorkerStalled,
    WorkerStartError,
)
from course_lib.comm.failures import to_error
from course_lib.comm.frames import place, render, user_frame
from course_lib.comm.limits import limit_behind, no_room_for
from course_lib.comm.processes.launcher import describe, stalls
from course_lib.comm.processes.launcher.account import Phase
from course_lib.comm.processes.launcher.fork_server import see_end
from course_lib.comm.processes.launcher.worker_handle import WorkerHandle
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.worker.guards import LINE_CLOSED

__all__ = [
    "explain_failure",
    "explain_interrupt",
    "explain_loss",
    "explain_stall",
    "explain_timeout",
    "fork_server_has_ended",
]

_MOST_STACKS = 4


def explain_failure(workers: list[WorkerHandle], board: WaitBoard, origin_s: float) -> RunError:
    """Return the error for the rank that failed first, once all are gone.

    Parameters
    ----------
    workers : list of WorkerHandle
        All ranks.
    board : WaitBoard
        What each waited for.
    origin_s : float
        The run's time 0, on the clock that all processes share.

    Returns
    -------
    RunError
        The error to raise, with a line for every other rank.
    """
    for worker in workers:
        if worker.n_refused is not None:
            return no_room_for(worker.rank, worker.n_refused, _others(workers, worker, board))
    failed = [m for m in workers if m.failure is not None or (not m.done and _went_by_itself(m))]
    first = min(failed, key=lambda worker: _failed_at(worker, origin_s))
    others = _others(workers, first, board)
    if first.failure is not None:
        return _with_sender(to_error(first.failure.failure, others), workers)
    return _explain_death(first, others)


def explain_loss(worker: WorkerHandle) -> RunError:
    """Return the error for a rank that has failed, in a run that goes on without it."""
    return (
        _explain_death(worker, ()) if worker.failure is None else to_error(worker.failure.failure)
    )


def _went_by_itself(worker: WorkerHandle) -> bool:
    return worker.cut_off or not worker.ended_by_us


def _closed_line(worker: WorkerHandle, consequences: tuple[str, ...]) -> WorkerExited:
    return WorkerExited(
        f"rank {worker.rank} closed its line to the launcher and was ended; "
        "do not close file descriptors that you have not opened, and start another program with "
        "subprocess: os.exec and the like put it in the place of the rank",
        rank=worker.rank,
        consequences=consequences,
    )


def _with_sender(error: RunError, workers: list[WorkerHandle]) -> RunError:
    """Add, to what a rank says of a collective's message, where its sender had called that."""
    if not isinstance(error, CollectiveMismatchError):
        return error
    mine, theirs = error.entered
    sender = workers[theirs.rank]
    frames = sender.frames if sender.failure is None else sender.failure.failure.frames
    theirs = theirs._replace(
        site=collective_order.site_of(sender.sites, error.stamp),
        frame=user_frame(frames) if frames else None,
    )
    return collective_order.mismatch([mine, theirs], consequences=error.consequences)


def explain_timeout(workers: list[WorkerHandle], board: WaitBoard, limit_s: float) -> RunError:
    """Return the error for a time limit that passed: where each rank was, what each waited for."""
    if any(worker.phase < Phase.RUNNING for worker in workers):
        late = [str(m.rank) for m in workers if m.phase < Phase.LOADED]
        return LaunchTimeout(
            f"rank {', '.join(late)} did not load its function within {limit_s:g} s; "
            "look at what is imported and at the size of the arguments"
        )
    lines = [f"the run did not end within {limit_s:g} s (time_limit_s):"]
    lines += [f"  rank {m.rank} {describe.state(m, board, now=True)}" for m in workers]
    running = [m for m in workers if m.done is None and describe.call(m, board) is None]
    for worker in running[:_MOST_STACKS]:
        frames = worker.frames or worker.crash
        if frames:
            lines.append(
                f"\nStack of rank {worker.rank} (most recent call last):\n{render(frames)}"
            )
    lines.append("look for a loop that does not end, or raise time_limit_s")
    return LaunchTimeout("\n".join(lines))


def explain_stall(
    workers: list[WorkerHandle], board: WaitBoard, stalled: Sequence[int]
) -> WorkerStalled:
    """Return the error for a rank that was stopped for too long; others may be stopped too."""
    first, more = workers[stalled[0]], sorted(stalled[1:])
    verb = "is" if len(more) == 1 else "are"
    also = f"; rank {', '.join(map(str, more))} {verb} stopped too" if more else ""
    return WorkerStalled(
        f"rank {first.rank} has not run for {stalls.STALL_LIMIT_S:g} s: its process is stopped "
        f"(SIGSTOP, Ctrl-Z or the like){describe.where(first)}{also}\n"
        "continue in time what you stop, or stop the launcher with it: then no time counts",
        rank=first.rank,
        consequences=_others(workers, first, board),
    )


def explain_interrupt(workers: list[WorkerHandle], board: WaitBoard) -> KeyboardInterrupt:
    """Return the exception for Ctrl-C, saying where each rank was."""
    lines = ["the run was interrupted and all its workers have ended"]
    lines += [f"  rank {m.rank} {describe.state(m, board)}" for m in workers]
    return KeyboardInterrupt("\n".join(lines))


def fork_server_has_ended(rank: int, size: int) -> RunError:
    """Return the error for a worker that could not be started because its server was gone."""
    kind = LaunchError if rank > 0 else WorkerStartError
    what = (
        f"worker {rank} of {size} could not be started: the fork server, the process that starts "
        "workers, "
    )
    if (number := see_end()) is not None:
        often = "; often: the computer ran out of memory" if number == signal.SIGKILL else ""
        return kind(
            f"{what}was killed by {describe.signal_name(number)}{often}; run again", rank=rank
        )
    refused = [OSError(number, "") for number in (errno.EMFILE, errno.EAGAIN)]
    limits = "".join(f"; {limit}" for limit in map(limit_behind, refused) if limit)
    return kind(
        f"{what}has ended: the system let it open no more files or make no more processes, or it "
        "could not load NumPy and this package, and has printed why (in Jupyter: in the server's "
        f"terminal){limits}; close other programs, raise a limit that is low, or use fewer workers",
        rank=rank,
    )


def _explain_death(worker: WorkerHandle, consequences: tuple[str, ...]) -> RunError:
    rank, code = worker.rank, worker.exit_code
    if code == LINE_CLOSED or worker.ended_by_us:
        return _closed_line(worker, consequences)
    printed = f"\nIts last words:\n{worker.printer.tail}" if worker.printer.tail else ""
    if worker.phase < Phase.LOADED:
        doing = "loading the function" if worker.phase is Phase.ATTACHED else "starting"
        return WorkerStartError(
            f"the worker of rank {rank} ended while {doing} ({describe.how(code)}), before it "
            f"could call the function{printed}",
            rank=rank,
            consequences=consequences,
        )
    if code is not None and code < 0:
        stack = ""
        if worker.crash:
            stack = f"\n\nStack of rank {rank} (most recent call last):\n{render(worker.crash)}"
        at = f" at {place(user_frame(worker.crash))}" if worker.crash else ""
        hint = ""
        if -code == getattr(signal, "SIGKILL", 9):
            hint = "; often: the computer ran out of memory"
            if worker.resident_bytes is not None:
                hint += f" (it held {worker.resident_bytes / 2**20:,.0f} MiB when last seen)"
            if limit := limit_behind(OSError(errno.ETIME, "")):
                hint += f", or out of processor time: {limit}"
        return WorkerKilled(
            f"rank {rank} was killed by {describe.signal_name(-code)}{at}{hint}{stack}",
            rank=rank,
            consequences=consequences,
        )
    return WorkerExited(
        f"rank {rank} {describe.how(code)} before returning a result; os._exit and the like end "
        f"a worker without a trace: use return{printed}",
        rank=rank,
        consequences=consequences,
    )


def _others(workers: list[WorkerHandle], first: WorkerHandle, board: WaitBoard) -> tuple[str, ...]:
    return tuple(f"rank {m.rank} {describe.fate(m, board)}" for m in workers if m is not first)


def _failed_at(worker: WorkerHandle, origin_s: float) -> tuple[bool, float]:
    """Say when a rank failed; those that only tell of another's failure come last."""
    if worker.failure is not None:
        return worker.failure.is_consequence, worker.failure.failure.time_s
    return False, worker.gone_s - origin_s
