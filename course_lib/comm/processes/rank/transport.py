"""What a run on real processes stands on: its shared memory, and how its messages move."""

from typing import Any, Protocol

from course_lib.comm.communicator import Communicator
from course_lib.comm.processes.memory.layout import Channels, channels_of, total_bytes
from course_lib.comm.processes.memory.roll import Roll
from course_lib.comm.processes.rank.communicator import ProcessCommunicator
from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.flows import Flows
from course_lib.comm.processes.rank.progress import ProgressEngine
from course_lib.comm.processes.rank.rank_context import RankContext
from course_lib.comm.processes.worker.setup import Setup

__all__ = ["SharedMemory", "SurvivingMemory", "Transport"]


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

    def channels(self, setup: Setup) -> Channels:
        """Look at the shared memory, in a rank's process."""

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

    def channels(self, setup: Setup) -> Channels:
        """Look at the shared memory, in a rank's process."""
        return channels_of(setup.shared)

    def progress(self, rank: int, channels: Channels) -> Flows:
        """Make a rank's progress, in its process."""
        return ProgressEngine(rank, channels)

    def communicator(self, context: RankContext, flow: Flow) -> Communicator:
        """Make the communicator that the rank's function gets."""
        return ProcessCommunicator(context, flow)


class SurvivingMemory(SharedMemory):
    """The same, where ranks may be lost and come back.

    What that takes is loaded by those who need it.
    """

    def n_bytes(self, size: int) -> int:
        """Return how much shared memory ``size`` ranks need."""
        return total_bytes(size) + Roll.n_bytes(size)

    def channels(self, setup: Setup) -> Channels:
        """Look at the shared memory, in a rank's process."""
        from course_lib.comm.processes.memory.renewed import RenewedChannels

        return RenewedChannels(setup.shared, setup.rank, setup.incarnation)

    def progress(self, rank: int, channels: Any) -> Flows:
        """Make a rank's progress, in its process."""
        from course_lib.comm.processes.rank.surviving_engine import SurvivingEngine

        return SurvivingEngine(rank, channels)

    def communicator(self, context: RankContext, flow: Flow) -> Communicator:
        """Make the communicator that the rank's function gets."""
        from course_lib.comm.processes.rank.surviving import SurvivingCommunicator

        return SurvivingCommunicator(context, flow)
