"""The launcher's part in a run that survives the loss of a rank: to tell the others, and restart.

A rank is lost when its process is gone before it has reported a result; one whose function has
raised is ended. Then the locks that it may have held are given back, the roll is written, everybody
is woken, and perhaps a new process is started in its place.
"""

import time
from collections.abc import Callable

from course_lib.comm.errors import RunError
from course_lib.comm.processes.launcher.account import Phase
from course_lib.comm.processes.launcher.explain import explain_loss
from course_lib.comm.processes.launcher.worker_handle import WorkerHandle
from course_lib.comm.processes.memory.layout import channels_of, total_bytes
from course_lib.comm.processes.memory.roll import Life, Roll
from course_lib.comm.processes.worker.control import Go
from course_lib.comm.processes.worker.setup import Shared
from course_lib.trace.events import LOST, NO_RECORD, RESTARTED, Fault
from course_lib.trace.recorder import Recorder

__all__ = ["Losses"]

_LEAVE_S = 0.2
_LOCK_S = 0.25
"""How long a rank that lives may hold a lock; it takes microseconds."""
_LOOK_AGAIN_S = 0.001


class Losses:
    """The ranks of one run that are lost.

    Parameters
    ----------
    workers : list of WorkerHandle
        By rank; a rank that is started again gets another.
    shared : Shared
        What all processes have in common.
    restart : int
        How often a rank is started again at most.
    begin : callable
        Starts a worker, given its handle and its incarnation.

    Attributes
    ----------
    reasons : dict of int to str
        How each rank was lost that is down.
    gone : set of int
        Those of them that nobody will start again.
    happened : list of Fault
        For the trace.
    recorders : list of Recorder
        What lost incarnations had recorded, where they have told.
    error : RunError or None
        What the first loss would have been in a run that does not survive it.
    """

    def __init__(
        self, workers: list[WorkerHandle], shared: Shared, restart: int,
        begin: Callable[[WorkerHandle, int], None],
    ) -> None:  # fmt: skip
        self._workers = workers
        self._shared = shared
        self._restart_times = restart
        self._begin = begin
        self._roll = Roll(shared.segment.memory[total_bytes(len(workers)) :], len(workers))
        self._incarnations = [0] * len(workers)
        self._asked_s: dict[int, float] = {}  # when a rank that has failed was seen to have
        self._to_wake: set[int] = set()
        self.origin_s = 0.0
        self.reasons: dict[int, str] = {}
        self.gone: set[int] = set()
        self.happened: list[Fault] = []
        self.recorders: list[Recorder] = []
        self.error: RunError | None = None

    @property
    def everybody_is_lost(self) -> bool:
        """Whether no rank lives, or will, or has returned."""
        return len(self.gone) == len(self._workers)

    def whole_story(self) -> RunError | None:
        """Return the first loss as an error, with a line for each of the others."""
        if self.error is not None:
            others = (why for rank, why in sorted(self.reasons.items()) if rank != self.error.rank)
            self.error.consequences = tuple(others)
        return self.error

    def close(self) -> None:
        """Let go of the shared memory."""
        self._roll.close()

    def tend(self) -> None:
        """See to those that have failed, and to those that are being started again."""
        for worker in list(self._workers):
            if worker.rank in self.gone:
                continue
            if worker.failed:
                self._end(worker)
            elif worker.phase is Phase.LOADED:
                self._go(worker)
        for rank in list(self._to_wake):
            self._wake(rank)

    def _end(self, worker: WorkerHandle) -> None:
        """Have a process that has failed leave; once it is gone, go on without it."""
        if worker.gone:
            self._asked_s.pop(worker.rank, None)
            self._lose(worker)
            return
        asked_s = self._asked_s.setdefault(worker.rank, time.monotonic())
        if worker.cut_off or time.monotonic() >= asked_s + _LEAVE_S:
            worker.kill()

    def _lose(self, worker: WorkerHandle) -> None:
        rank = worker.rank
        error = explain_loss(worker)
        self.error = self.error or error
        reason = worker.lost = str(error.args[0]).splitlines()[0]
        failure = worker.failure
        lost_s = worker.gone_s - self.origin_s if failure is None else failure.failure.time_s
        self.reasons[rank] = reason
        self.happened.append(Fault(rank, LOST, reason, lost_s))
        self._keep_record(worker, lost_s)
        channels_of(self._shared).board.clear(rank)
        comes_back = self._incarnations[rank] < self._restart_times
        life = Life.COMES_BACK if comes_back else Life.GONE
        self._roll.write(rank, self._incarnations[rank], life)
        self._give_back_locks(rank)
        self._to_wake |= {other.rank for other in self._workers if not (other.gone or other.done)}
        for other in list(self._to_wake):
            self._wake(other)
        if comes_back:
            self._start_again(worker)
        else:
            self.gone.add(rank)

    def _keep_record(self, worker: WorkerHandle, lost_s: float) -> None:
        if worker.recorder is not None:
            self.recorders.append(worker.recorder)
        elif worker.phase >= Phase.RUNNING:
            text = f"what rank {worker.rank} had recorded was lost with it"
            self.happened.append(Fault(worker.rank, NO_RECORD, text, lost_s))

    def _give_back_locks(self, rank: int) -> None:
        """Give back what a dead rank held: locks that it has marked and nobody can take."""
        began_s = time.monotonic()
        marked = self._roll.marked(rank)
        while marked:
            for owner in list(marked):
                lock = self._shared.locks[owner]
                waited_s = time.monotonic() - began_s
                if lock.acquire(False) or waited_s > self._patience_s(owner, rank):
                    lock.release()  # taken a moment ago, or held by the dead
                    self._roll.mark(rank, owner, 0)
                    marked.remove(owner)
            if marked:
                time.sleep(_LOOK_AGAIN_S)

    def _patience_s(self, owner: int, dead: int) -> float:
        """Return how long to wait for a lock: longer if one that lives may hold it."""
        others = (rank for rank in range(len(self._workers)) if rank != dead)
        return _LOCK_S * (1 + any(owner in self._roll.marked(rank) for rank in others))

    def _wake(self, rank: int) -> None:
        """Have a rank look at the roll; if its lock cannot be had now, then in a moment."""
        if self._workers[rank].gone:
            self._to_wake.discard(rank)
        elif self._shared.locks[rank].acquire(True, _LOCK_S):
            channels_of(self._shared).mailboxes[rank].tell_lost()
            self._to_wake.discard(rank)

    # Starting again

    def _start_again(self, worker: WorkerHandle) -> None:
        rank = worker.rank
        self._incarnations[rank] += 1
        self._roll.write(rank, self._incarnations[rank], Life.THERE)
        worker.close()
        self._workers[rank] = again = worker.successor()
        self._begin(again, self._incarnations[rank])

    def _go(self, worker: WorkerHandle) -> None:
        del self.reasons[worker.rank]
        worker.ask(Go(self.origin_s))
        worker.phase = Phase.RUNNING
        text = f"rank {worker.rank} was started again"
        now_s = time.perf_counter() - self.origin_s
        self.happened.append(Fault(worker.rank, RESTARTED, text, now_s))
