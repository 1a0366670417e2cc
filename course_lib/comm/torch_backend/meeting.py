"""How a rank that torchrun has started finds the others for a run, and connects to them.

All ranks reach a store of torchrun's. There they first find out who comes (``roll_call``): groups
of torch.distributed are waited for in compiled code, where Ctrl-C cannot reach. Each run makes
groups of its own, under names that no other run and no program has used: in one store gloo would
take the addresses of a group that is gone for those of the next.
"""

import os
import time
from collections.abc import Callable
from functools import cache, partial

import torch.distributed as dist
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from course_lib.comm.errors import LaunchError, LaunchTimeout
from course_lib.comm.failures import first_line
from course_lib.comm.interrupts import Interrupts
from course_lib.comm.torch_backend.abandoned import Waiter, close_those_before
from course_lib.comm.torch_backend.groups import TIMEOUT, Groups, make_groups, use_own_gpu
from course_lib.comm.torch_backend.roll_call import RollCall
from course_lib.comm.torch_backend.way_out import tell_gloo_the_way

__all__ = ["join"]

_LOOK_S = 0.05
_LEAST_S = 20.0  # machines do not start at the same moment


def join(limit_s: float) -> Groups:
    """Meet the other ranks that torchrun has started, in a run of theirs.

    Parameters
    ----------
    limit_s : float
        How long to wait for them to come to this run, at least 20 seconds.

    Returns
    -------
    Groups
        The rank's ends of all connections.

    Raises
    ------
    LaunchError
        If a rank has ended, was interrupted before all had come, or cannot connect to the others;
        or if torch's default group is there on some ranks alone.
    LaunchTimeout
        If one does not come, or does not connect, in time.

    Notes
    -----
    Ctrl-C ends the wait for the others. When all have come, they count on this rank: what comes
    then is left to the caller's ``Interrupts``, to be raised where the others can be told of it.
    """
    try:
        ranks = _ranks()
        with Interrupts() as interrupts:
            has_default = dist.is_initialized()
            limit_s = max(limit_s, _LEAST_S)
            run = ranks.call(limit_s, interrupts, has_default=has_default)
            close_those_before()  # which all have left that have come to this run
            make = partial(_groups_of, run, ranks, makes_default=not has_default)
            try:
                use_own_gpu()  # of this thread
                return _connected(make, ranks, run, limit_s + TIMEOUT.total_seconds())
            except BaseException as error:
                ranks.say_failed(run, error)
                raise
    except dist.DistError as error:
        raise LaunchError(
            "this rank could not reach the store of torchrun, where all ranks meet: "
            f"{first_line(error)}; is torchrun of the first computer still there?"
        ) from None


def _ranks() -> RollCall:
    ranks = _found()
    if os.getpid() != ranks.pid:
        raise LaunchError(
            "this program is a copy (os.fork) of one that torchrun has started: only that one is "
            "a rank, and may call run()"
        )
    return ranks


@cache
def _found() -> RollCall:
    """Find the other ranks in the store that torchrun has named in the environment."""
    tell_gloo_the_way()
    store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
    store.set_timeout(TIMEOUT)
    return RollCall(store, rank, size)


def _groups_of(run: str, ranks: RollCall, *, makes_default: bool) -> Groups:
    # A client of its own: whoever waits in one keeps all others from using it.
    host, port = ranks.store.host, ranks.store.port
    client = TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=TIMEOUT)
    return make_groups(
        PrefixStore(run, client), ranks.rank, ranks.size, makes_default=makes_default
    )


def _connected(make: Callable[[], Groups], ranks: RollCall, run: str, limit_s: float) -> Groups:
    """Connect in a thread: a rank that is stopped meanwhile would be waited for without an end."""
    ended: list[Groups | BaseException] = []

    def connect() -> None:
        try:
            ended.append(make())
        except BaseException as error:
            ended.append(error)

    thread, until_s = Waiter(connect, "connect"), time.monotonic() + limit_s
    thread.start()
    while thread.is_alive() and time.monotonic() < until_s:
        thread.join(_LOOK_S)
        if not ended and (told := ranks.failed(run)):
            raise LaunchError(told)
    rank = ranks.rank
    if not ended:
        raise LaunchTimeout(
            f"rank {rank} has not been able to connect to all others within {limit_s:g} s, though "
            "all had come to this run(); look for a program that has been stopped",
            rank=rank,
        )
    made = ended.pop()
    if isinstance(made, RuntimeError):  # of gloo, or of the store
        raise LaunchError(
            f"rank {rank} could not connect to the others, though all had come to this run(): "
            f"{first_line(made)}; GLOO_SOCKET_IFNAME names the network interface to take",
            rank=rank,
        ) from None
    if isinstance(made, BaseException):
        raise made
    return made
