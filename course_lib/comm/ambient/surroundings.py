"""What the ranks of one run find around them, and what they have changed."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course_lib.comm.ambient.entries import Entry, function_of
from course_lib.comm.ambient.generators import Generator, seed_torch
from course_lib.comm.ambient.loading import WhenLoaded
from course_lib.comm.ambient.notes import NOTED
from course_lib.comm.ambient.of_python import of_asyncio, of_python, of_socket
from course_lib.comm.ambient.of_torch import half_way, of_torch
from course_lib.comm.forks import free_in_copies, in_copies

__all__ = ["Belongings", "Surroundings", "surroundings"]

Belongings = list[tuple[Entry, Any]]
"""What somebody has put aside: of which entry, and what it was."""

_one_at_a_time = free_in_copies(threading.Lock())
_those_of_a_run: "list[Surroundings]" = []
_LOOK_EVERY_S = 0.1


@contextmanager
def surroundings(seed: int, n_threads: int | None = None) -> "Iterator[Surroundings]":
    """Put aside what the caller has, for a run, and put it back at the end, however that comes.

    What belongs to the process cannot be that of two runs, so a run waits for one that is under
    way in another thread.

    Parameters
    ----------
    seed : int
        The run's seed, for global generators that nobody seeds.
    n_threads : int or None, default: None
        With how many threads torch is to compute; None leaves that as it is.

    Yields
    ------
    Surroundings
        For the run.
    """
    while not _one_at_a_time.acquire(timeout=_LOOK_EVERY_S):
        pass  # it may be interrupted here, on any operating system
    ours = Surroundings(seed, n_threads)
    _those_of_a_run[:] = [ours]
    try:
        ours.begin()
        yield ours
    finally:
        try:
            ours.end()
        finally:
            _those_of_a_run.clear()
            _one_at_a_time.release()


@in_copies
def _begin_anew() -> None:
    """Put the caller's back in a copy of the program, made while another thread runs ranks."""
    for theirs in _those_of_a_run:
        theirs.end_in_copy()
    _those_of_a_run.clear()


class Surroundings:
    """All that Python and torch keep, as a new process has it wherever a rank begins.

    Parameters
    ----------
    seed : int
        See ``surroundings``.
    n_threads : int or None
        See ``surroundings``.

    Attributes
    ----------
    is_usual : callable
        Says, as fast as can be, that there is nothing to put aside.
    is_half_way : callable
        Says that torch, which is loaded, is in the middle of what cannot be put aside.
    entries : list of Entry
        What is looked after; what a module keeps from when it is loaded.
    """

    is_usual: Callable[[], bool]
    is_half_way: Callable[[], bool]

    def __init__(self, seed: int, n_threads: int | None) -> None:
        self.entries: list[Entry] = []
        self._of_ranks: list[Entry] = []  # those that are looked at between ranks
        self._generators: list[Generator] = []
        self._callers: list[tuple[Entry, Any]] = []
        self._names: dict[str, Any] = {}
        self._n_modules = 0
        self._to_come: dict[str, Callable[[Any], list[Entry]]] = {
            "sys": lambda _: of_python(seed),
            "torch": partial(of_torch, n_threads=n_threads),
            "asyncio": of_asyncio,
            "socket": of_socket,
        }
        self.is_half_way = self._look_again_half_way
        self._thread = threading.get_ident()
        self._loading: WhenLoaded | None = None

    def begin(self) -> None:
        """Put the caller's aside."""
        for entry in self._look_around():
            self._callers.append((entry, entry.begin()))
        self._compile()
        self._settle()
        if "torch" not in sys.modules:
            self._loading = WhenLoaded("torch", self._torch_is_loaded)

    def end(self) -> None:
        """Put the caller's back. An interrupt comes when that is done."""
        interrupt = None
        if self._loading is not None:
            self._loading.forget()
        while self._callers:
            entry, own = self._callers[-1]
            try:
                entry.end(own)
                self._callers.pop()
            except KeyboardInterrupt as error:
                interrupt = error
        # A flow that did not want to end may still be somewhere: it is to leave all alone.
        for entries in (self.entries, self._of_ranks, self._generators):
            entries.clear()
        self._to_come.clear()
        if interrupt is not None:
            raise interrupt

    def end_in_copy(self) -> None:
        """Put back what the process keeps, in a copy of it that another thread has made."""
        while self._callers:
            entry, own = self._callers.pop()
            entry.end_in_copy(own)

    def put_aside(self, of_rank: Belongings) -> Belongings:
        """Make all usual, before somebody else goes on.

        Parameters
        ----------
        of_rank : list
            Where to put what belongs to the rank; empty before.

        Returns
        -------
        list
            What belongs to the flow.
        """
        self._look_again()
        of_flow: Belongings = []
        if self.is_usual():  # as where a rank returns
            return of_flow
        for entry in self._of_ranks:
            if not entry.is_usual():
                mine = of_flow if entry.whose == "flow" else of_rank
                mine.append((entry, entry.put_aside()))
        self._settle()
        return of_flow

    def _settle(self) -> None:
        """Notice changes from now on: all is usual."""
        for entry in self._of_ranks:
            entry.settle()
        NOTED.changed = False

    @staticmethod
    def put_back(belongings: Belongings) -> None:
        """Give back what was put aside, the last first; nothing is left of the list."""
        while belongings:
            entry, own = belongings.pop()
            entry.put_back(own)

    def seed_again(self) -> None:
        """Forget what was drawn from the global generators."""
        for generator in self._generators:
            if not generator.is_usual():
                generator.put_aside()

    def _torch_is_loaded(self, torch: Any) -> None:
        """Look after torch at once: the rank that has loaded it may use it before it sends."""
        seed_torch(torch)
        if threading.get_ident() == self._thread:  # else the rank's next verb finds it
            added = self._to_come.pop("torch")(torch)
            self.entries += added
            self._begin_late(added)
            for entry in added:
                entry.settle()

    def _look_again(self) -> None:
        """Add what is kept by modules that a rank has loaded."""
        if added := self._look_around():
            self._begin_late(added)

    def _begin_late(self, added: list[Entry]) -> None:
        """Put aside what the caller has of what a rank has loaded."""
        self._callers += [(entry, entry.begin_late()) for entry in added]
        self._compile()

    def _look_again_half_way(self) -> bool:
        """Begin to look after torch, which a rank has loaded."""
        self._look_again()
        return "torch" not in self._to_come and self.is_half_way()

    def _look_around(self) -> list[Entry]:
        """Add what modules keep that have been loaded; return that."""
        added: list[Entry] = []
        if self._n_modules == len(sys.modules):
            return added
        for name in [name for name in self._to_come if _is_loaded(name)]:
            added += self._to_come.pop(name)(sys.modules[name])
        self.entries += added
        self._n_modules = len(sys.modules)  # listing may have loaded some
        return added

    def _compile(self) -> None:
        """Make one function of all checks: it is asked so often that a call of each would tell."""
        checked = self._of_ranks = [entry for entry in self.entries if entry.whose != "run"]
        self._generators = [entry for entry in checked if isinstance(entry, Generator)]
        for entry in checked:
            self._names.update(entry.names)
        # Each is a list of what must be true, and some have a part in common.
        checks = dict.fromkeys(part for entry in checked for part in entry.fast.split(" and "))
        self.is_usual = function_of(" and ".join(checks), self._names)
        if "torch" not in self._to_come:
            self.is_half_way = half_way(sys.modules["torch"])


def _is_loaded(name: str) -> bool:
    """Say whether a module is there, and not just being loaded by another thread."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)
