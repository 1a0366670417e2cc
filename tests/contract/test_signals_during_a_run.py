"""What a program's own signal handlers do while ``run`` is under way, in every world."""

import sys

import pytest

from tests.programs import Program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals"),
]

AGAIN = """
import gc, signal
import numpy as np
from multiprocess import process
from course_lib import run
from course_lib.comm.errors import NestedLaunchError

told = set()

def again(*_):
    try:
        run(lambda comm: comm.rank, workers=1, backend=BACKEND)
    except NestedLaunchError as error:
        told.add(str(error))

class Dying:
    def __del__(self):
        again()

class Argument:
    '''Is packed while the run is being prepared.'''
    def __reduce__(self):
        signal.raise_signal(signal.SIGALRM)
        return Argument, ()

start = process.BaseProcess.start

def start_and_be_interrupted(self):
    signal.raise_signal(signal.SIGALRM)
    Dying()
    gc.callbacks.append(again)
    gc.collect()
    gc.callbacks.remove(again)
    start(self)

process.BaseProcess.start = start_and_be_interrupted
signal.signal(signal.SIGALRM, again)
print(run(lambda comm, it: comm.rank, Argument(), workers=2, backend=BACKEND).values)
print(*told)
signal.signal(signal.SIGALRM, signal.SIG_DFL)
process.BaseProcess.start = start
print(run(lambda comm: comm.rank, workers=2, backend=BACKEND).values)
"""


def test_a_run_in_what_interrupts_a_run_of_the_same_thread_is_refused_at_once(
    launching_world, tmp_path
):
    with Program(tmp_path, f"BACKEND = {launching_world.backend!r}\n{AGAIN}", None) as program:
        out, err = program.finish()
    first, told, last = out.splitlines() or [err, "", ""]
    assert first == last == "[0, 1]"
    assert told.startswith("run was called while another run of the same thread is under way")
    assert told.count("run was called") == 1, "it is refused in the same words everywhere"


PREPARED = """
import signal
from course_lib import run

class Argument:
    def __reduce__(self):
        signal.raise_signal(signal.SIGINT)
        return Argument, ()

try:
    run(lambda comm, it: comm.rank, Argument(), workers=2, backend=BACKEND)
except KeyboardInterrupt as error:
    print(error)
"""


def test_an_interrupt_before_anything_has_started_says_so(world, tmp_path):
    with Program(tmp_path, f"BACKEND = {world.backend!r}\n{PREPARED}", None) as program:
        out, err = program.finish()
    assert out == "the run was interrupted while it was being prepared\n", err


RAISING = """
import signal, sys, threading, time
import numpy as np
from multiprocess import process
from course_lib import run
from tests.residue import assert_nothing_left, residue

class Own(Exception):
    pass

def stop(*_):
    raise raised

class Argument:
    def __reduce__(self):
        if when == "pack":
            signal.raise_signal(signal.SIGALRM)
        return Argument, ()

class Returned:
    def __setstate__(self, state):
        if when == "load":
            signal.raise_signal(signal.SIGALRM)

    def __getstate__(self):
        return {"load": 1}

start = process.BaseProcess.start

def start_and_be_interrupted(self):
    if when == "start":
        signal.raise_signal(signal.SIGALRM)
    start(self)

def work(comm, when, it):
    if when == "work":
        print("at work", flush=True)
        while BACKEND == "simulated":
            time.sleep(0.001)
        comm.recv(src=1 - comm.rank) if comm.rank else time.sleep(100)
    return Returned()

run(lambda comm: comm.rank, workers=2, backend=BACKEND)
before = residue()
process.BaseProcess.start = start_and_be_interrupted
signal.signal(signal.SIGALRM, stop)
cases = [(OSError, "work"), (TimeoutError, "pack"), (KeyError, "load"), (MemoryError, "work")]
cases += [(SystemExit, "work"), (Own, "pack"), (ValueError, "work")]
cases += [(OSError, "start"), (MemoryError, "start")] if BACKEND != "simulated" else []
for kind, when in cases:
    raised = kind("planned")
    if when == "work":
        signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        run(work, when, Argument(), workers=2, backend=BACKEND)
    except BaseException as error:
        if error is not raised:
            print(when, repr(error))
    else:
        print(when, "nothing was raised")
    assert_nothing_left(before)
    if signal.getsignal(signal.SIGALRM) is not stop:
        print(when, "the handler has gone")
    when = "never"
    if run(lambda comm: comm.rank, workers=2, backend=BACKEND).values != [0, 1]:
        print("the next run does not work")
print("all tried")
"""


def test_what_a_handler_of_the_program_raises_comes_out_of_run_as_it_is(rarely_torch, tmp_path):
    with Program(tmp_path, f"BACKEND = {rarely_torch.backend!r}\n{RAISING}", None) as program:
        out, err = program.finish()
    said = [line for line in out.splitlines() if not line.endswith("at work")]
    assert said == ["all tried"], err
