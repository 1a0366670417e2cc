"""A worker dies at an odd moment: at its start, at its end, with a lock, by another's hand."""

import os
import signal
import threading

import numpy as np
import pytest

from course_lib.comm.errors import WorkerError, WorkerKilled, WorkerStartError
from tests.faults.table import Case, row
from tests.programs import Program, assert_all_gone, wait_until_ended


class Poison:
    """Calls a function in the worker that unpickles it."""

    def __init__(self, fn):
        self.fn = fn

    def __reduce__(self):
        return self.fn, ()


@row(10, "a worker dies while it loads the function", limit_s=5.0)
def a_worker_that_dies_while_it_loads_says_its_last_words(case: Case) -> None:
    fault = case.fault

    def last_words():
        os.write(2, b"I was never asked\n")
        fault()
        os._exit(7)

    error = case.failing(WorkerStartError, lambda comm, poison: None, Poison(last_words))
    assert "ended while loading the function (exited with code 7)" in str(error)
    assert "I was never asked" in str(error)


BROKEN = """
import sys, time
from course_lib import run
from course_lib.comm.errors import RunError
import course_lib.comm.processes.launcher.launcher

sys.path.insert(0, FOLDER)  # where a worker finds a broken cloudpickle
begun_s = time.perf_counter()
try:
    run(lambda comm: comm.rank, workers=2, start_method=METHOD)
except RunError as error:
    print(time.perf_counter() - begun_s)
    print(type(error).__name__, str(error).replace(chr(10), " | "))
sys.path.remove(FOLDER)
(__import__("pathlib").Path(FOLDER) / "cloudpickle.py").unlink()
print(run(lambda comm: comm.rank, workers=2, start_method=METHOD).values)
"""


@row(
    10,
    "what a worker imports is broken",
    limit_s=5.0,
    alone=True,
    variants={
        "ImportError": "raise ImportError('no such thing')",
        "an exit": "import sys; sys.stderr.write('no such thing'); sys.exit(3)",
        "a crash": "import os; os.write(2, b'no such thing'); os._exit(3)",
    },
)
def a_worker_that_cannot_import_its_libraries_says_why(case: Case) -> None:
    folder = case.folder / "broken"
    folder.mkdir()
    (folder / "cloudpickle.py").write_text(case.variant)
    with Program(case.folder, f"FOLDER = {str(folder)!r}\n{BROKEN}", case.start_method) as program:
        out, err = program.finish()
    lines = out.splitlines()
    assert len(lines) == 3, (out, err)
    case.times_s.append(float(lines[0]))
    assert lines[1].startswith("WorkerStartError ")
    assert "ended while starting (exited with code " in lines[1] or "the fork server" in lines[1]
    assert "no such thing" in lines[1] + err
    assert lines[2] == "[0, 1]"


@row(11, "a worker dies after it has returned", limit_s=1.0)
def a_worker_that_dies_after_it_returned_keeps_its_result_with_a_warning(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        leave = os._exit

        def die(code):  # called by the worker when all that matters has been reported
            fault()
            leave(9)

        if comm.rank == bad_rank:
            os._exit = die
        return comm.rank

    words = f"rank {bad_rank} returned its result and then ended with exit code 9"
    with pytest.warns(RuntimeWarning, match=words):
        assert case.run(work).values == list(range(case.workers))
    case.reported()


class Explosive:
    """Raises when it is collected."""

    def __del__(self):
        raise ValueError("at the end")


@row(11, "exit handlers and destructors that fail")
def a_worker_that_has_returned_runs_no_exit_handlers(case: Case) -> None:
    bad_rank = case.bad_rank

    def work(comm):
        import atexit

        if comm.rank == bad_rank:
            atexit.register(os._exit, 9)
            comm.kept = Explosive()
        return comm.rank

    assert case.run(work).values == list(range(case.workers))


@row(12, "a rank dies in the middle of a message or with a lock", limit_s=1.0, least=2, posix=True)
def a_rank_that_dies_in_the_middle_of_a_message_holds_up_nobody(case: Case) -> None:
    fault, bad_rank = case.fault, case.bad_rank

    def kill_oneself():
        fault()
        os.kill(os.getpid(), signal.SIGKILL)

    def work(comm, delay_s):
        if comm.rank == bad_rank:
            threading.Timer(delay_s, kill_oneself).start()
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        while True:
            comm.sendrecv(np.zeros(300_000), dst=right, src=left)
            comm.sendrecv(np.zeros(3), dst=left, src=right)

    for delay_s in (0.02, 0.05, 0.1):
        error = case.failing(WorkerKilled, work, delay_s)
        assert error.rank == bad_rank
        assert "SIGKILL" in str(error)


@row(
    14,
    "a rank kills another",
    limit_s=1.0,
    least=2,
    posix=True,
    variants={name: name for name in ("and waits", "and returns")},
    spawned=("and waits",),
)
def the_killer_of_a_rank_is_not_hidden(case: Case) -> None:
    fault, victim, variant = case.fault, case.bad_rank, case.variant
    killer = (victim + 1) % case.workers

    def work(comm):
        if comm.rank == victim:
            comm.send(np.array(os.getpid()), dst=killer)
        if comm.rank == killer:
            pid = int(comm.recv(src=victim))
            fault()
            os.kill(pid, signal.SIGKILL)
            if variant == "and returns":
                return
        comm.recv(src=victim if comm.rank != victim else killer)

    error = case.failing(WorkerKilled, work)
    assert error.rank == victim
    assert f"rank {victim} was killed by SIGKILL" in str(error)
    (line,) = (line for line in error.consequences if line.startswith(f"rank {killer} "))
    assert "was killed" not in line
    assert any(word in line for word in ("waited in", "was running", "had returned"))


@row(14, "a rank kills another and raises", limit_s=1.0, least=2, posix=True)
def a_killer_that_raises_is_named_with_its_victim(case: Case) -> None:
    fault, victim = case.fault, case.bad_rank
    killer = (victim + 1) % case.workers

    def work(comm):
        if comm.rank == victim:
            comm.send(np.array(os.getpid()), dst=killer)
        if comm.rank == killer:
            pid = int(comm.recv(src=victim))
            fault()
            os.kill(pid, signal.SIGKILL)
            raise ValueError("what have I done")
        comm.recv(src=killer if comm.rank == victim else victim)

    # Which of the two was first is not known to a millisecond: the death is seen when it is over.
    error = case.failing((WorkerKilled, WorkerError), work)
    assert error.rank in (victim, killer)
    assert f"rank {victim} was killed by SIGKILL" in str(error)
    if error.rank == killer:
        assert f"rank {killer} failed at early_and_late.py, line " in str(error)


KILLS_ITS_PROGRAM = """
import os, signal, time
from course_lib import run

def work(comm, launcher):
    comm.barrier()
    if comm.rank == 0:
        print("at work", flush=True)
        time.sleep(0.3)
        os.kill(launcher, signal.SIGKILL)
    time.sleep(1000)

run(work, os.getpid(), workers=2, start_method=METHOD)
"""


@row(15, "a rank kills the program", limit_s=2.0, posix=True, alone=True)
def a_rank_that_kills_the_program_takes_all_with_it(case: Case) -> None:
    with Program(case.folder, KILLS_ITS_PROGRAM, case.start_method) as program:
        program.wait_for("at work")
        below = program.descendants()
        assert len(below) >= 2
        program.process.wait()
        case.fault()
        wait_until_ended(below)
        case.reported()
        assert_all_gone(below, program.pid)
