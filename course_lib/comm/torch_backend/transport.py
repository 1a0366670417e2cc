"""What a run over torch.distributed on one computer stands on."""

import os
import shutil
import socket
import tempfile
from typing import ClassVar

import psutil

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import LaunchError
from course_lib.comm.processes.memory.layout import Channels, channels_of, front_bytes
from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.flows import Flows
from course_lib.comm.processes.rank.rank_context import RankContext
from course_lib.comm.processes.worker.setup import Setup

__all__ = ["Distributed"]

_HERE = "course_lib.comm.torch_backend"


class Distributed:
    """Messages go through torch.distributed, which is imported in the workers alone."""

    backend: ClassVar[str] = "torch"
    preload: ClassVar[tuple[str, ...]] = (
        "torch", f"{_HERE}.communicator", f"{_HERE}.progress", f"{_HERE}.transport"
    )  # fmt: skip

    def __init__(self) -> None:
        self._folder = ""
        self._interface = ""

    def __enter__(self) -> None:
        """Make the folder where the ranks find each other: private, and new for each run."""
        self._interface = _loopback()
        # Named so that the next program removes it if this one is killed (see sockets).
        self._folder = tempfile.mkdtemp(prefix=f"cl-{os.getpid()}-")

    def __exit__(self, *_: object) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def n_bytes(self, size: int) -> int:
        """Return how much shared memory ``size`` ranks need: mailboxes and the board, no rings."""
        return front_bytes(size)

    def channels(self, setup: Setup) -> Channels:
        """Look at the shared memory, in a rank's process."""
        return channels_of(setup.shared)

    def progress(self, rank: int, channels: Channels) -> Flows:
        """Make a rank's progress, in its process."""
        from course_lib.comm.torch_backend.groups import meet
        from course_lib.comm.torch_backend.progress import TorchProgress

        size, folder, interface = channels.size, self._folder, self._interface
        return TorchProgress(
            rank, size, channels.board, channels.mailboxes,
            lambda: meet(rank, size, folder, interface),
        )  # fmt: skip

    def communicator(self, context: RankContext, flow: Flow) -> Communicator:
        """Make the communicator that the rank's function gets."""
        from course_lib.comm.torch_backend.communicator import TorchCommunicator

        return TorchCommunicator(context, flow)


def _loopback() -> str:
    """Return the name of the network that never leaves this computer."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(a.family == socket.AF_INET and a.address == "127.0.0.1" for a in addresses):
            return str(name)
    raise LaunchError(
        "this computer has no network with the address 127.0.0.1, over which its processes talk "
        'through torch.distributed; backend="processes" needs none'
    )
