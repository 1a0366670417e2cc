"""The groups of torch.distributed that messages go through.

Two gloo groups: the default one is the learner's, for ``torch.distributed``'s own collectives and
``DistributedDataParallel``; another is for our messages, so that the two never mix. Where every
rank has a GPU of its own there are two of NCCL as well, one for each direction between two ranks:
NCCL has no tags, and two ranks that send to each other in one group would both wait.
"""

import atexit
import os
import re
import threading
from collections import deque
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore, PrefixStore  # type: ignore[attr-defined]

from course_lib.comm.errors import LaunchError
from course_lib.comm.processes.launcher.fork_server_folder import STORE
from course_lib.comm.torch_backend.abandoned import Waiter
from course_lib.comm.torch_backend.plain import plainly
from course_lib.comm.torch_backend.roll_call import call_roll
from course_lib.comm.torch_backend.way_out import tell_gloo_the_way

__all__ = ["TIMEOUT", "Groups", "join", "meet", "own_device"]

TIMEOUT = timedelta(seconds=20)
"""How long a collective of the default group waits for a rank; torch would wait half an hour."""
_FOR_EVER = timedelta(days=7)  # whoever waits for a message is looked after otherwise
_LETTERS = 0
_NEVER_SENT = 2**30 + 1
_MOST_ON_THE_WAY = 64


def own_device(local_rank: int | None = None) -> str:
    """Return where this rank's tensors live: on a GPU if there is one, which ranks may share.

    Parameters
    ----------
    local_rank : int or None, default: None
        Which of this computer's ranks it is; None asks the environment.

    Returns
    -------
    str
        As torch calls it.
    """
    if not torch.cuda.is_available():
        return "cpu"
    number = int(os.environ["LOCAL_RANK"]) if local_rank is None else local_rank
    return f"cuda:{number % torch.cuda.device_count()}"


def _has_own_gpu() -> bool:
    n_here = int(os.environ["LOCAL_WORLD_SIZE"])
    return dist.is_nccl_available() and n_here <= torch.cuda.device_count()


def _start_default_group(**where: Any) -> None:
    if torch.cuda.is_available():
        torch.cuda.set_device(own_device())
    backend = "cpu:gloo,cuda:nccl" if _has_own_gpu() else "gloo"
    dist.init_process_group(backend, timeout=TIMEOUT, **where)


def meet(rank: int, size: int, folder: str, interface: str) -> "Groups":
    """Connect the ranks of one computer, through a file that they find each other by.

    Parameters
    ----------
    rank, size : int
        Who this is, of how many.
    folder : str
        Where the file is; nobody else may read it, and no other run uses it.
    interface : str
        The name of the network that never leaves the computer.

    Returns
    -------
    Groups
        The rank's ends of all connections.
    """
    for library in ("GLOO", "NCCL", "TP"):
        os.environ[f"{library}_SOCKET_IFNAME"] = interface
    os.environ.update(LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size))
    store = FileStore(str(Path(folder) / STORE), size)
    _start_default_group(store=PrefixStore("default", store), rank=rank, world_size=size)
    # A group of its own making, which the learner's destroy_process_group() leaves alone.
    own = dist.ProcessGroupGloo(PrefixStore("messages", store), rank, size, _FOR_EVER)
    return Groups(own, rank)


def join(limit_s: float) -> "Groups":
    """Join the group that torchrun has started, or that this program has.

    Parameters
    ----------
    limit_s : float
        How long to wait for the other ranks to come to this run, at least 20 seconds.

    Returns
    -------
    Groups
        The rank's ends of all connections.
    """
    if not dist.is_initialized():
        tell_gloo_the_way()
        try:
            _start_default_group()
        except dist.DistStoreError as error:
            raise _one_is_missing(str(error)) from None
        # Threads of a group that nobody has closed abort a program that ends.
        atexit.register(_leave_default_group)
    interrupt = call_roll(limit_s)
    groups = Groups(dist.new_group(backend="gloo", timeout=_FOR_EVER), dist.get_rank())
    if interrupt is not None:
        raise interrupt
    return groups


def _one_is_missing(text: str) -> LaunchError:
    """Say who has not come, as far as torch tells: the key that it has waited for ends with it."""
    found = re.search(r"keys: \S*/(\d+)\s*$", text)
    who = f"rank {found[1]}" if found else "another rank"
    return LaunchError(
        f"{who} has not come to its first run() within {TIMEOUT.total_seconds():.0f} s of this "
        "one: it has ended before, or does something else first; every rank's program must call "
        "run() equally often"
    )


class Groups:
    """A rank's ends of all connections.

    Parameters
    ----------
    own : ProcessGroup
        For packets, and for all that lies in a computer's memory.
    rank : int
        Who this is.

    Attributes
    ----------
    device : str
        Where the rank's tensors live.
    between_gpus : bool
        Whether NCCL moves what lies on a GPU.
    """

    def __init__(self, own: Any, rank: int) -> None:
        self._own = own
        self._rank = rank
        self.device = own_device()
        self.between_gpus = _has_own_gpu()
        groups = [dist.new_group(backend="nccl") for _ in range(2)] if self.between_gpus else []
        self._up_and_down: list[Any] = groups
        self._posting = threading.Lock()
        self._on_the_way: deque[_Letter] = deque()

    @plainly
    def post(self, packet: bytearray, dst: int) -> None:
        """Send a packet. Its receiver takes it whatever it does, so that this does not block.

        If the receiver is gone, it has returned and needs no packet, or has died: others tell that.
        """
        with self._posting, suppress(RuntimeError):
            self._on_the_way.append(_Letter(self._own, packet, dst))
            if len(self._on_the_way) > _MOST_ON_THE_WAY:
                self._on_the_way.popleft().wait()

    @plainly
    def deliver(self, packet: bytearray, dst: int) -> "_Letter":
        """Send a packet, and return what waits until it has left."""
        return _Letter(self._own, packet, dst)

    def next_packet(self, buffer: torch.Tensor) -> None:
        """Wait for a packet from anybody."""
        self._own.recv_anysource([buffer], _LETTERS).wait()

    def flush(self, limit_s: float | None = None) -> None:
        """Wait until all packets have been taken, for ``limit_s`` at most: who stops takes none."""
        if limit_s is None:
            self._flush()
        else:
            thread = Waiter(self._flush, "flush")
            thread.start()
            thread.join(limit_s)

    def _flush(self) -> None:
        with self._posting:
            while self._on_the_way:
                with suppress(RuntimeError):
                    self._on_the_way.popleft().wait()

    def abort(self) -> None:
        """Let everything that waits for a connection of ours fail, whatever thread it is in.

        gloo breaks all connections of a group when one wait in it has lasted too long; it knows no
        other way (``abort`` leaves waits alone).
        """
        if self._own.size() > 1:
            room = torch.empty(1, dtype=torch.uint8)
            with suppress(RuntimeError):
                self._own.recv_anysource([room], _NEVER_SENT).wait(timedelta(milliseconds=1))

    def close(self) -> None:
        """Close what belongs to this run, in a program that goes on."""
        if dist.is_initialized():
            for group in (self._own, *self._up_and_down):
                dist.destroy_process_group(group)

    @plainly
    def send(self, payload: torch.Tensor, dst: int, number: int, *, on_device: bool) -> Any:
        """Begin to send what has been asked for."""
        if on_device:
            return self._up_and_down[dst > self._rank].send([payload], dst, 0)
        return self._own.send([payload], dst, _tag(number))

    @plainly
    def receive(self, room: torch.Tensor, src: int, number: int, *, on_device: bool) -> Any:
        """Begin to receive what has been asked for."""
        if on_device:
            return self._up_and_down[src < self._rank].recv([room], src, 0)
        return self._own.recv([room], src, _tag(number))


class _Letter:
    """A packet on its way, and its memory, which gloo reads until it has left."""

    def __init__(self, group: Any, packet: bytearray, dst: int) -> None:
        self._tensor = torch.frombuffer(packet, dtype=torch.uint8)
        self._work = group.send([self._tensor], dst, _LETTERS)

    def wait(self) -> None:
        self._work.wait()


def _leave_default_group() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _tag(number: int) -> int:
    return number % 2**30 + 1
