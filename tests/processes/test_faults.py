"""Whatever a rank does to itself, the run ends soon, says which rank and where, leaves nothing."""

import os
import socket
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import (
    LaunchTimeout,
    MessageMismatchError,
    PeerFinishedError,
    SerializationError,
    UnreceivedMessagesWarning,
    WorkerError,
    WorkerExited,
    WorkerStartError,
)

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
SOON_S = 10.0  # ten times what is promised, as the computer may be busy


def failing(error, start_method, fn, *args, **options):
    """Run ``fn``, expect the error, return it; then show that the next run works."""
    options.setdefault("workers", 2)
    options.setdefault("time_limit_s", 60.0)
    begun_s = time.monotonic()
    with pytest.raises(error) as raised:
        run(fn, *args, start_method=start_method, **options)
    taken_s = time.monotonic() - begun_s
    assert taken_s < min(options["time_limit_s"], SOON_S) + SOON_S
    assert run(lambda comm: comm.rank, workers=1, start_method=start_method).values == [0]
    return raised.value


def test_both_ranks_receiving_first_is_told_at_the_time_limit(usual_method):
    def work(comm):
        comm.recv(src=1 - comm.rank)

    error = failing(LaunchTimeout, usual_method, work, workers=2, time_limit_s=1.0)
    for rank in (0, 1):
        line = f"rank {rank} waits in recv(src={1 - rank}), at test_faults.py, line "
        assert line in str(error)
    assert "each send needs its recv" in str(error)


WAITS_FOR_RANK_0 = {
    "recv": lambda comm: comm.recv(src=0),
    "large send": lambda comm: comm.send(np.zeros(100_000), dst=0),
    "small sends": lambda comm: [comm.send(np.zeros(1000), dst=0) for _ in range(5000)],
    "sendrecv": lambda comm: comm.sendrecv(np.zeros(1), dst=0, src=0),
    "barrier": lambda comm: comm.barrier(),
}


@pytest.mark.parametrize("verb", WAITS_FOR_RANK_0)
def test_waiting_for_a_rank_that_has_returned_is_an_error_at_once(usual_method, verb):
    wait = WAITS_FOR_RANK_0[verb]

    def work(comm):
        if comm.rank == 1:
            wait(comm)

    error = failing(PeerFinishedError, usual_method, work, workers=2)
    assert error.rank == 1
    assert "rank 0" in str(error)
    assert "has already returned" in str(error)
    assert "test_faults.py, line " in str(error)
    assert error.consequences == ("rank 0 had returned",)


def test_recv_any_when_all_others_have_returned_is_an_error_at_once(usual_method):
    def work(comm):
        if comm.rank == 1:
            comm.recv_any()

    error = failing(PeerFinishedError, usual_method, work)
    assert "every other rank has already returned" in str(error)


def test_messages_that_nobody_receives_are_named_in_a_warning(start_method):
    def work(comm):
        if comm.rank == 1:
            for _ in range(2):
                comm.send(np.zeros(4), dst=0, tag=3)
        comm.barrier()

    with pytest.warns(UnreceivedMessagesWarning, match=r"2 messages from rank 1 .*tag=3") as seen:
        result = run(work, workers=2, start_method=start_method)
    assert seen[0].filename == __file__
    assert len(result.trace.unreceived()) == 2


def test_a_mismatch_is_raised_in_the_receiver(usual_method):
    def work(comm):
        if comm.rank == 1:
            comm.send(np.zeros((2, 3), "f4"), dst=0, tag="a")
        else:
            comm.recv(src=1, out=np.zeros((3, 2), "f4"))

    error = failing(MessageMismatchError, usual_method, work, workers=2)
    assert error.rank == 0
    assert "rank 1 sent dtype float32 and shape (2, 3)" in str(error)
    assert "shape (3, 2)" in str(error)


class Poison:
    """Loads badly: calls something when it is unpickled."""

    def __init__(self, fn, *args):
        self.how = (fn, args)

    def __reduce__(self):
        return self.how


@pytest.mark.parametrize(
    ("poison", "error", "words"),
    [
        (Poison(int, "no number"), SerializationError, "could not load the function or its arg"),
        (Poison(__import__, "no_such_module"), SerializationError, "ModuleNotFoundError"),
        (Poison(sys.exit, 5), WorkerExited, "sys.exit(5)"),
        (Poison(os._exit, 5), WorkerStartError, "exited with code 5"),
    ],
    ids=["raises", "imports", "exits", "crashes"],
)
def test_an_argument_that_cannot_be_loaded_is_told(usual_method, poison, error, words):
    raised = failing(error, usual_method, lambda comm, poison: None, poison, workers=2)
    assert words in str(raised)
    assert raised.rank in (0, 1)


def test_a_result_that_cannot_travel_is_told(start_method):
    def work(comm):
        return threading.Lock() if comm.rank == 1 else 0

    error = failing(SerializationError, start_method, work)
    assert error.rank == 1
    assert "rank 1 returned a lock" in str(error)


def test_a_result_that_cannot_be_loaded_here_is_told(usual_method):
    error = failing(SerializationError, usual_method, lambda comm: Poison(int, "no number"))
    assert "what rank 0 returned could not be loaded here" in str(error)


@pytest.mark.parametrize(
    "capture",
    [threading.Lock(), (n for n in range(3)), sys.stdout, socket.socketpair],
    ids=["lock", "generator", "file", "socket"],
)
def test_an_unusable_capture_is_refused_before_anything_starts(usual_method, capture):
    mine = capture() if callable(capture) else capture
    try:

        def work(comm):
            return mine

        begun_s = time.monotonic()
        with pytest.raises(SerializationError, match="'mine'"):
            run(work, start_method=usual_method)
        assert time.monotonic() - begun_s < 5.0
    finally:
        for end in mine if isinstance(mine, tuple) else ():
            end.close()


def test_a_communicator_in_a_thread_of_the_learners_own_is_refused(usual_method):
    def work(comm):
        texts = []

        def listen():
            try:
                comm.recv(src=1)
            except RuntimeError as error:
                texts.append(str(error))

        listener = threading.Thread(target=listen)
        listener.start()
        listener.join()
        return texts

    (text,) = run(work, workers=2, start_method=usual_method).values[0]
    assert text.startswith("rank 0 called recv() of communicator 'world' in another thread than")


def test_input_in_a_worker_ends_with_the_rank_named(usual_method):
    error = failing(WorkerError, usual_method, lambda comm: input("name? "), workers=1)
    assert error.rank == 0
    assert "EOFError" in str(error)


def test_no_warning_is_given_when_all_is_well(start_method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(lambda comm: 1, workers=3, start_method=start_method).values == [1, 1, 1]
