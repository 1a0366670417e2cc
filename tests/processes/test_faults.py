"""Whatever a rank does to itself, the run ends soon, says which rank and where, leaves nothing."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import psutil
import pytest

from course_lib import run
from course_lib.comm.errors import (
    LaunchTimeout,
    MessageMismatchError,
    NestedLaunchError,
    PeerFinishedError,
    SerializationError,
    UnreceivedMessagesWarning,
    WorkerError,
    WorkerExited,
    WorkerKilled,
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


@pytest.mark.parametrize("bad_rank", [0, 2])
def test_an_exception_is_raised_with_rank_line_traceback_and_what_the_others_did(
    start_method, bad_rank
):
    def inner(comm):
        raise ZeroDivisionError("planned")

    def work(comm):
        if comm.rank == bad_rank:
            inner(comm)
        comm.recv(src=bad_rank)

    error = failing(WorkerError, start_method, work, workers=3)
    assert error.rank == bad_rank
    assert type(error.original) is ZeroDivisionError
    text = str(error)
    assert text.startswith(f"rank {bad_rank} failed at test_faults.py, line ")
    assert "ZeroDivisionError: planned" in text
    assert "in work" in text
    assert "in inner" in text
    assert "course_lib" not in text
    assert len(error.consequences) == 2
    # Where the others were is asked a moment after the failure; they may have got no further.
    assert all("waited in recv" in line or "was running" in line for line in error.consequences)
    assert [fault.kind for fault in error.trace.faults] == ["WorkerError"]


def test_of_several_exceptions_the_first_by_time_is_raised(start_method):
    def work(comm):
        comm.barrier()
        time.sleep(0.0 if comm.rank == 2 else 0.05)
        raise ValueError(f"from {comm.rank}")

    error = failing(WorkerError, start_method, work, workers=3)
    assert error.rank == 2
    assert "from 2" in str(error)


class NeedsTwo(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


class HoldsALock(Exception):
    def __init__(self):
        super().__init__("locked")
        self.lock = threading.Lock()


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class CannotBeReduced(Exception):
    def __reduce__(self):
        sys.exit(1)


@pytest.mark.parametrize(
    ("make", "words", "travels"),
    [
        (lambda: NeedsTwo(1, 2), "NeedsTwo: 1 and 2", False),
        (lambda: HoldsALock(), "HoldsALock: locked", False),
        (lambda: Unprintable(), "Unprintable: <unprintable>", True),
        (lambda: CannotBeReduced("odd"), "CannotBeReduced: odd", False),
        (lambda: GeneratorExit("unusual"), "GeneratorExit: unusual", True),
    ],
    ids=["two arguments", "a lock", "unprintable", "reduce exits", "not an Exception"],
)
def test_odd_exceptions_are_told_all_the_same(usual_method, make, words, travels):
    def work(comm):
        if comm.rank == 1:
            raise make()
        comm.barrier()

    error = failing(WorkerError, usual_method, work)
    assert error.rank == 1
    assert words in str(error)
    assert (error.original is None) == ("could not travel" in str(error)) == (not travels)


@pytest.mark.parametrize("code", [0, 3, "enough"])
def test_sys_exit_is_no_result(usual_method, code):
    def work(comm):
        if comm.rank == 1:
            sys.exit(code)
        comm.recv(src=1)

    error = failing(WorkerExited, usual_method, work)
    assert error.rank == 1
    assert f"rank 1 called sys.exit({code!r}) at test_faults.py, line " in str(error)


@pytest.mark.parametrize("code", [0, 3])
def test_os_exit_is_no_result_whatever_the_code(usual_method, code):
    def work(comm):
        if comm.rank == 0:
            os._exit(code)
        comm.recv(src=0)

    error = failing(WorkerExited, usual_method, work)
    assert error.rank == 0
    assert f"rank 0 exited with code {code} before returning a result" in str(error)


@POSIX
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGABRT", "SIGBUS", "SIGFPE"])
def test_a_signal_that_kills_a_rank_is_named(usual_method, name):
    def work(comm):
        if comm.rank == 1:
            os.kill(os.getpid(), getattr(signal, name))
        comm.recv(src=1)

    error = failing(WorkerKilled, usual_method, work)
    assert error.rank == 1
    assert f"rank 1 was killed by {name}" in str(error)
    assert ("out of memory" in str(error)) == (name == "SIGKILL")
    if name in ("SIGABRT", "SIGBUS", "SIGFPE"):
        assert "os.kill(os.getpid(), getattr(signal, name))" in str(error)


@POSIX
def test_a_crash_in_compiled_code_comes_with_the_python_stack(start_method):
    def work(comm):
        if comm.rank == 2:
            ctypes.string_at(0)
        comm.recv(src=2)

    error = failing(WorkerKilled, start_method, work, workers=3)
    assert "rank 2 was killed by SIGSEGV at test_faults.py, line " in str(error)
    assert "ctypes.string_at(0)" in str(error)


@POSIX
def test_a_rank_that_kills_another_is_not_hidden(start_method):
    def work(comm):
        pids = comm.sendrecv(np.array(os.getpid()), dst=1 - comm.rank, src=1 - comm.rank)
        if comm.rank == 0:
            os.kill(int(pids), signal.SIGKILL)
        comm.recv(src=1 - comm.rank)

    error = failing(WorkerKilled, start_method, work, workers=2)
    assert error.rank == 1
    assert "SIGKILL" in str(error)
    assert "rank 0" in error.consequences[0]


@POSIX
def test_a_rank_that_dies_in_the_middle_of_a_message_or_with_a_lock_holds_up_nobody(start_method):
    def work(comm):
        if comm.rank == 0:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()
        while True:
            other = 1 - comm.rank
            comm.sendrecv(np.zeros(300_000), dst=other, src=other)

    error = failing(WorkerKilled, start_method, work, workers=2)
    assert error.rank == 0


def test_an_endless_loop_ends_at_the_time_limit_with_every_place(start_method):
    def work(comm):
        if comm.rank == 1:
            while True:
                pass
        if comm.rank == 0:
            comm.recv(src=1)

    error = failing(LaunchTimeout, start_method, work, workers=3, time_limit_s=1.0)
    assert isinstance(error, TimeoutError)
    text = str(error)
    assert "the run did not end within 1 s" in text
    assert "rank 0 waits in recv(src=1), at test_faults.py, line " in text
    assert "rank 1 is running, at test_faults.py, line " in text
    assert "while True:" in text or "pass" in text
    assert "rank 2 has returned" in text


@POSIX
def test_compiled_code_that_holds_pythons_lock_is_found_and_ended(start_method):
    def work(comm):
        if comm.rank == 1:
            ctypes.PyDLL(None).sleep(1000)
        comm.barrier()

    error = failing(LaunchTimeout, start_method, work, time_limit_s=1.0)
    assert "rank 1 is running, at test_faults.py, line " in str(error)
    assert "sleep(1000)" in str(error)
    assert "rank 0 waits in barrier(), at test_faults.py" in str(error)


@POSIX
def test_a_stopped_rank_is_ended(start_method):
    def work(comm):
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        comm.recv(src=(comm.rank + 1) % comm.size)

    error = failing(LaunchTimeout, start_method, work, time_limit_s=1.0)
    assert "rank 0 waits in recv(src=1)" in str(error)
    assert "rank 1 is running (it did not say where)" in str(error)


@POSIX
def test_a_rank_that_ignores_the_request_to_end_is_killed(start_method):
    def work(comm):
        signal.signal(signal.SIGTERM, lambda *_: time.sleep(1000))
        comm.barrier()
        if comm.rank == 0:
            raise ValueError("the end")
        time.sleep(1000)

    error = failing(WorkerError, start_method, work)
    assert error.rank == 0


def test_a_slow_rank_is_no_fault(usual_method):
    def work(comm):
        if comm.rank == 1:
            time.sleep(1.0)
            comm.send(np.ones(3), dst=0)
            return 1.0
        return float(comm.recv(src=1).sum())

    assert run(work, workers=2, start_method=usual_method).values == [3.0, 1.0]


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


def test_a_worker_that_dies_while_it_starts_says_its_last_words(start_method):
    def last_words():
        os.write(2, b"I was never asked\n")
        os._exit(7)

    error = failing(WorkerStartError, start_method, lambda c, p: None, Poison(last_words))
    assert "exited with code 7" in str(error)
    assert "I was never asked" in str(error)


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


def test_a_run_inside_a_worker_is_refused(start_method):
    def work(comm):
        run(lambda comm: None, workers=2)

    error = failing(NestedLaunchError, start_method, work, workers=2)
    assert "inside a worker" in str(error)


@POSIX
def test_processes_that_a_worker_has_started_end_with_it(start_method):
    def work(comm):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        comm.barrier()
        if comm.rank == 0:
            raise ValueError(child.pid)
        time.sleep(1000)

    error = failing(WorkerError, start_method, work, workers=2)
    pid = int(error.original.args[0])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_thread_that_still_runs_does_not_hold_up_the_end(start_method):
    def work(comm):
        threading.Thread(target=time.sleep, args=(1000,)).start()
        return comm.rank

    assert run(work, workers=2, start_method=start_method).values == [0, 1]


def test_a_worker_that_dies_after_it_returned_keeps_its_result_with_a_warning(start_method):
    class LateDeath:
        """Runs when the worker flushes its output, at the very end."""

        def flush(self):
            os._exit(9)

        def write(self, text):
            pass

    def work(comm):
        if comm.rank == 1:
            sys.stdout = LateDeath()
        return comm.rank

    with pytest.warns(RuntimeWarning, match="rank 1 returned its result and then .* code 9"):
        assert run(work, workers=2, start_method=start_method).values == [0, 1]


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
