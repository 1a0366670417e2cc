"""Threads that a rank makes by itself: they can neither send nor run, and are told so alike."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from course_lib.comm.errors import NestedLaunchError, WorkerError

VERBS = {
    "send": lambda comm, _: comm.send(np.zeros(1), dst=1 - comm.rank),
    "recv": lambda comm, _: comm.recv(src=1 - comm.rank),
    "recv_any": lambda comm, _: comm.recv_any(),
    "sendrecv": lambda comm, _: comm.sendrecv(np.zeros(1), 1 - comm.rank, 1 - comm.rank),
    "barrier": lambda comm, _: comm.barrier(),
    "split": lambda comm, _: comm.split(0),
    "start": lambda comm, _: comm.start(lambda child: None),
    "shared_array": lambda comm, _: comm.shared_array((2,)),
    "wait": lambda _, pending: pending.wait(),
}


def in_a_thread(fn, *args):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(fn, *args).exception(timeout=30)


def test_a_verb_in_a_thread_of_the_ranks_own_is_refused_in_the_same_words(world):
    def call_all(comm):
        group = comm.split(0)
        pending = group.start(lambda child: None)
        errors = {verb: in_a_thread(call, group, pending) for verb, call in VERBS.items()}
        pending.wait()
        comm.barrier()  # all is still well
        return {verb: (type(error).__name__, str(error)) for verb, error in errors.items()}

    for rank, errors in enumerate(world(call_all).values):
        assert {kind for kind, _ in errors.values()} == {"RuntimeError"}
        for verb, (_, text) in errors.items():
            name = "world/split 1 color 0" + "/start 1" * (verb == "wait")
            assert text == (
                f"rank {rank} called {verb}() of communicator '{name}' in another thread than its "
                "own; one communicator belongs to one thread: a function given to start() is to "
                "use the communicator that it is handed"
            )


def test_such_a_verb_that_nobody_catches_is_the_ranks_failure(world):
    def call(comm):
        with ThreadPoolExecutor(1) as thread:
            thread.submit(comm.barrier).result()

    words = r"rank \d failed at .*: RuntimeError: rank \d called barrier\(\) of communicator"
    with pytest.raises(WorkerError, match=words):
        world(call)


def test_a_run_in_a_thread_that_a_rank_has_made_is_refused_at_once(world):
    def nest(comm):
        from course_lib import run

        def try_it(backend):
            return run(lambda comm: comm.rank, workers=1, backend=backend, time_limit_s=5)

        errors = [in_a_thread(try_it, backend) for backend in ("simulated", "processes")]
        with ThreadPoolExecutor(1) as thread:  # of which the next one is a thread's
            errors.append(thread.submit(in_a_thread, try_it, "simulated").result())
        return {(type(error).__name__, str(error).partition(";")[0]) for error in errors}

    refused = {(NestedLaunchError.__name__, "run was called inside a worker")}
    assert world(nest).values == [refused] * 2
