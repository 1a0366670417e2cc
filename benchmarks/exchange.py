"""What every engine does inside its processes: sum arrays, check every sum, take the time.

All engines run this file's code around their own all-reduce, so they sum the same numbers equally
often, and none of them has a wrong sum to be fast with.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from course_lib.measure import timing
from course_lib.measure.timing import calls_a_round, time_rounds

__all__ = ["Engine", "Measured", "Task", "WrongSum", "contribution", "measure", "slowest"]

Vector = NDArray[np.float32]
Measured = dict[str, list[float]]
"""Seconds per call, one for each batch; by the number of bytes, or "ping"."""


class WrongSum(AssertionError):
    """An engine gave a rank something else than the sum."""


@dataclass(frozen=True)
class Task:
    """What the processes of an engine shall measure: all-reduces, and round trips of 8 bytes."""

    sizes: tuple[int, ...]
    n_batches: int = 3
    n_pings: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Engine(Protocol):
    """One rank of an engine."""

    name: str
    rank: int
    size: int

    def barrier(self) -> None:
        """Wait for all ranks."""

    def prepare(self, x: Vector, n_calls: int) -> Callable[[], list[Vector]]:
        """Get ready to all-reduce copies of ``x`` in place; what is returned does so, timed."""

    def send(self, array: Vector, dst: int) -> None:
        """Send an array."""

    def receive(self, out: Vector, src: int) -> None:
        """Receive an array."""


def contribution(rank: int, n_bytes: int) -> Vector:
    """Return what a rank adds: whole numbers, so that float32 has exactly one right sum.

    They differ from place to place, and 997 is prime, so that a chunk at a wrong place shows.
    """
    return (rank + 1) * np.resize(np.arange(1, 998, dtype=np.float32), n_bytes // 4)


def measure(engine: Engine, task: Task) -> Measured:
    """Measure what the task asks for; every rank of the engine calls this."""
    measured = {
        str(n_bytes): _sums(engine, n_bytes, task.n_batches) for n_bytes in task.sizes
    }  # fmt: skip
    if task.n_pings:
        measured["ping"] = _pings(engine, task)
    return measured


def slowest(ranks: list[Measured]) -> Measured:
    """An all-reduce is over when the last rank has its sum: take the slowest of each batch."""
    return {what: timing.slowest([measured[what] for measured in ranks]) for what in ranks[0]}


def _sums(engine: Engine, n_bytes: int, n_batches: int) -> list[float]:
    n_calls = calls_a_round(n_bytes)
    x = contribution(engine.rank, n_bytes)
    expected = contribution(0, n_bytes) * (engine.size * (engine.size + 1) // 2)

    def begin() -> Callable[[], list[Vector]]:
        sum_up = engine.prepare(x, n_calls)
        engine.barrier()
        return sum_up

    def check(sums: list[Vector]) -> None:
        for found in sums:
            _check(engine, found, expected)

    return time_rounds(begin, n_batches, calls=n_calls, check=check)


def _check(engine: Engine, found: Vector, expected: Vector) -> None:
    if found.shape == expected.shape and np.array_equal(found, expected):
        return
    who = f"{engine.name}, rank {engine.rank} of {engine.size}, {expected.nbytes:,} bytes"
    if found.shape != expected.shape:
        raise WrongSum(f"{who}: the sum has shape {found.shape}, expected {expected.shape}")
    place = int(np.flatnonzero(found != expected)[0])
    raise WrongSum(f"{who}: place {place} holds {found[place]}, expected {expected[place]}")


def _pings(engine: Engine, task: Task) -> list[float]:
    """Return the seconds of one way between ranks 0 and 1: half a round trip of 8 bytes."""
    ball = np.ones(2, np.float32)

    def play() -> None:
        for _ in range(task.n_pings):
            if engine.rank == 0:
                engine.send(ball, 1)
                engine.receive(ball, 1)
            else:
                engine.receive(ball, 0)
                engine.send(ball, 0)

    def begin() -> Callable[[], None]:
        engine.barrier()
        return play

    return time_rounds(begin, task.n_batches, calls=2 * task.n_pings)
