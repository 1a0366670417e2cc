"""The groups of torch.distributed that messages go through.

Two gloo groups: the default one is the learner's, for ``torch.distributed``'s own collectives and
``DistributedDataParallel``; another is for our messages, so that the two never mix. Where every
rank has a GPU of its own there are two of NCCL as well, one for each direction between two ranks:
NCCL has no tags, and two ranks that send to each other in one group would both wait.
"""

import math
import os
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore, PrefixStore  # type: ignore[attr-defined]

from course_lib.comm.processes.launcher.fork_server_folder import STORE
from course_lib.comm.torch_backend.abandoned import Waiter, leave_open
from course_lib.comm.torch_backend.plain import plainly

__all__ = ["TIMEOUT", "Groups", "make_groups", "meet", "own_device", "use_own_gpu"]

TIMEOUT = timedelta(seconds=20)
"""How long a collective of the default group waits for a rank; torch would wait half an hour."""
_FOR_EVER = timedelta(days=7)  # whoever waits for a message is looked after otherwise
_LETTERS = 0
_NEVER_SENT, _NEVER_TAKEN = 2**30 + 1, 2**30 + 2
_MOST_ON_THE_WAY = 64
_LOOK_S = 0.02


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


def use_own_gpu() -> None:
    """Have this thread's tensors on a GPU lie on that of this rank."""
    if torch.cuda.is_available():
        torch.cuda.set_device(own_device())


def _start_default_group(store: Any, rank: int, size: int) -> Any:
    backend = "cpu:gloo,cuda:nccl" if _has_own_gpu() else "gloo"
    store = PrefixStore("default", store)
    hook = sys.excepthook
    # torch counts groups, and goes on counting when one cannot be made, on one rank alone as it is.
    dist.distributed_c10d._world.group_count = 0
    dist.init_process_group(backend, timeout=TIMEOUT, store=store, rank=rank, world_size=size)
    sys.excepthook = hook  # torch has put one before it, which would outlive the group
    return dist.group.WORLD


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
    use_own_gpu()
    return make_groups(FileStore(str(Path(folder) / STORE), size), rank, size)


def make_groups(store: Any, rank: int, size: int, *, makes_default: bool = True) -> "Groups":
    """Connect the ranks, in compiled code: who does not come is waited for without an end.

    Parameters
    ----------
    store : Store
        Where they find each other; nothing else uses its keys.
    rank, size : int
        Who this is, of how many.
    makes_default : bool, default: True
        Whether torch's default group is to be made, too; else all ranks have one.

    Returns
    -------
    Groups
        The rank's ends of all connections.

    Raises
    ------
    RuntimeError
        Of gloo or of the store, if they cannot connect.
    """
    default = _start_default_group(store, rank, size) if makes_default else None
    try:
        # A group of its own making, which the learner's destroy_process_group() leaves alone.
        own = dist.ProcessGroupGloo(PrefixStore("messages", store), rank, size, _FOR_EVER)
        return Groups(own, rank, default)
    except BaseException:
        if makes_default:
            dist.destroy_process_group()
        raise


class Groups:
    """A rank's ends of all connections.

    Parameters
    ----------
    own : ProcessGroup
        For packets, and for all that lies in a computer's memory.
    rank : int
        Who this is.
    default : ProcessGroup or None
        The default group of torch, if it is of this run's making.

    Attributes
    ----------
    device : str
        Where the rank's tensors live.
    between_gpus : bool
        Whether NCCL moves what lies on a GPU.
    """

    def __init__(self, own: Any, rank: int, default: Any) -> None:
        self._own = own
        self._rank = rank
        self._default = default
        self.device = own_device()
        self.between_gpus = _has_own_gpu()
        groups = [dist.new_group(backend="nccl") for _ in range(2)] if self.between_gpus else []
        self._up_and_down: list[Any] = groups
        self._posting = threading.Lock()
        self._on_the_way: deque[_Letter] = deque()
        self._late: list[_Letter] = []
        self._gone: set[int] = set()

    @plainly
    def post(self, packet: bytearray, dst: int) -> None:
        """Send a packet. Its receiver takes it whatever it does, so that this does not block.

        If the receiver is gone, it has returned and needs no packet, or has died: others tell that.
        """
        with self._posting, suppress(RuntimeError):
            self._on_the_way.append(_Letter(self._own, packet, dst))
            if len(self._on_the_way) > _MOST_ON_THE_WAY:
                letter = self._on_the_way.popleft()
                if letter.dst in self._gone:
                    self._late.append(letter)
                else:
                    letter.wait()

    def forget(self, dst: int) -> None:
        """Hold up nobody for packets to a rank that needs none any more."""
        self._gone.add(dst)

    @plainly
    def deliver(self, packet: bytearray, dst: int) -> "_Letter":
        """Send a packet, and return what waits until it has left."""
        return _Letter(self._own, packet, dst)

    def next_packet(self, buffer: torch.Tensor) -> None:
        """Wait for a packet from anybody."""
        self._own.recv_anysource([buffer], _LETTERS).wait()

    @plainly
    def flush(self, limit_s: float | None = None) -> None:
        """Wait until all packets have been taken, for ``limit_s`` at most: who stops takes none.

        gloo waits for ever for a packet that a rank had asked for and not read when it ended. So
        a thread waits, and this one looks whether the connection is still there.
        """
        until_s = math.inf if limit_s is None else time.monotonic() + limit_s
        with self._posting:
            letters = [*self._late, *self._on_the_way]
            self._late.clear()
            self._on_the_way.clear()
        while letters and time.monotonic() < until_s:
            thread, look_s = Waiter(partial(_take_out, letters), "flush"), _LOOK_S
            thread.start()
            while thread.is_alive() and time.monotonic() < until_s:
                thread.join(min(until_s - time.monotonic(), look_s))
                gone = {letter.dst for letter in letters[:1] if self._is_closed(letter.dst)}
                if gone:  # that thread stays where it is; another waits for what others take
                    letters = [letter for letter in letters if letter.dst not in gone]
                    break
                look_s = min(2 * look_s, 1.0)

    def _is_closed(self, dst: int) -> bool:
        """Say whether a connection has broken: gloo tells who sends."""
        try:
            self._own.send([torch.empty(1, dtype=torch.uint8)], dst, _NEVER_TAKEN)
        except RuntimeError:
            return True
        return False

    @plainly
    def abort(self) -> None:
        """Let everything that waits for a connection of ours fail, whatever thread it is in.

        gloo breaks all connections of a group when one wait in it has lasted too long; it knows no
        other way (``abort`` leaves waits alone).
        """
        own = self._own
        if own is not None and own.size() > 1:
            room = torch.empty(1, dtype=torch.uint8)
            with suppress(RuntimeError):
                own.recv_anysource([room], _NEVER_SENT).wait(timedelta(milliseconds=1))

    def leave(self) -> None:
        """Leave torch without the groups of this run, in a program that goes on."""
        known = dist.distributed_c10d._world.pg_map
        for group in (*self._up_and_down, self._default):
            if group in known:  # the learner's destroy_process_group() may have been there before
                dist.destroy_process_group(group)

    def drop(self) -> None:
        """Close all connections; nobody waits for one any more."""
        self._own = self._default = None
        self._up_and_down = []

    def close(self) -> None:
        """Close what belongs to this run, in a program that goes on; the connections later.

        gloo resets them, and would take away what another rank has not read yet.
        """
        self.leave()
        leave_open(self)

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
        self.dst = dst
        self._tensor = torch.frombuffer(packet, dtype=torch.uint8)
        self._work = group.send([self._tensor], dst, _LETTERS)

    def wait(self) -> None:
        self._work.wait()


def _take_out(letters: list[_Letter]) -> None:
    """Wait for one after the other, and take it out then."""
    while letters:
        with suppress(RuntimeError):
            letters[0].wait()
        del letters[0]


def _tag(number: int) -> int:
    return number % 2**30 + 1
