"""Arguments of ``run`` that make no sense, how many workers there may be, threads of a worker."""

import sys
import threading
import time

import numpy as np
import psutil
import pytest

from course_lib import run
from course_lib.collectives import (
    ALLREDUCES,
    allgather_ring,
    alltoall,
    broadcast_flat,
    broadcast_tree,
    gather,
    reduce_flat,
    reduce_scatter_ring,
    reduce_tree,
    scatter,
)
from course_lib.comm.errors import SharedMemoryFull
from course_lib.comm.memory import worker_bytes
from tests.faults.table import Case, row

MOST = 61 if sys.platform == "win32" else 64


def nothing(comm):
    return comm.rank


def refused(case: Case, kind: type[Exception], words: str, fn, *args, **options) -> None:
    """Expect a refusal in no time, before any process or file is there."""
    before = set(psutil.Process().children(recursive=True))
    begun_s = time.perf_counter()
    with pytest.raises(kind, match=words) as raised:
        run(fn, *args, start_method=case.start_method, **options)
    case.times_s.append(time.perf_counter() - begun_s)
    assert type(raised.value) is kind
    assert set(psutil.Process().children(recursive=True)) == before


NUMBERS = {
    "0": (0, ValueError),
    "-1": (-1, ValueError),
    "True": (True, TypeError),
    "2.0": (2.0, TypeError),
    "'4'": ("4", TypeError),
    "None": (None, TypeError),
    "NaN": (float("nan"), TypeError),
    "an array": (np.array([2]), TypeError),
    "a billion": (10**9, ValueError),
}


@row(
    49,
    "a number of workers that is none",
    limit_s=0.1,
    alone=True,
    variants=NUMBERS,
    spawned=("0",),
)
def a_number_of_workers_that_is_none_is_refused(case: Case) -> None:
    workers, kind = case.variant
    words = f"workers must be an int from 1 to {MOST}"
    refused(case, kind, words, nothing, workers=workers)


PAIRS = [(broadcast_flat, reduce_flat), (broadcast_tree, reduce_tree)]


@row(
    50,
    "every number of workers",
    alone=True,
    variants={str(size): size for size in (1, 2, 3, 5, 7, 8, MOST)},
    spawned=("3", "8"),
)
def every_number_of_workers_works(case: Case) -> None:
    size = case.variant

    def work(comm):
        token = np.array([comm.rank])
        for _ in range(2 if comm.size > 1 else 0):
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            token = comm.sendrecv(token, dst=right, src=left)
        comm.barrier()
        return int(token[0])

    values = case.run(work, workers=size).values
    assert values == [(rank - 2) % size for rank in range(size)] if size > 1 else [0]


@row(
    50,
    "collectives of every number of workers",
    alone=True,
    variants={str(size): size for size in (1, 2, 3, 5, 7, 8, 16, MOST)},
    spawned=("3",),
    rare=(str(MOST),),
)
def every_collective_works_with_every_number_of_workers(case: Case) -> None:
    size = case.variant

    def work(comm):
        mine = np.arange(comm.size) + 100 * comm.rank
        sums = [allreduce(comm, mine).tolist() for allreduce in ALLREDUCES.values()]
        sums += [broadcast(comm, reduce(comm, mine)).tolist() for broadcast, reduce in PAIRS]
        sums.append(allgather_ring(comm, reduce_scatter_ring(comm, mine)).tolist())
        rows = [gather(comm, alltoall(comm, mine)), allgather_ring(comm, scatter(comm, mine))]
        return sums, [None if row is None else row.tolist() for row in rows]

    total = [size * place + 50 * size * (size - 1) for place in range(size)]
    turned = [place + 100 * rank for place in range(size) for rank in range(size)]
    for rank, (sums, (gathered, scattered)) in enumerate(case.run(work, workers=size).values):
        assert sums == [total] * len(sums)
        assert gathered == (turned if rank == 0 else None)
        assert scattered == list(range(size))


@row(51, "a thousand workers", limit_s=0.1, alone=True)
def a_thousand_workers_are_refused_with_an_estimate_and_the_way_out(case: Case) -> None:
    words = (
        rf"workers must be an int from 1 to {MOST}, got 1,000: each one is a process, together "
        r"they would take about \d.* GB of memory before they have any data; .*"
        r'backend="simulated" goes to 10,000'
    )
    refused(case, ValueError, words, nothing, workers=1000)
    refused(case, ValueError, "from 1 to 3, got 4", nothing, workers=4, max_workers=3)
    refused(case, TypeError, "max_workers must be an int", nothing, max_workers="all")
    refused(case, ValueError, "max_workers must be an int of 1 or more", nothing, max_workers=0)


@row(51, "more workers than fit", limit_s=0.1, alone=True, posix=True)
def more_workers_than_the_memory_holds_are_refused_even_if_allowed(case: Case) -> None:
    words = "the ranks need .* bytes of shared memory, .* bytes of memory are free"
    with pytest.warns(RuntimeWarning, match="workers will take about .* of memory"):
        refused(case, SharedMemoryFull, words, nothing, workers=100_000, max_workers=100_000)


@row(51, "a hundred workers, allowed", alone=True, posix=True)
def a_hundred_workers_run_if_they_are_allowed(case: Case) -> None:
    def work(comm):
        if comm.rank == 0:
            return sum(int(comm.recv_any()[1]) for _ in range(comm.size - 1))
        comm.send(np.array(comm.rank), dst=0)
        return comm.rank

    if case.start_method == "spawn":
        pytest.skip("a hundred interpreters take a minute to start; forkserver shows the same")
    result = case.run(work, workers=100, max_workers=100)
    assert result.values == [4950, *range(1, 100)]


@row(51, "workers that take half of the memory", alone=True)
def more_than_half_of_the_memory_is_told_with_an_estimate(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        one = worker_bytes(case.start_method)
        # As on a computer that has little left: this one cannot be filled in a test.
        patch.setattr("course_lib.comm.memory.available_bytes", lambda: 10 * one)
        patch.setattr("course_lib.comm.memory.MUCH_BYTES", 0)
        patch.setattr("course_lib.comm.memory.largest_part", lambda *_: ("", 0))
        with pytest.warns(RuntimeWarning) as seen:
            assert case.run(nothing, workers=6).values == list(range(6))
        assert "6 workers will take about" in str(seen[-1].message)
        assert " are available; use fewer workers" in str(seen[-1].message)


async def asynchronous(comm): ...


def generator(comm):
    yield comm.rank


FUNCTIONS = {
    "a number": (3, (), "fn must be a function"),
    "a call": ("nothing(comm)", (), "pass the function itself, without calling it"),
    "one argument too many": (nothing, (1,), r"nothing\(comm, \*args\) with 1 further argument"),
    "one too few": (lambda comm, x: x, (), "missing a required argument: 'x'"),
    "no communicator": (lambda: 0, (), "too many positional arguments"),
    "asynchronous": (asynchronous, (), "async function asynchronous"),
    "a generator": (generator, (), "generator function generator"),
}


@row(
    53,
    "a function that cannot be called",
    limit_s=0.1,
    alone=True,
    variants=FUNCTIONS,
    spawned=("a number",),
)
def a_function_that_cannot_be_called_is_refused(case: Case) -> None:
    fn, args, words = case.variant
    refused(case, TypeError, words, fn, *args)


@row(30, "another thread uses the communicator", least=2)
def a_communicator_in_another_thread_is_refused(case: Case) -> None:
    bad_rank = case.bad_rank

    def work(comm):
        texts = []

        def listen():
            try:
                comm.recv(src=(comm.rank + 1) % comm.size)
            except RuntimeError as error:
                texts.append(str(error))

        if comm.rank == bad_rank:
            listener = threading.Thread(target=listen)
            listener.start()
            listener.join()
        comm.barrier()  # all is still well
        return texts

    (text,) = case.run(work).values[bad_rank]
    words = f"rank {bad_rank} called recv() of communicator 'world' in another thread than"
    assert text.startswith(words)
