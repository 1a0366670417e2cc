"""Before each run under torchrun, find out whether all ranks come to it.

The ranks are programs of their own, and one may leave out a ``run`` that the others call, or end.
Groups of torch.distributed would be waited for in compiled code, where Ctrl-C cannot reach. So the
ranks first meet in the store by which they have found each other. What becomes of a run is written
there once, by whoever can tell first: the last to come, or one that has waited too long.
"""

import atexit
import itertools
import time
from contextlib import suppress
from typing import Any

from torch.distributed import PrefixStore  # type: ignore[attr-defined]

from course_lib.comm.errors import LaunchError, LaunchTimeout
from course_lib.comm.interrupts import Interrupts
from course_lib.comm.wait_graph import listed

__all__ = ["call_roll"]

_ALL = "course_lib"
_SHORTEST_S, _LONGEST_S = 0.001, 0.05
_WHOLE = "whole"
_EQUALLY_OFTEN = (
    "every rank's program must call run() equally often, so never inside `if result.is_whole:`, "
    "which is true on one rank only"
)
_runs = itertools.count(1)


def call_roll(
    base: Any, rank: int, size: int, limit_s: float, interrupts: Interrupts, *, has_default: bool
) -> str:
    """Wait until all ranks have come to this run.

    Parameters
    ----------
    base : Store
        Which all ranks reach.
    rank, size : int
        Who this is, of how many.
    limit_s : float
        For how long.
    interrupts : Interrupts
        Notes an interrupt. It ends the wait; when all have come, it is left to the caller.
    has_default : bool
        Whether this rank has a default group of torch's.

    Returns
    -------
    str
        The run's name in the store, for the keys of its own.

    Raises
    ------
    LaunchError
        On every rank that has come, if another has ended, or was interrupted while it waited; or if
        some have a default group and some have none.
    LaunchTimeout
        If one has not come in time; it raises there, too, when it comes.
    """
    everywhere, number = PrefixStore(_ALL, base), next(_runs)
    if number == 1:
        atexit.register(_say_ended, everywhere, rank)
    name = f"run {number}"
    store = PrefixStore(name, everywhere)
    store.set(f"came {rank}", str(has_default))
    if store.add("came", 1) == size:
        _settle(store, _unlike(store, size) or _WHOLE)
    outcome = _await_outcome(store, everywhere, rank, size, limit_s, interrupts)
    if outcome != _WHOLE:
        if interrupts.error is not None:
            raise interrupts.error
        raise _error(*outcome.split(" ", 1))
    return f"{_ALL}/{name}"


def _unlike(store: Any, size: int) -> str:
    """Say which ranks have no default group of torch's, where others have one."""
    without = [str(each) for each in range(size) if store.get(f"came {each}") == b"False"]
    return f"unlike {','.join(without)}" if 0 < len(without) < size else ""


def _say_ended(store: Any, rank: int) -> None:
    with suppress(Exception):  # the store may have ended before
        store.set(f"ended {rank}", "")


def _settle(store: Any, outcome: str) -> str:
    """Say what becomes of the run, unless somebody has already; return what holds."""
    return str(store.compare_set("outcome", "", outcome).decode())


def _await_outcome(
    store: Any, everywhere: Any, rank: int, size: int, limit_s: float, interrupts: Interrupts
) -> str:
    deadline_s, pause_s = time.monotonic() + limit_s, _SHORTEST_S
    while not store.check(["outcome"]):
        if interrupts.error is not None:
            return _settle(store, f"left {rank}")
        if pause_s >= _LONGEST_S:
            absent = [each for each in range(size) if not store.check([f"came {each}"])]
            ended = [each for each in absent if everywhere.check([f"ended {each}"])]
            if ended:
                return _settle(store, f"ended {','.join(map(str, ended))}")
            if time.monotonic() >= deadline_s and absent:
                waited = f"{limit_s:g} s of rank {rank}"
                return _settle(store, f"late {','.join(map(str, absent))} {waited}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_S)
    return str(store.get("outcome").decode())


def _error(kind: str, details: str) -> LaunchError | LaunchTimeout:
    numbers, _, waited = details.partition(" ")
    ranks = [int(number) for number in numbers.split(",")]
    who = listed(ranks) if len(ranks) > 1 else f"rank {ranks[0]}"
    has = "have" if len(ranks) > 1 else "has"
    if kind == "late":
        return LaunchTimeout(
            f"{who} {has} not come to this run() within {waited}; {_EQUALLY_OFTEN}; else look for "
            "a program that has been killed or stopped, or that does something else first",
            rank=ranks[0],
        )
    if kind == "unlike":
        return LaunchError(
            f"{who} {has} no default process group of torch's, and every other rank has one: call "
            "init_process_group() and destroy_process_group() on all ranks, or on none (a run() "
            "makes its own where there is none)",
            rank=ranks[0],
        )
    if kind == "left":
        return LaunchError(
            f"{who} was interrupted while it waited for the others to come to this run()",
            rank=ranks[0],
        )
    return LaunchError(
        f"{who} {has} ended and will not come to this run(); {_EQUALLY_OFTEN}", rank=ranks[0]
    )
