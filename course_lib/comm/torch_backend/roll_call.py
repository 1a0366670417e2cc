"""Before each run under torchrun, find out whether all ranks come to it.

The ranks are programs of their own, and one may leave out a ``run`` that the others call, or end.
Groups of torch.distributed would be waited for in compiled code, where Ctrl-C cannot reach. So the
ranks first meet in the store by which they have found each other. What becomes of a run is written
there once, by whoever can tell first: the last to come, one that has waited too long, or one whose
call of ``run`` has ended before.

Torchrun keeps that store when it starts its programs again (``--max-restarts``). So all keys have a
word before them that rank 0 makes up anew, and tells only to those who live: each asks for it under
a name that it has made up, and rank 0 answers while it waits.
"""

import atexit
import json
import os
import secrets
import time
from contextlib import suppress
from typing import Any

from torch.distributed import PrefixStore  # type: ignore[attr-defined]

from course_lib.comm.calls import this_call
from course_lib.comm.errors import LaunchError, LaunchTimeout
from course_lib.comm.failures import first_line
from course_lib.comm.interrupts import Interrupts
from course_lib.comm.wait_graph import listed

__all__ = ["RollCall", "tell_absence"]

_SHORTEST_S, _LONGEST_S = 0.001, 0.05
_EQUALLY_OFTEN = (
    "every rank's program must call run() equally often, so never inside `if result.is_whole:`, "
    "which is true on one rank only"
)
_TOLD = {
    "late": "{who} {has} not come to this run() within {said}; {often}; else look for a program "
    "that has been killed or stopped, or that does something else first",
    "left": "{who} was interrupted before all had come to this run()",
    "refused": "{who} will not come to this run(), as its call has failed: {said}",
    "ended": "{who} {has} ended and will not come to this run(); {often}",
    "unlike": "{who} {has} no default process group of torch's, and every other rank has one: call "
    "init_process_group() and destroy_process_group() on all ranks, or on none (a run() makes its "
    "own where there is none)",
    "other": "the ranks call run() with different functions: {said}; {often}",
}
_absent: dict[int, tuple[str, str]] = {}
"""Calls of this rank that have ended before they were told of, and how."""
_open: list["RollCall"] = []


class RollCall:
    """The ranks that torchrun has started, and their store.

    Parameters
    ----------
    store : Store
        Which all of them reach.
    rank, size : int
        Who this is, of how many.
    """

    def __init__(self, store: Any, rank: int, size: int) -> None:
        self.store = store
        self.rank, self.size = rank, size
        self.pid = os.getpid()
        self._door = PrefixStore("course_lib", store)
        self._name = secrets.token_hex(8)
        self._answered: dict[int, str] = {}
        self._room: Any = None
        self._word = self._name if rank == 0 else ""
        if rank == 0:
            self._enter()
        else:
            self._door.set(f"asks {rank}", self._name)
        _open.append(self)
        atexit.register(self._say_ended)

    def _enter(self) -> None:
        self._room = PrefixStore(self._word, self._door)
        self.tell_absences()

    def tell_absences(self) -> None:
        """Tell of calls that have ended early, if the others can be told by now."""
        while _absent and self._room is not None and os.getpid() == self.pid:
            number, (kind, said) = _absent.popitem()
            _settle(PrefixStore(f"run {number}", self._room), kind, [self.rank], said)

    def call(self, limit_s: float, interrupts: Interrupts, *, has_default: bool) -> str:
        """Wait until all ranks have come to this run.

        Parameters
        ----------
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
            On every rank that has come, if another has ended, or its call has; or if some have a
            default group and some have none, or call other functions.
        LaunchTimeout
            If one has not come in time; it raises there, too, when it comes.
        """
        deadline_s = time.monotonic() + limit_s
        self._ask(deadline_s, limit_s, interrupts)
        this, name = this_call(), f"run {this_call().number}"
        store = PrefixStore(name, self._room)
        store.set(f"came {self.rank}", json.dumps([has_default, this.name]))
        if store.add("came", 1) == self.size:
            _settle(store, *self._compared(store))
        kind, ranks, said = self._outcome(store, deadline_s, limit_s, interrupts)
        this.has_met = True
        if kind == "whole":
            return f"course_lib/{self._word}/{name}"
        raise interrupts.error or _error(kind, ranks, said)

    def _ask(self, deadline_s: float, limit_s: float, interrupts: Interrupts) -> None:
        """Ask rank 0 for the word before all keys, the first time."""
        pause_s, answer = _SHORTEST_S, f"{self.rank} {self._name}"
        while self._room is None:
            if self._door.check([answer]):
                self._word = self._door.get(answer).decode()
                self._enter()
                return
            if interrupts.error is not None:
                raise interrupts.error
            if time.monotonic() >= deadline_s:
                raise _error("late", [0], f"{limit_s:g} s of rank {self.rank}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_S)

    def _answer(self) -> None:
        for rank in range(1, self.size) if self.rank == 0 else ():
            if self._door.check([f"asks {rank}"]):
                name = self._door.get(f"asks {rank}").decode()
                if self._answered.get(rank) != name:
                    self._door.set(f"{rank} {name}", self._word)
                    self._answered[rank] = name
                if self._door.check([f"gone {name}"]):
                    self._room.set(f"ended {rank}", "")

    def _compared(self, store: Any) -> tuple[str, list[int], str]:
        """Say what becomes of a run to which all have come."""
        came = [json.loads(store.get(f"came {rank}")) for rank in range(self.size)]
        without = [rank for rank, (has_default, _) in enumerate(came) if not has_default]
        if 0 < len(without) < self.size:
            return "unlike", without, ""
        names = [name for _, name in came]
        other = next((rank for rank, name in enumerate(names) if name != names[0]), None)
        if other is not None:
            return "other", [other], f"rank 0 with {names[0]}, rank {other} with {names[other]}"
        return "whole", [], ""

    def _outcome(
        self, store: Any, deadline_s: float, limit_s: float, interrupts: Interrupts
    ) -> tuple[str, list[int], str]:
        pause_s = _SHORTEST_S
        while not store.check(["outcome"]):
            if interrupts.error is not None:
                return _settle(store, "left", [self.rank], "")
            if len(self._answered) < self.size - 1 or pause_s >= _LONGEST_S:
                self._answer()
            if pause_s >= _LONGEST_S:
                absent = [each for each in range(self.size) if not store.check([f"came {each}"])]
                ended = [each for each in absent if self._room.check([f"ended {each}"])]
                if ended:
                    return _settle(store, "ended", ended, "")
                if time.monotonic() >= deadline_s and absent:
                    return _settle(store, "late", absent, f"{limit_s:g} s of rank {self.rank}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_S)
        return _read(store.get("outcome"))

    def say_failed(self, run: str, error: BaseException) -> None:
        """Tell those who try to connect that this rank cannot."""
        text = first_line(error)
        if not isinstance(error, LaunchError):
            text = f"rank {self.rank} could not connect to the others: {_in_words(error)}"
        with suppress(Exception):
            PrefixStore(run, self.store).compare_set("failed", "", text)

    def failed(self, run: str) -> str:
        """Return what a rank that cannot connect has said; empty if none has."""
        store = PrefixStore(run, self.store)
        return str(store.get("failed").decode()) if store.check(["failed"]) else ""

    def _say_ended(self) -> None:
        if os.getpid() != self.pid:  # a copy of the program
            return
        with suppress(Exception):  # the store may have ended before
            if self._room is None:
                self._door.set(f"gone {self._name}", "")
            else:
                self._room.set(f"ended {self.rank}", "")


def tell_absence(number: int, error: BaseException) -> None:
    """Tell the other ranks that a call of ``run`` has ended before they could meet in it.

    Parameters
    ----------
    number : int
        Which call of this program.
    error : BaseException
        How it has ended.
    """
    if isinstance(error, KeyboardInterrupt):
        _absent[number] = "left", ""
    else:
        _absent[number] = "refused", _in_words(error)
    for each in _open:
        each.tell_absences()


def _in_words(error: BaseException) -> str:
    text = first_line(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _settle(store: Any, kind: str, ranks: list[int], said: str) -> tuple[str, list[int], str]:
    """Say what becomes of the run, unless somebody has already; return what holds."""
    return _read(store.compare_set("outcome", "", json.dumps([kind, ranks, said])))


def _read(outcome: bytes) -> tuple[str, list[int], str]:
    kind, ranks, said = json.loads(outcome)
    return kind, ranks, said


def _error(kind: str, ranks: list[int], said: str) -> LaunchError | LaunchTimeout:
    who = listed(ranks) if len(ranks) > 1 else f"rank {ranks[0]}"
    has = "have" if len(ranks) > 1 else "has"
    text = _TOLD[kind].format(who=who, has=has, said=said, often=_EQUALLY_OFTEN)
    return (LaunchTimeout if kind == "late" else LaunchError)(text, rank=ranks[0])
