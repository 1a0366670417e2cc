"""The launcher's side of a run: its workers, from birth to burial."""

import enum
import itertools
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from multiprocess import connection

from course_lib.comm.errors import LaunchError
from course_lib.comm.job import Job
from course_lib.comm.limits import start_thread, what_to_do
from course_lib.comm.processes.arena import Arena
from course_lib.comm.processes.board import Board
from course_lib.comm.processes.channels import prepare, rank_states, read_board
from course_lib.comm.processes.contexts import fork_server_has_ended
from course_lib.comm.processes.deadlock import DeadlockWatch
from course_lib.comm.processes.interrupts import WakingInterrupts
from course_lib.comm.processes.member import REST_S, Member, Phase
from course_lib.comm.processes.offspring import (
    RUN_VARIABLE,
    descendants,
    end_processes,
    marked,
)
from course_lib.comm.processes.progress import waiting_in_vain
from course_lib.comm.processes.records import Call, Compare, GiveUp, Go, Locate, Recall
from course_lib.comm.processes.segment import Segment, new_semaphore
from course_lib.comm.processes.setup import Setup
from course_lib.comm.processes.stalls import StallWatch, WakingClock, resume
from course_lib.comm.processes.transport import Transport

__all__ = ["Ending", "Team"]

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


class Team:
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
    members : list of Member
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
        self._transport = pickle.dumps(transport)
        self._locks: list[Any] = []
        self._bells: list[Any] = []
        with ExitStack() as undo:
            self._segment = Segment(transport.n_bytes(self.size))
            undo.callback(self._segment.close)
            self._arena = Arena()
            undo.callback(self._arena.close)
            undo.callback(self.forget_names)
            for _ in range(self.size):  # a lock starts free, a bell starts silent
                self._locks.append(new_semaphore(1, context))
                self._bells.append(new_semaphore(0, context))
            prepare(self._segment.memory, self.size)
            self.members = [Member(rank, context) for rank in range(self.size)]
            undo.pop_all()
        self.deadlock = DeadlockWatch()
        self.stalled: list[int] = []
        self._stalls = StallWatch()
        self._next_look_s = 0.0
        self._feeder: threading.Thread | None = None

    def start(self, job: Job, call: bytes, environment: dict[str, str]) -> None:
        """Start all workers and hand them the function."""
        environment = {**environment, RUN_VARIABLE: self._name}
        for member in self.members:
            if self._interrupts.error is not None:
                return
            try:
                setup = Setup(
                    member.rank, self.size, job.eager_bytes, job.seed, job.trace, environment,
                    self._segment, self._arena, self._locks, self._bells, member.open_pipes(),
                    self._transport,
                )  # fmt: skip
                member.start(setup)
            except (ConnectionError, EOFError) as error:
                raise fork_server_has_ended(member.rank, self.size) from error
            except OSError as error:
                raise LaunchError(
                    f"the operating system did not let worker {member.rank} of {self.size} start: "
                    f"{error}; {what_to_do(error)}",
                    rank=member.rank,
                ) from error
        # In a thread: a function with large arguments does not fit into a pipe at once, and a
        # worker that is stuck would otherwise hold up the launcher.
        request = pickle.dumps(Call(call), pickle.HIGHEST_PROTOCOL)
        feeder = threading.Thread(target=self._feed, args=(request,), daemon=True)
        try:
            start_thread(feeder)
        except RuntimeError as error:
            raise LaunchError(
                f"the operating system did not let a thread start: {error}; {what_to_do(error)}"
            ) from error
        self._feeder = feeder

    def _feed(self, request: bytes) -> None:
        for member in self.members:
            member.send(request)

    def forget_names(self) -> None:
        """Remove the names of the semaphores; every worker has them open now."""
        self._locks.clear()  # a semaphore's name goes with the launcher's last reference
        self._bells.clear()

    def go(self) -> None:
        """Let all ranks call the function; this is the run's time 0."""
        self.origin_s = time.perf_counter()
        for member in self.members:
            member.ask(Go(self.origin_s))
            member.phase = Phase.RUNNING

    def wait(self, phase: Phase, limit_s: float) -> Ending:
        """Wait until every rank has come to ``phase``, showing what they print meanwhile."""
        clock = WakingClock()
        now_s = clock.tick(0)
        deadline = now_s + limit_s
        self._next_look_s = now_s + _LOOK_EVERY_S
        while True:
            if self._interrupts.error is not None:
                return Ending.INTERRUPT
            if any(member.failed for member in self.members):
                return Ending.FAILURE
            if all(member.phase >= phase for member in self.members):
                return Ending.WELL
            if ending := self._look_after(now_s) or (now_s >= deadline and Ending.TIMEOUT):
                for member in self.members:
                    member.too_late = True
                return ending
            patience_s = min(deadline - now_s, _LOOK_EVERY_S)
            self._listen(patience_s)
            now_s = clock.tick(patience_s)

    def _look_after(self, now_s: float) -> Ending | None:
        """Look, ten times a second, whether ranks have come to a stop that nobody reports."""
        if now_s < self._next_look_s:
            return None
        self._next_look_s = now_s + _LOOK_EVERY_S
        for member in self.members:
            member.look()
        working = [m for m in self.members if not m.done and not m.gone]
        if all(member.phase >= Phase.RUNNING for member in self.members):
            states = rank_states(self._segment.memory, self.size, self._arena)
            returned = [member.rank for member in self.members if member.done]
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
        stuck = [self.members[rank] for rank in self.deadlock.stuck]
        for member in stuck:
            member.progress = None
            member.ask(Compare("who waits in vain?"))
        self._listen_until(lambda: all(m.progress or m.gone for m in stuck), _COMPARED_S)
        known = {m.rank: m.progress for m in stuck if m.progress is not None}
        found = waiting_in_vain(known, returned)
        for each in found:
            self.members[each.rank].ask(GiveUp(each.flow, each.gone))
        return len(found) > 0

    def _listen(self, limit_s: float) -> None:
        sources = [self._interrupts.wake] if self._interrupts.error is None else []
        for member in self.members:
            if member.rests:
                limit_s = min(limit_s, REST_S)
            sources += member.sources()
        with suppress(InterruptedError):  # Ctrl-C on Windows; the next look sees it
            ready = connection.wait(sources, max(limit_s, 0))
            for member in self.members:
                member.listen(ready)

    def locate(self, *, recall: bool) -> Board:
        """Ask every running rank where it is; return what each waits for.

        Parameters
        ----------
        recall : bool
            Whether to ask, too, for what it has recorded so far.

        Returns
        -------
        Board
            What each rank waits for.
        """
        asked = [m for m in self.members if m.phase is Phase.RUNNING and not (m.gone or m.cut_off)]
        for member in asked:
            member.ask(Locate("where are you?"))
            if recall:
                member.ask(Recall("what has happened?"))
            if member.rank in self.stalled:
                resume(member.pid)  # so that it can answer; what it does from now on is our doing
                member.ended_by_us = True
        self._listen_until(lambda: all(m.frames is not None or m.gone for m in asked), _ANSWER_S)
        board = read_board(self._segment.memory, self.size, self._arena)
        silent = [m for m in asked if m.frames is None and not m.gone]
        if silent and sys.platform != "win32":
            # Compiled code holds Python's lock there; the fault handler does not need it. The
            # signal may end a sleep in that code, so what they say afterwards does not count.
            for member in silent:
                member.silent = True
                member.signal(signal.SIGUSR1)
            self._listen_until(lambda: all(m.crash or m.gone for m in silent), _ANSWER_S)
        if recall:
            told = [member for member in asked if not member.silent]
            self._listen_until(lambda: all(m.recorder or m.gone for m in told), _ANSWER_S)
        return board

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
        left = [member for member in self.members if not member.gone]
        if left:
            offspring = descendants([member.pid for member in left])
            for member in left:
                member.terminate()
            self._listen_until(self._all_gone, _LEAVE_S)
            for member in left:
                member.kill()
            end_processes(offspring)
            self._listen_until(self._all_gone, _BURIAL_S)
        if not all(member.left_well for member in self.members):
            end_processes(marked(self._name))

    def _let_go(self) -> None:
        self.forget_names()
        if self._feeder is not None:
            self._feeder.join()
        for member in self.members:
            member.kill()
            member.close()
        self._segment.close()
        self._arena.close()

    def _all_gone(self) -> bool:
        return all(member.gone for member in self.members)

    def _listen_until(self, met: Callable[[], bool], limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while not met() and (left_s := deadline - time.monotonic()) > 0:
            self._listen(min(left_s, _LOOK_EVERY_S))
            for member in self.members:
                member.look()
