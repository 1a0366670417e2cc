"""Where ranks are programs of their own: how one finds the others, and who has started it."""

import os
from typing import Any, ClassVar, Protocol

import torch

from course_lib.comm.torch_backend.meeting import join
from course_lib.comm.torch_backend.way_out import address_towards_rank_0

__all__ = ["Started", "Torchrun", "Wires", "WiresClosed"]


class WiresClosed(ConnectionAbortedError):
    """A rank's connections have been broken, by itself or by another."""


class Wires(Protocol):
    """A rank's ends of all connections; ``groups`` has them over gloo and says what they do."""

    device: str
    between_gpus: bool

    def post(self, packet: bytearray, dst: int) -> None:
        """Send a packet."""

    def deliver(self, packet: bytearray, dst: int) -> Any:
        """Send a packet; return something that has ``wait()``, until it has left."""

    def next_packet(self, buffer: torch.Tensor) -> None:
        """Wait for a packet from anybody."""

    def forget(self, dst: int) -> None:
        """Wait no longer for packets to a rank that needs none any more."""

    def flush(self, limit_s: float | None = None) -> None:
        """Wait until all packets have been taken, for ``limit_s`` at most."""

    def abort(self) -> None:
        """Let everything that waits for a connection fail, whatever thread it is in."""

    def leave(self) -> None:
        """Leave nothing of this run in a program that goes on, but its open connections."""

    def drop(self) -> None:
        """Close the connections; nobody waits for one any more."""

    def close(self) -> None:
        """Close what belongs to this run, in a program that goes on."""

    def send(self, payload: torch.Tensor, dst: int, number: int, *, on_device: bool) -> Any:
        """Begin to send what has been asked for; return something that has ``wait()``."""

    def receive(self, room: torch.Tensor, src: int, number: int, *, on_device: bool) -> Any:
        """Begin to receive what has been asked for; return something that has ``wait()``."""


class Started(Protocol):
    """What has started the ranks, as each of them sees it.

    Attributes
    ----------
    backend : str
        As ``run`` calls it.
    rank : int
        Which of the ranks this program is.
    host : str
        Where rank 0's witness listens.
    """

    @property
    def backend(self) -> str:
        """As ``run`` calls it."""

    @property
    def rank(self) -> int:
        """Which of the ranks this program is."""

    @property
    def host(self) -> str:
        """Where rank 0's witness listens."""

    def address(self) -> str:
        """Return the address under which other machines reach this one."""

    def join(self, limit_s: float) -> Wires:
        """Meet the other ranks, in ``limit_s`` seconds."""


class Torchrun:
    """The launcher torchrun, which tells a rank all in environment variables.

    Raises
    ------
    ValueError
        If some of them are not there, or make no sense.
    """

    backend: ClassVar[str] = "torch"

    def __init__(self) -> None:
        numbers = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT")
        wrong = [name for name in numbers if not os.environ.get(name, "").isdecimal()]
        wrong += [name for name in ("MASTER_ADDR",) if not os.environ.get(name)]
        if wrong:
            told = ", ".join(f"{name}={os.environ.get(name, '')!r}" for name in wrong)
            raise ValueError(
                f"TORCHELASTIC_RUN_ID is set, as by torchrun, which sets more, but {told}: start "
                "this program with torchrun, or unset TORCHELASTIC_RUN_ID"
            )

    @property
    def rank(self) -> int:
        """Which of the ranks this program is."""
        return int(os.environ["RANK"])

    @property
    def host(self) -> str:
        """Where the ranks have found each other, which is where rank 0 is."""
        return os.environ["MASTER_ADDR"]

    def address(self) -> str:
        """Return the address under which other machines reach this one."""
        return address_towards_rank_0() or self.host

    def join(self, limit_s: float) -> Wires:
        """Meet the other ranks, in ``limit_s`` seconds, or 20 if that is less."""
        return join(limit_s)
