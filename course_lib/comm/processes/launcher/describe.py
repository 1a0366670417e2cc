"""The words for one worker: what it did, where it was, and how its process has ended."""

import signal

from course_lib.comm.collective_order import Entered
from course_lib.comm.frames import Frame, place, user_frame
from course_lib.comm.processes.launcher.account import Phase
from course_lib.comm.processes.launcher.worker_handle import WorkerHandle
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.wait_graph import quoted

__all__ = ["call", "fate", "how", "signal_name", "state", "where"]

_MOST_STARTED = 3
"""How many of the functions that a rank has started are told in a line each."""


def fate(worker: WorkerHandle, board: WaitBoard) -> str:
    """Say how a rank has ended that an error does not name, or where it was."""
    if worker.failure is not None and not worker.lost:
        failure = worker.failure.failure
        text = failure.text.splitlines()[0] if failure.text else ""
        return f"failed too: {failure.type_name}{': ' if text else ''}{text.rstrip(':')}"
    unheard = worker.done is None and worker.n_refused is None
    if unheard and not worker.lost and not worker.ended_by_us and not _went_on(worker):
        return f"{how(worker.exit_code)} too"
    return state(worker, board)


def _went_on(worker: WorkerHandle) -> bool:
    """Tell whether it has left well, after the verdict: a rank that was stopped was let go on."""
    return worker.too_late and worker.exit_code == 0


def state(worker: WorkerHandle, board: WaitBoard, *, now: bool = False) -> str:
    """Say what a rank did, or does ``now``."""
    if worker.lost:
        return f"{'is' if now else 'was'} lost: {worker.lost}"
    if worker.done is not None or worker.n_refused is not None:
        return "has returned" if now else "had returned"
    if worker.failure is not None:
        return f"had failed: {worker.failure.failure.type_name}"
    if worker.phase < Phase.RUNNING:
        return "was starting"
    waits_in, waits = call(worker, board), "waits" if now else "waited"
    if waits_in is None:
        return f"{'is' if now else 'was'} running{where(worker)}"
    return f"{waits} in {waits_in}{where(worker)}{''.join(_started(worker, now=now))}"


def _started(worker: WorkerHandle, *, now: bool) -> list[str]:
    """Say where the functions are that a rank has started: first those that run, then the rest."""
    waits, runs = ("waits", "is running") if now else ("waited", "was running")
    beside = sorted(worker.beside, key=_what_holds_up)
    told = [
        f"; {quoted(name)} {f'{waits} in {said}' if said else runs}, at {place(user_frame(frames))}"
        if name
        else f"; {said or 'a message that was begun'} {'is' if now else 'was'} under way"
        for name, frames, said, _ in beside[:_MOST_STARTED]
    ]
    if len(beside) > _MOST_STARTED:
        told.append(f"; {len(beside) - _MOST_STARTED:,} more had been started and were not over")
    return told


def _what_holds_up(beside: tuple[str, tuple[Frame, ...], str | None, Entered | None]) -> int:
    said = beside[2]
    if said is None:
        return 0
    return 2 if said.startswith("wait(") else 1  # for one of the others


def call(worker: WorkerHandle, board: WaitBoard) -> str | None:
    """Return the call that a rank waits in, if it waits."""
    # What it said itself belongs to the place it named; the board knows of those that are silent.
    return worker.call if worker.frames is not None else board.call(worker.rank)


def where(worker: WorkerHandle) -> str:
    """Say at which line of the learner's a rank was, to end a sentence with."""
    frames = worker.frames or worker.crash
    if frames:
        return f", at {place(user_frame(frames))}"
    return " (it did not say where)" if worker.frames is None else ""


def how(code: int | None) -> str:
    """Say how a process has ended."""
    if code is None:
        return "ended"
    if code < 0:
        return f"was killed by {signal_name(-code)}"
    return f"exited with code {code}"


def signal_name(number: int) -> str:
    """Return what a signal is called."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
