"""What a run on real processes stands on: its shared memory, and how its messages move."""

from typing import Protocol

from course_lib.comm.communicator import Communicator
from course_lib.comm.processes.memory.layout import Channels, total_bytes
from course_lib.comm.processes.rank.communicator import ProcessCommunicator
from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.flows import Flows
from course_lib.comm.processes.rank.progress import ProgressEngine
from course_lib.comm.processes.rank.rank_context import RankContext

__all__ = ["SharedMemory", "Transport"]


class Transport(Protocol):
    """All in which worlds of real processes differ; it travels to every worker."""

    @property
    def backend(self) -> str:
        """The world's name."""

    @property
    def preload(self) -> tuple[str, ...]:
        """What the fork server is to load, beside what every worker needs."""

    def __enter__(self) -> None:
        """Make what a run needs beside it."""

    def __exit__(self, *_: object) -> None:
        """Remove that."""

    def n_bytes(self, size: int) -> int:
        """Return how much shared memory ``size`` ranks need."""

    def progress(self, rank: int, channels: Channels) -> Flows:
        """Make a rank's progress, in its process."""

    def communicator(self, context: RankContext, flow: Flow) -> Communicator:
        """Make the communicator that the rank's function gets."""


class SharedMemory:
    """Messages go through rings in shared memory."""

    backend = "processes"
    preload: tuple[str, ...] = ()

    def __enter__(self) -> None:
        """Make nothing: memory is all it needs."""

    def __exit__(self, *_: object) -> None:
        """Remove nothing."""

    def n_bytes(self, size: int) -> int:
        """Return how much shared memory ``size`` ranks need."""
        return total_bytes(size)

    def progress(self, rank: int, channels: Channels) -> Flows:
        """Make a rank's progress, in its process."""
        return ProgressEngine(rank, channels)

    def communicator(self, context: RankContext, flow: Flow) -> Communicator:
        """Make the communicator that the rank's function gets."""
        return ProcessCommunicator(context, flow)
