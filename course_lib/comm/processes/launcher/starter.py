"""Start the workers of a run and hand them the function; again, where one is to be replaced."""

import pickle
import threading
from contextlib import ExitStack
from typing import Any

from course_lib.comm.errors import LaunchError
from course_lib.comm.job import Job
from course_lib.comm.limits import start_thread, what_to_do
from course_lib.comm.processes.launcher.explain import fork_server_has_ended
from course_lib.comm.processes.launcher.interrupts import WakingInterrupts
from course_lib.comm.processes.launcher.worker_handle import WorkerHandle
from course_lib.comm.processes.memory.layout import prepare
from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.processes.memory.shared_memory import (
    Segment,
    lasting_semaphore,
    new_semaphore,
)
from course_lib.comm.processes.rank.transport import Transport
from course_lib.comm.processes.worker.control import PackedCall
from course_lib.comm.processes.worker.inherited import Inherited
from course_lib.comm.processes.worker.setup import Setup, Shared

__all__ = ["Starter", "share"]


def share(transport: Transport, size: int, context: Any, *, lasting: bool) -> Shared:
    """Make what the workers of a run share.

    Parameters
    ----------
    transport : Transport
        How messages move.
    size : int
        How many workers there are.
    context : multiprocess context
        How they are started.
    lasting : bool
        Whether workers may be started later, too.

    Returns
    -------
    Shared
        The memory and the semaphores; the caller closes it.

    Raises
    ------
    SharedMemoryFull
        If the channels do not fit.
    """
    with ExitStack() as undo:
        segment = Segment(transport.n_bytes(size))
        undo.callback(segment.close)
        arena = Arena()
        undo.callback(arena.close)
        shared = Shared(segment, arena, [], [])
        undo.callback(shared.forget_names)
        make = lasting_semaphore if lasting else new_semaphore
        for _ in range(size):  # a lock starts free, a bell starts silent
            shared.locks.append(make(1, context))
            shared.bells.append(make(0, context))
        prepare(segment.memory, size)
        undo.pop_all()
    return shared


class Starter:
    """What every worker of a run is given.

    Parameters
    ----------
    job : Job
        What to run.
    shared : Shared
        What the workers share.
    transport : Transport
        How messages move.
    """

    def __init__(self, job: Job, shared: Shared, transport: Transport) -> None:
        self._size = job.workers
        self._settings = job.settings
        self._shared = shared
        self._transport = pickle.dumps(transport)
        self._inherited: Inherited
        self._request = b""
        self._feeders: list[threading.Thread] = []

    def start(
        self, workers: list[WorkerHandle], call: bytes, environment: dict[str, str],
        interrupts: WakingInterrupts,
    ) -> None:  # fmt: skip
        """Start all workers and hand them the function, unless the user presses Ctrl-C."""
        self._inherited = Inherited(environment)
        request = pickle.dumps(PackedCall(call), pickle.HIGHEST_PROTOCOL)
        if self._settings.survive:
            self._request = request
        for worker in workers:
            if interrupts.error is not None:
                return
            self._start(worker)
        self._hand_over(request, workers)

    def start_again(self, worker: WorkerHandle, incarnation: int) -> None:
        """Start a worker in the place of one that was lost."""
        self._start(worker, incarnation)
        self._hand_over(self._request, [worker])

    def join(self) -> None:
        """Wait until nothing is handed over any more."""
        for feeder in self._feeders:
            feeder.join()

    def _start(self, worker: WorkerHandle, incarnation: int = 0) -> None:
        try:
            setup = Setup(
                worker.rank, self._settings, self._inherited, self._shared,
                worker.open_pipes(), self._transport, incarnation,
            )  # fmt: skip
            worker.start(setup)
        except (ConnectionError, EOFError) as error:
            raise fork_server_has_ended(worker.rank, self._size) from error
        except OSError as error:
            raise LaunchError(
                f"the operating system did not let worker {worker.rank} of {self._size} start: "
                f"{error}; {what_to_do(error)}",
                rank=worker.rank,
            ) from error

    def _hand_over(self, request: bytes, workers: list[WorkerHandle]) -> None:
        """Hand workers the function, packed.

        In a thread: a function with large arguments does not fit into a pipe at once, and a
        worker that is stuck would otherwise hold up the launcher.
        """
        feeder = threading.Thread(target=_feed, args=(request, [*workers]), daemon=True)
        try:
            start_thread(feeder)
        except RuntimeError as error:
            raise LaunchError(
                f"the operating system did not let a thread start: {error}; {what_to_do(error)}"
            ) from error
        self._feeders.append(feeder)


def _feed(request: bytes, workers: list[WorkerHandle]) -> None:
    for worker in workers:
        worker.send(request)
