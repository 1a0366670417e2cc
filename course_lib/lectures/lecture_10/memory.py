"""Load, add, store: a memory that answers, and cores that add to what they have read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network
from course_lib.trace.contributions import Contributions, Counts, Fill
from course_lib.trace.events import Note
from course_lib.trace.trace import Trace
from course_lib.viz import Player, player

__all__ = ["MemoryRun", "Updates", "add_in_memory", "drawn", "in_turn", "on_memory"]

Updates = Sequence[Sequence[Sequence[int]]]
"""By core, then by update, the parameters that it adds to."""

GRADIENT_S, ADD_S, _LATENCY_S = 1.0, 0.5, 0.1
_LOAD, _STORE, _ADD = 0.0, 1.0, 2.0


def add_in_memory(comm: Communicator, updates: Updates, by_memory: bool = False) -> Any:
    """Add to parameters in a memory, which is rank 0; all other ranks are cores.

    Processors add to a number in memory in three steps: load it, add, store what came out. So does
    each core here. Update number k adds ``2**k``: what the memory holds says which are in it.

    Parameters
    ----------
    comm : Communicator
        The memory and the cores.
    updates : sequence of sequence of sequence of int
        By core, for each of its updates, the parameters that it adds to.
    by_memory : bool, default: False
        Whether a core sends what is to be added, and the memory adds it to what it holds.

    Returns
    -------
    numpy.ndarray or None
        On rank 0 the parameters.
    """
    if comm.rank == 0:
        return _memory(comm, updates, by_memory)
    first = sum(len(one) for one in updates[: comm.rank - 1])
    for number, columns in enumerate(updates[comm.rank - 1], start=first):
        with comm.compute("gradient", flops=GRADIENT_S):
            mine = 2.0**number
        if by_memory:
            comm.send(np.array([_ADD, *columns, mine]), 0, tag="add")
            continue
        comm.send(np.array([_LOAD, *columns]), 0, tag="load")
        loaded = comm.recv(0)
        comm.note("loaded", [columns, loaded])
        with comm.compute("add", flops=ADD_S):
            added = loaded + mine
        comm.note("added", [columns, added])
        comm.send(np.array([_STORE, *columns, *added]), 0, tag="store")
    return None


def _memory(comm: Communicator, updates: Updates, by_memory: bool) -> NDArray[np.float64]:
    """Answer a load, keep what is stored, add what is to be added."""
    every = [columns for core in updates for columns in core]
    w = np.zeros(1 + max(column for columns in every for column in columns))
    for _ in range(len(every) * (1 if by_memory else 2)):
        src, (kind, *asked) = comm.recv_any()
        if kind == _LOAD:
            comm.send(w[np.array(asked, int)], src, tag="answer")
            continue
        n = len(asked) - 1 if kind == _ADD else len(asked) // 2
        columns, values = np.array(asked[:n], int), np.array(asked[n:])
        w[columns] = values if kind == _STORE else w[columns] + values
        comm.note("stored", [columns.tolist(), w[columns]])
    return w


@dataclass(frozen=True)
class MemoryRun:
    """A run of ``add_in_memory``.

    Attributes
    ----------
    updates : sequence of sequence of sequence of int
        What it was called with.
    trace : Trace
        What happened.
    """

    updates: Updates
    trace: Trace

    @property
    def made(self) -> int:
        """How many additions the cores have made."""
        return sum(len(columns) for core in self.updates for columns in core)

    @property
    def kept(self) -> int:
        """How many of them are in the parameters at the end."""
        last: dict[int, int] = {}
        for note in self.trace.notes_named("stored"):
            last |= _values(note)
        return sum(value.bit_count() for value in last.values())

    @property
    def lost_at(self) -> list[float]:
        """When a store has overwritten another that its core had not seen."""
        before: dict[int, int] = {}
        found = []
        for note in self.trace.notes_named("stored"):
            stored = _values(note)
            if any(before.get(column, 0) & ~value for column, value in stored.items()):
                found.append(note.time_s)
            before |= stored
        return found

    def player(self, title: str = "", **how: Any) -> Player:
        """Play it: every box has a cell for each parameter, as full as updates are in it.

        Parameters
        ----------
        title : str, default: ""
            What stands above it; empty says what is kept.
        **how
            For ``player``.

        Returns
        -------
        Player
            The picture.
        """
        return player(
            self.trace, "star", roles={0: "memory"}, contributions=self.contributions,
            title=title or f"{self.kept} of {self.made} additions are kept", **how,
        )  # fmt: skip

    @property
    def contributions(self) -> Contributions:
        """Which updates are in each parameter: in the memory, in a core, in a message."""
        every = [columns for core in self.updates for columns in core]
        goals = [0] * (1 + max(column for columns in every for column in columns))
        for columns in every:
            for column in columns:
                goals[column] += 1
        nothing: Counts = (0,) * len(every)
        fills = [
            Fill(note.rank, column, _bits(value, len(every)), note.time_s)
            for note in self.trace.notes for column, value in _values(note).items()
        ]  # fmt: skip
        held = [[nothing] * len(goals) for _ in range(self.trace.size)]
        return Contributions(goals, held, [*self._carried(len(every))], fills, "parameter")

    def _carried(self, n_updates: int) -> Iterator[dict[int, Counts]]:
        """Say of a message what it carried: an answer what was loaded, a store what was added."""
        notes: dict[tuple[int, str], Iterator[Note]] = {
            (rank, name): iter([n for n in self.trace.notes_named(name) if n.rank == rank])
            for rank in range(1, self.trace.size) for name in ("loaded", "added")
        }  # fmt: skip
        for message in self.trace.messages:
            kind = {"answer": (message.dst, "loaded"), "store": (message.src, "added")}
            sent = next(notes[kind[message.tag]]) if message.tag in kind else None
            values = _values(sent) if sent else {}
            yield {column: _bits(value, n_updates) for column, value in values.items()}


def on_memory(
    updates: Updates, seconds: Mapping[int, Sequence[float | None]] | None = None,
    seed: int | None = None, by_memory: bool = False,
) -> MemoryRun:  # fmt: skip
    """Run ``add_in_memory`` in virtual time: a gradient takes a second, an addition half of one.

    Parameters
    ----------
    updates : sequence of sequence of sequence of int
        As above.
    seconds : dict of int to sequence of float, or None, default: None
        By core, how long its computations take, in their order, where not the usual time.
    seed : int or None, default: None
        Of random times, exponentially distributed; None for none.
    by_memory : bool, default: False
        As above.

    Returns
    -------
    MemoryRun
        What happened.
    """
    network = Network("a memory", _LATENCY_S, float("inf"), 1.0)
    if seed is not None:
        network = network.with_exponential_service(seed)
    if seconds is not None:
        network = network.with_service_times(seconds)
    made = run(
        add_in_memory, updates, by_memory, workers=1 + len(updates), backend="simulated",
        network=network,
    )  # fmt: skip
    assert made.trace is not None
    return MemoryRun(updates, made.trace)


def in_turn(order: Sequence[int]) -> MemoryRun:
    """Play an order of turns of cores that count: one parameter, load and store by turns.

    Parameters
    ----------
    order : sequence of int
        Which core is next, from 1: its first turn is a load, its second the store, and so on.

    Returns
    -------
    MemoryRun
        In which every turn takes a second.
    """
    seconds: dict[int, list[float | None]] = {}
    ends: dict[int, float] = {}
    for turn, core in enumerate(order):
        own = seconds.setdefault(core, [])
        wait = 2 * _LATENCY_S if len(own) % 2 else 0.0  # until the load is answered
        own.append(turn - ends.get(core, 0.0) - wait)
        ends[core] = turn
    updates = [[[0]] * (order.count(core) // 2) for core in range(1, max(order) + 1)]
    return on_memory(updates, seconds)


def drawn(
    cores: int, each: int, columns: int, touched: int, seed: int = 0
) -> list[list[list[int]]]:
    """Draw for every update which parameters it adds to, all equally likely.

    Parameters
    ----------
    cores, each : int
        How many cores, and updates of each.
    columns, touched : int
        How many parameters there are, and how many an update adds to.
    seed : int, default: 0
        Another one draws others.

    Returns
    -------
    list of list of list of int
        By core, then by update, in ascending order.
    """
    rng = np.random.default_rng(seed)
    return [
        [sorted(map(int, rng.permutation(columns)[:touched])) for _ in range(each)]
        for _ in range(cores)
    ]


def _values(note: Note) -> dict[int, int]:
    """Read a note of parameters and their values."""
    columns, values = note.value
    return {int(column): int(value) for column, value in zip(columns, values, strict=True)}


def _bits(value: int, n_updates: int) -> Counts:
    return tuple(value >> k & 1 for k in range(n_updates))
