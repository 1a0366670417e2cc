"""What cannot travel: functions, arguments and results that nobody can pack, load or afford."""

import dataclasses
import functools
import math
import os
import socket
import sys
import threading
from typing import NamedTuple

import numpy as np
import pytest

from course_lib.comm.errors import (
    SerializationError,
    WorkerError,
    WorkerExited,
    WorkerStartError,
)
from course_lib.comm.memory import MUCH_BYTES
from tests.faults.table import Case, row


def twice(function):
    @functools.wraps(function)
    def wrapper(*args):
        return 2 * function(*args)

    return wrapper


@dataclasses.dataclass
class Shape:
    width: float

    @property
    def area(self):
        return square(self.width)


class Disc(Shape):
    @property
    def area(self):
        return math.pi * super().area


class Pair(NamedTuple):
    a: int
    b: int


@twice
def square(x):
    return x * x / 2


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


@row(31, "imports, helpers, classes, closures, decorators, mutual recursion")
def whatever_a_function_uses_travels_with_it(case: Case) -> None:
    scale = 3
    cube = lambda x: x * square(x)  # noqa: E731 - cells hold such

    def work(comm, offset):
        return (
            is_even(10), Disc(1.0).area, Pair(1, offset), scale * cube(2), float(np.sqrt(4.0)),
            Shape(comm.rank),
        )  # fmt: skip

    values = case.run(functools.partial(work, offset=5)).values
    assert values == [
        (True, math.pi, Pair(1, 5), 24, 2.0, Shape(rank)) for rank in range(case.workers)
    ]
    assert type(values[0][5]) is Shape


@row(
    32,
    "a captured thing that cannot travel",
    limit_s=0.5,
    alone=True,
    variants={
        "a lock": threading.Lock,
        "a generator": lambda: (n for n in range(3)),
        "an open file": lambda: open(os.devnull, "w"),  # noqa: SIM115, PTH123 - to be captured
        "a socket": socket.socket,
        "a thread": lambda: threading.Thread(target=print),
        "a list with a lock": lambda: [1, threading.RLock()],
    },
)
def a_capture_that_cannot_travel_is_named_before_anything_starts(case: Case) -> None:
    mine = case.variant()

    def helper():
        return mine

    def work(comm):
        return helper()

    error = case.failing(SerializationError, work)
    assert f"uses the variable 'mine', a {type(mine).__name__}, which cannot travel" in str(error)
    error = case.failing(SerializationError, lambda comm, number, given: None, 1, mine)
    assert f", a {type(mine).__name__}, cannot travel to a worker" in str(error)
    assert "argument 2 of " in str(error)
    if hasattr(mine, "close"):
        mine.close()


class Poison:
    """Does something when it is loaded."""

    def __init__(self, fn, *args):
        self.how = (fn, args)

    def __reduce__(self):
        return self.how


class Stubborn:
    """Does something when it is packed."""

    def __init__(self, fn, *args):
        self.do = functools.partial(fn, *args)

    def __reduce__(self):
        self.do()


def refuse():
    raise ValueError("not today")


@row(
    33,
    "an argument whose packing fails",
    limit_s=1.0,
    alone=True,
    variants={
        "raises": (refuse, "ValueError: not today"),
        "exits": (lambda: sys.exit(5), "SystemExit: 5"),
        "recurses": (lambda: is_even(10**6), "deep recursion"),
    },
)
def an_argument_whose_packing_fails_is_named_before_anything_starts(case: Case) -> None:
    act, words = case.variant
    error = case.failing(SerializationError, lambda comm, x: None, Stubborn(act))
    assert "argument 1 of " in str(error)
    assert "a Stubborn, cannot travel to a worker" in str(error)
    assert words in str(error)


LOADING = {
    "raises": (Poison(int, "no number"), SerializationError, "could not load the function or its"),
    "imports": (Poison(__import__, "no_such"), SerializationError, "ModuleNotFoundError"),
    "exits": (Poison(sys.exit, 5), SerializationError, "SystemExit: 5"),
    "crashes": (Poison(os._exit, 5), WorkerStartError, "exited with code 5"),
}


@row(33, "an argument that fails when a worker loads it", limit_s=1.0, variants=LOADING)
def an_argument_that_cannot_be_loaded_is_told_with_the_rank(case: Case) -> None:
    poison, kind, words = case.variant
    error = case.failing(kind, lambda comm, poison: None, poison)
    assert error.rank in range(case.workers)
    assert f"rank {error.rank}" in str(error)
    assert words in str(error)


RESULTS = {
    "a lock": (threading.Lock, SerializationError, "returned a lock, which cannot travel back"),
    "raises": (lambda: Stubborn(refuse), SerializationError, "ValueError: not today"),
    "exits": (lambda: Stubborn(sys.exit, 5), SerializationError, "SystemExit: 5"),
    "crashes": (lambda: Stubborn(os._exit, 5), WorkerExited, "exited with code 5"),
}


@row(33, "a result whose packing fails", limit_s=1.0, variants=RESULTS, spawned=("exits",))
def a_result_that_cannot_be_packed_is_told_with_the_rank(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank
    make, kind, words = case.variant

    def work(comm):
        if comm.rank != bad_rank:
            return 0
        result = make()
        fault()
        return result

    error = case.failing(kind, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} " in str(error)
    assert words in str(error)


@row(
    33,
    "a result that fails when it is loaded here",
    limit_s=1.0,
    variants={
        "raises": (lambda: Poison(int, "no number"), "ValueError"),
        "exits": (lambda: Poison(sys.exit, 5), "SystemExit: 5"),
    },
    spawned=("raises",),
)
def a_result_that_cannot_be_loaded_here_is_told_with_the_rank(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank
    poison, words = case.variant

    def work(comm):
        fault()
        return poison() if comm.rank == bad_rank else 0

    error = case.failing(SerializationError, work)
    assert error.rank == bad_rank
    assert f"what rank {bad_rank} returned could not be loaded here: {words}" in str(error)


@row(34, "a large array captured by accident", alone=True, spawned=())
def a_large_capture_is_named_with_its_size_and_works(case: Case) -> None:
    forgotten = np.ones(MUCH_BYTES // 8 // 4)  # more than that, with its packing, for 4 workers

    def work(comm):
        return len(forgotten)

    with pytest.warns(RuntimeWarning, match="copied to each of 4 workers: 268 MB in all") as seen:
        assert case.run(work, workers=4).values == [len(forgotten)] * 4
    (warning,) = seen
    assert "the variable 'forgotten' that it uses, of type ndarray and shape (8388608,)" in str(
        warning.message
    )
    assert "(67.1 MB)" in str(warning.message)
    assert warning.filename.endswith("table.py")  # the line that called run
    less = forgotten[:-1000]  # and no word about a little less
    assert case.run(lambda comm, given: len(given), less, workers=4).values == [len(less)] * 4


class OutOfMemory:
    """An array that no longer fits when it is packed, or loaded."""

    nbytes = 10**12

    def __reduce__(self):
        raise MemoryError


@row(34, "no memory for a copy", limit_s=1.0, alone=True)
def too_little_memory_for_copies_is_told_as_that(case: Case) -> None:
    error = case.failing(SerializationError, lambda comm, x: None, OutOfMemory())
    assert "not enough memory to pack" in str(error)
    assert "argument 1, of type OutOfMemory (1,000,000,000,000 bytes)" in str(error)
    error = case.failing(SerializationError, lambda comm, x: None, Poison(bytearray, 2**62))
    assert "ran out of memory while it loaded its own copy" in str(error)


@row(35, "a function that was edited")
def code_that_was_edited_is_the_code_that_runs(case: Case) -> None:
    for answer in (1, 2):
        scope: dict[str, object] = {}
        exec(f"def work(comm): return helper()\ndef helper(): return {answer}", scope)
        assert case.run(scope["work"]).values == [answer] * case.workers


@row(36, "tensors as arguments, messages and results", alone=True)
def tensors_travel_as_copies_of_their_values(case: Case) -> None:
    torch = pytest.importorskip("torch")
    weights = torch.arange(4.0, requires_grad=True)
    derived = weights * 2  # no leaf: it has a history, which stays here

    def work(comm, given, derived):
        import torch

        with torch.no_grad():
            given += comm.rank
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        got = comm.sendrecv(given, dst=right, src=left)
        (given**2).sum().backward()
        return got, given, given.grad, derived.sum().item(), got.requires_grad

    values = case.run(work, weights, derived.detach()).values
    for rank, (got, given, grad, total, requires_grad) in enumerate(values):
        assert torch.equal(got, torch.arange(4.0) + (1 - rank))
        assert torch.equal(given, torch.arange(4.0) + rank)
        assert given.requires_grad
        assert torch.equal(grad, 2 * (torch.arange(4.0) + rank))
        assert total == 12.0
        assert not requires_grad
    assert torch.equal(weights, torch.arange(4.0))


@row(36, "a tensor on a GPU", alone=True, spawned=())
def a_tensor_elsewhere_is_refused_with_the_way_out(case: Case) -> None:
    # "meta" is a device as well: this is what a CUDA tensor meets where there is no NIC.
    def work(comm):
        import torch

        comm.send(torch.zeros(3, device="meta"), dst=1 - comm.rank)

    error = None
    with pytest.raises(WorkerError) as raised:
        case.run(work)
    error = raised.value
    assert "TypeError: array is a tensor on device meta" in str(error)
    assert "make it on the CPU" in str(error)
