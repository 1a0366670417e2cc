"""A worker dies in the middle of its function: an exception, an exit, a signal, a crash."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np

from course_lib.comm.errors import WorkerError, WorkerExited, WorkerKilled
from course_lib.trace.events import NO_RECORD
from tests.faults.table import Case, row

HERE = "at worker_dies.py, line "


@row(1, "a rank raises", limit_s=1.0, workers=3)
def an_exception_comes_with_rank_line_traceback_and_what_the_others_did(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def inner(comm):
        fault()
        raise ZeroDivisionError("planned")

    def work(comm):
        if comm.rank == bad_rank:
            inner(comm)
        comm.recv(src=bad_rank)

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert type(error.original) is ZeroDivisionError
    text = str(error)
    assert text.startswith(f"rank {bad_rank} failed {HERE}")
    assert "ZeroDivisionError: planned" in text
    assert "in work" in text
    assert "in inner" in text
    assert "course_lib" not in text
    assert len(error.consequences) == case.workers - 1
    # Where the others were is asked a moment after the failure; they may have got no further.
    assert all("waited in recv" in line or "was running" in line for line in error.consequences)
    first, *others = error.trace.faults
    assert first.kind == "WorkerError"
    assert {found.kind for found in others} <= {NO_RECORD}  # of one that was too busy to answer


@row(2, "all ranks raise", limit_s=1.0, workers=3)
def of_several_exceptions_the_first_by_time_is_raised(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        comm.barrier()
        time.sleep(0.0 if comm.rank == bad_rank else 0.05)
        fault()
        raise ValueError(f"from {comm.rank}")

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert f"ValueError: from {bad_rank}" in str(error)
    # A rank is ended as soon as the first failure is known; it may not have come to its own.
    assert len(error.consequences) == case.workers - 1
    assert all("failed too: ValueError" in line or "was" in line for line in error.consequences)


class NeedsTwo(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


class Holds(Exception):
    def __init__(self, make):
        super().__init__("held")
        self.held = make()


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class CallsItself(Exception):
    def __str__(self):
        return f"again {self}"

    __repr__ = __str__


class NeverSaid(Exception):
    def __str__(self):
        while True:
            pass

    __repr__ = __str__


class CannotBeReduced(Exception):
    def __reduce__(self):
        sys.exit(1)


class NeverReduced(Exception):
    def __reduce__(self):
        while True:
            pass


@row(
    3,
    "an exception that cannot travel",
    limit_s=1.0,
    variants={
        "two arguments": (lambda: NeedsTwo(1, 2), "NeedsTwo: 1 and 2", False),
        "a lock": (lambda: Holds(threading.Lock), "Holds: held", False),
        "a socket": (lambda: Holds(socket.socket), "Holds: held", False),
        "a lambda": (lambda: Holds(lambda: lambda: 1), "Holds: held", False),
        "not an Exception": (lambda: GeneratorExit("unusual"), "GeneratorExit: unusual", True),
    },
    spawned=("a lambda",),
)
@row(
    4,
    "an exception that does not print or pickle",
    limit_s=1.0,
    variants={
        "str raises": (lambda: Unprintable(), "Unprintable: <unprintable>", True),
        "str calls itself": (lambda: CallsItself(), "CallsItself: <unprintable>", True),
        "str never ends": (lambda: NeverSaid(), "NeverSaid: <unprintable>", True),
        "reduce exits": (lambda: CannotBeReduced("odd"), "CannotBeReduced: odd", False),
        "reduce never ends": (lambda: NeverReduced("odd"), "NeverReduced: odd", False),
    },
    spawned=("reduce never ends",),
)
def odd_exceptions_are_told_all_the_same(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank
    make, words, travels = case.variant

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            raise make()
        comm.barrier()

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} failed {HERE}" in str(error)
    assert words in str(error)
    assert (error.original is None) == ("could not travel" in str(error)) == (not travels)


@row(
    5,
    "a rank calls sys.exit",
    limit_s=1.0,
    variants={repr(code): code for code in (0, 3, "x")},
    spawned=("3",),
)
def sys_exit_is_no_result(case: Case) -> None:
    fault, bad_rank, code = case.fault, case.bad_rank, case.variant

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            sys.exit(code)
        comm.recv(src=bad_rank)

    error = case.failing(WorkerExited, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} called sys.exit({code!r}) {HERE}" in str(error)


def _c_library():
    return ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)


@row(
    6,
    "a rank leaves without a word",
    limit_s=1.0,
    variants={
        "os._exit(0)": (lambda: os._exit(0), 0),
        "os._exit(3)": (lambda: os._exit(3), 3),
        "exit(3) in C": (lambda: _c_library().exit(3), 3),
    },
    spawned=("os._exit(3)",),
)
def leaving_is_no_result_whatever_the_code(case: Case) -> None:
    fault, bad_rank, (leave, code) = case.fault, case.bad_rank, case.variant

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            leave()
        comm.recv(src=bad_rank)

    error = case.failing(WorkerExited, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} exited with code {code} before returning a result" in str(error)


@row(6, "a rank becomes another program", limit_s=1.0, posix=True)
def a_rank_in_whose_place_another_program_runs_is_ended_and_named(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            os.execvp("sleep", ["sleep", "30"])
        comm.recv(src=bad_rank)

    error = case.failing(WorkerExited, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} closed its line to the launcher and was ended" in str(error)
    assert "start another program with subprocess: os.exec" in str(error)


@row(7, "SIGKILL", limit_s=1.0, posix=True)
def a_killed_rank_comes_with_the_memory_it_held(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            held = np.ones(25_000_000)  # 200 MB
            time.sleep(0.6)  # the launcher looks four times a second
            fault()
            os.kill(os.getpid(), signal.SIGKILL)
            del held
        comm.recv(src=bad_rank)

    error = case.failing(WorkerKilled, work)
    assert error.rank == bad_rank
    text = str(error)
    assert f"rank {bad_rank} was killed by SIGKILL; often: the computer ran out of memory" in text
    mib = int(text.split("it held ")[1].split(" MiB when last seen")[0].replace(",", ""))
    assert 190 < mib < 1000


@row(
    7,
    "SIGKILL while others wait for what they have posted",
    limit_s=1.0,
    posix=True,
    least=2,
    variants={
        "irecv": lambda comm, peer: comm.irecv(src=peer).wait(),
        "isend": lambda comm, peer: comm.isend(np.zeros(100_000), dst=peer).wait(),
        "irecv beside a barrier": lambda comm, peer: (comm.irecv(src=peer), comm.barrier()),
        "a question": lambda comm, peer: _ask(comm.irecv(src=peer)),
    },
    spawned=("irecv beside a barrier",),
)
def a_killed_rank_ends_those_that_wait_for_what_they_have_posted(case: Case) -> None:
    fault, bad_rank, wait = case.fault, case.bad_rank, case.variant

    def work(comm):
        if comm.rank == bad_rank:
            time.sleep(0.1)
            fault()
            os.kill(os.getpid(), signal.SIGKILL)
        wait(comm, bad_rank)

    error = case.failing(WorkerKilled, work)
    assert error.rank == bad_rank
    told = [line for line in error.consequences if "worker_dies.py, line " in line]
    assert len(told) == case.workers - 1


def _ask(pending):
    while not pending.test():
        time.sleep(0.001)


@row(
    8,
    "a crash",
    limit_s=1.0,
    posix=True,
    variants={
        "SIGSEGV": lambda: ctypes.string_at(0),
        "SIGABRT": lambda: os.abort(),
        "SIGBUS": lambda: os.kill(os.getpid(), signal.SIGBUS),
        "SIGFPE": lambda: os.kill(os.getpid(), signal.SIGFPE),
    },
    spawned=("SIGSEGV",),
)
def a_crash_comes_with_its_signal_and_the_python_stack(case: Case) -> None:
    fault, bad_rank, crash = case.fault, case.bad_rank, case.variant

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            crash()
        comm.recv(src=bad_rank)

    error = case.failing(WorkerKilled, work)
    assert error.rank == bad_rank
    name = next(n for n in ("string_at", "abort", "SIGBUS", "SIGFPE") if n in str(error))
    number = {"string_at": "SIGSEGV", "abort": "SIGABRT"}.get(name, name)
    assert f"rank {bad_rank} was killed by {number} {HERE}" in str(error)
    assert f"Stack of rank {bad_rank}" in str(error)
    assert "in work" in str(error)
    assert "out of memory" not in str(error)


@row(9, "SIGTERM from outside", limit_s=1.0, posix=True)
def a_rank_that_another_program_ends_is_named(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        if comm.rank == bad_rank:
            fault()
            subprocess.run(["kill", "-TERM", str(os.getpid())])
        comm.recv(src=bad_rank)

    error = case.failing(WorkerKilled, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} was killed by SIGTERM" in str(error)
    assert "out of memory" not in str(error)
