"""The launcher's side of a run: its workers, from birth to burial."""

import enum
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from multiprocess import connection

from course_lib.comm.job import Job
from course_lib.comm.processes.launcher.account import Phase
from course_lib.comm.processes.launcher.deadlock import DeadlockWatch
from course_lib.comm.processes.launcher.interrupts import WakingInterrupts
from course_lib.comm.processes.launcher.losses import Losses
from course_lib.comm.processes.launcher.process_tree import (
    RUN_VARIABLE,
    descendants,
    end_processes,
    marked,
)
from course_lib.comm.processes.launcher.stalls import StallWatch, WakingClock, resume
from course_lib.comm.processes.launcher.starter import Starter, share
from course_lib.comm.processes.launcher.worker_handle import REST_S, WorkerHandle
from course_lib.comm.processes.memory.layout import rank_states, read_board
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.rank.transport import Transport
from course_lib.comm.processes.returned import waiting_in_vain
from course_lib.comm.processes.worker.control import Compare, GiveUp, Go, Locate, Recall

__all__ = ["Ending", "Supervisor"]

_ANSWER_S = 0.3
_COMPARED_S = 2.0
_LEAVE_S = 0.5
_BURIAL_S = 5.0
_LOOK_EVERY_S = 0.1
_runs = itertools.count()


class Ending(enum.Enum):
    """Why the launcher stopped waiting."""

    WELL = "every rank has got there"
    FAILURE = "a rank has failed or died"
    DEADLOCK = "ranks wait for each other"
    STALL = "the system has stopped a rank"
    TIMEOUT = "the time limit has passed"
    INTERRUPT = "the user has interrupted"


class Supervisor:
    """The workers of one run and what they share.

    Parameters
    ----------
    job : Job
        What to run.
    context : multiprocess context
        How to start processes.
    interrupts : WakingInterrupts
        Whether the user has pressed Ctrl-C.
    transport : Transport
        How messages move.

    Attributes
    ----------
    workers : list of WorkerHandle
        By rank.
    deadlock : DeadlockWatch
        Which circle of ranks it has found.
    stalled : list of int
        Ranks that are stopped, if one has been for too long.

    Raises
    ------
    SharedMemoryFull
        If the channels do not fit.
    """

    def __init__(
        self, job: Job, context: Any, interrupts: WakingInterrupts, transport: Transport
    ) -> None:
        self.size = job.workers
        self.origin_s = time.perf_counter()
        self._name = f"{os.getpid()}-{next(_runs)}"
        self._interrupts = interrupts
        # First the memory: where there is none for so many workers, it is refused at once.
        self._shared = share(transport, self.size, context, lasting=job.settings.survive)
        try:
            self.workers = [WorkerHandle(rank, context) for rank in range(self.size)]
        except BaseException:
            self._shared.close()
            raise
        self._starter = Starter(job, self._shared, transport)
        self.losses: Losses | None = None
        if job.settings.survive:
            self.losses = Losses(
                self.workers, self._shared, job.settings.restart, self._starter.start_again
            )
        self.deadlock = DeadlockWatch()
        self.stalled: list[int] = []
        self._stalls = StallWatch()
        self._next_look_s = 0.0

    def start(self, call: bytes, environment: dict[str, str]) -> None:
        """Start all workers and hand them the function."""
        marked_as_ours = {**environment, RUN_VARIABLE: self._name}
        self._starter.start(self.workers, call, marked_as_ours, self._interrupts)

    def all_attached(self) -> None:
        """Let go of what nobody needs any more that is started later."""
        if self.losses is None:
            self._shared.forget_names()

    def go(self) -> None:
        """Let all ranks call the function; this is the run's time 0."""
        self.origin_s = time.perf_counter()
        for worker in self.workers:
            worker.ask(Go(self.origin_s))
            worker.phase = Phase.RUNNING
        if self.losses is not None:
            self.losses.origin_s = self.origin_s

    def wait(self, phase: Phase, limit_s: float) -> Ending:
        """Wait until every rank has come to ``phase``, showing what they print meanwhile."""
        clock = WakingClock()
        now_s = clock.tick(0)
        deadline = now_s + limit_s
        self._next_look_s = now_s + _LOOK_EVERY_S
        while True:
            if self._interrupts.error is not None:
                return Ending.INTERRUPT
            if self._has_failed(phase):
                return Ending.FAILURE
            if all(worker.phase >= phase or worker.lost for worker in self.workers):
                return Ending.WELL
            if ending := self._look_after(now_s) or (now_s >= deadline and Ending.TIMEOUT):
                for worker in self.workers:
                    worker.too_late = True
                return ending
            patience_s = min(deadline - now_s, _LOOK_EVERY_S)
            self._listen(patience_s)
            now_s = clock.tick(patience_s)

    def _has_failed(self, phase: Phase) -> bool:
        """Say whether a failure ends the run; go on without those ranks whose failure does not."""
        if self.losses is None or phase is not Phase.DONE:
            return any(worker.failed for worker in self.workers)
        if any(worker.n_refused is not None for worker in self.workers):
            return True
        self.losses.tend()
        return self.losses.everybody_is_lost

    def _look_after(self, now_s: float) -> Ending | None:
        """Look, ten times a second, whether ranks have come to a stop that nobody reports."""
        if now_s < self._next_look_s:
            return None
        self._next_look_s = now_s + _LOOK_EVERY_S
        for worker in self.workers:
            worker.look()
        working = [m for m in self.workers if not m.done and not m.gone]
        if all(worker.phase >= Phase.RUNNING or worker.lost for worker in self.workers):
            states = rank_states(self._shared.segment.memory, self.size, self._shared.arena)
            returned = [worker.rank for worker in self.workers if worker.done or worker.lost]
            if self.deadlock.look(states, returned, now_s):
                if not self._tell_in_vain(returned):
                    return Ending.DEADLOCK
                self.deadlock = DeadlockWatch()
        self.stalled = self._stalls.look({m.rank: m.pid for m in working}, now_s)
        return Ending.STALL if self.stalled else None

    def _tell_in_vain(self, returned: list[int]) -> bool:
        """Tell those, of ranks that are stuck, who wait for functions that have returned.

        A rank that has returned is known to all; that only a function of it has, to nobody else.
        """
        stuck = [self.workers[rank] for rank in self.deadlock.stuck]
        for worker in stuck:
            worker.standing = None
            worker.ask(Compare("who waits in vain?"))
        self._listen_until(lambda: all(m.standing or m.gone for m in stuck), _COMPARED_S)
        known = {m.rank: m.standing for m in stuck if m.standing is not None}
        found = waiting_in_vain(known, returned)
        for each in found:
            self.workers[each.rank].ask(GiveUp(each.flow, each.gone))
        return len(found) > 0

    def _listen(self, limit_s: float) -> None:
        sources = [self._interrupts.wake] if self._interrupts.error is None else []
        for worker in self.workers:
            if worker.rests:
                limit_s = min(limit_s, REST_S)
            sources += worker.sources()
        with suppress(InterruptedError):  # Ctrl-C on Windows; the next look sees it
            ready = connection.wait(sources, max(limit_s, 0))
            for worker in self.workers:
                worker.listen(ready)

    def locate(self, *, recall: bool) -> WaitBoard:
        """Ask every running rank where it is; return what each waits for.

        Parameters
        ----------
        recall : bool
            Whether to ask, too, for what it has recorded so far.

        Returns
        -------
        WaitBoard
            What each rank waits for.
        """
        asked = [m for m in self.workers if m.phase is Phase.RUNNING and not (m.gone or m.cut_off)]
        stopped = [worker for worker in asked if worker.rank in self.stalled]
        self._ask([worker for worker in asked if worker not in stopped], recall)
        board = read_board(self._shared.segment.memory, self.size, self._shared.arena)
        # Only now, when the others have said what they wait for: those that were stopped have to
        # run to be able to answer, and what they do from then on is our doing.
        for worker in stopped:
            resume(worker.pid)
            worker.ended_by_us = True
        self._ask(stopped, recall)
        silent = [m for m in asked if m.frames is None and not m.gone]
        if silent and sys.platform != "win32":
            # Compiled code holds Python's lock there; the fault handler does not need it. The
            # signal may end a sleep in that code, so what they say afterwards does not count.
            for worker in silent:
                worker.silent = True
                worker.signal(signal.SIGUSR1)
            self._listen_until(lambda: all(m.crash or m.gone for m in silent), _ANSWER_S)
        if recall:
            told = [worker for worker in asked if not worker.silent]
            self._listen_until(lambda: all(m.recorder or m.gone for m in told), _ANSWER_S)
        return board

    def _ask(self, workers: list[WorkerHandle], recall: bool) -> None:
        """Ask where they are, and wait for their answers, but not for long."""
        for worker in workers:
            worker.ask(Locate("where are you?"))
            if recall:
                worker.ask(Recall("what has happened?"))
        self._listen_until(lambda: all(m.frames is not None or m.gone for m in workers), _ANSWER_S)

    def end(self, leave_s: float) -> None:
        """End all workers, show the last they printed, and let go of everything.

        Parameters
        ----------
        leave_s : float
            How long they may take to leave by themselves.
        """
        try:
            self._bury(leave_s)
        finally:  # also when there is no memory left to hear their last words
            self._let_go()

    def _bury(self, leave_s: float) -> None:
        self._listen_until(self._all_gone, leave_s)
        left = [worker for worker in self.workers if not worker.gone]
        if left:
            offspring = descendants([worker.pid for worker in left])
            for worker in left:
                worker.terminate()
            self._listen_until(self._all_gone, _LEAVE_S)
            for worker in left:
                worker.kill()
            end_processes(offspring)
            self._listen_until(self._all_gone, _BURIAL_S)
        if not all(worker.left_well for worker in self.workers):
            end_processes(marked(self._name))

    def _let_go(self) -> None:
        self._shared.forget_names()
        self._starter.join()
        for worker in self.workers:
            worker.kill()
            worker.close()
        if self.losses is not None:
            self.losses.close()
        self._shared.close()

    def _all_gone(self) -> bool:
        return all(worker.gone for worker in self.workers)

    def _listen_until(self, met: Callable[[], bool], limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while not met() and (left_s := deadline - time.monotonic()) > 0:
            self._listen(min(left_s, _LOOK_EVERY_S))
            for worker in self.workers:
                worker.look()
