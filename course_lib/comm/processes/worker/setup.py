"""What a worker is born with. Unpickling it in a worker loads nothing that computes."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from multiprocess.reduction import ForkingPickler

from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.processes.memory.shared_memory import Event, Segment, Semaphore
from course_lib.comm.processes.worker.inherited import Inherited
from course_lib.comm.settings import Settings

__all__ = ["Setup", "Shared", "WorkerPipes"]


@dataclass
class WorkerPipes:
    """A worker's ends of its pipes; the launcher holds the others.

    Attributes
    ----------
    requests : Connection
        What the launcher asks; it ends when the launcher is gone.
    records : Connection
        What the worker reports.
    outputs : dict of Connection
        ``"stdout"``, ``"stderr"`` and ``"crash"`` (stacks written by Python's fault handler);
        empty on Windows, where printed bytes travel as records.
    """

    requests: Any
    records: Any
    outputs: dict[str, Any]


@dataclass
class Shared:
    """What all processes of a run have in common.

    Attributes
    ----------
    segment : Segment
        The shared memory.
    arena : Arena
        Where shared arrays will lie.
    locks, bells : list of Semaphore or Event
        Two for each rank.
    """

    segment: Segment
    arena: Arena
    locks: list[Semaphore | Event]
    bells: list[Semaphore | Event]

    def forget_names(self) -> None:
        """Remove the names of the semaphores, once every worker has them open.

        A semaphore's name goes with the launcher's last reference.
        """
        self.locks.clear()
        self.bells.clear()

    def close(self) -> None:
        """Let go of all of it, as the launcher does when all workers are gone."""
        self.forget_names()
        self.segment.close()
        self.arena.close()


@dataclass
class Setup:
    """Everything a worker needs before it can load its function.

    Attributes
    ----------
    rank : int
        Which one it is.
    settings : Settings
        The run's.
    inherited : Inherited
        What the launcher's process has; a fork server has it as it was.
    shared : Shared
        The memory and the semaphores.
    pipes : WorkerPipes
        How to talk to the launcher.
    transport : bytes
        How messages move: a ``Transport``, packed until the output has been redirected.
    incarnation : int
        How often the rank has been started again.
    """

    rank: int
    settings: Settings
    inherited: Inherited
    shared: Shared
    pipes: WorkerPipes
    transport: bytes
    incarnation: int = 0

    def __reduce__(self) -> tuple[Callable[[bytes], "Setup"], tuple[bytes]]:
        """Be pickled by Python's own pickler: dill's, in ``multiprocess``, takes far longer."""
        packed = BytesIO()
        pickler = pickle.Pickler(packed, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = ForkingPickler(BytesIO()).dispatch_table  # pipes and semaphores
        pickler.dump(vars(self))
        return _unpacked, (packed.getvalue(),)


def _unpacked(packed: bytes) -> Setup:
    return Setup(**pickle.loads(packed))
