"""Ctrl-C at every line of the library, or at random moments, and what must be true afterwards."""

import gc
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import numpy as np

import course_lib.comm
from course_lib import run

LIBRARY = str(Path(course_lib.comm.__file__).parent)


def return_the_rank(comm):
    return comm.rank


def wait_and_fail(comm):
    if comm.rank == 1:
        raise ValueError("no")
    comm.recv(src=1)


def wait_for_ever(comm):
    comm.recv(src=1 - comm.rank)


def exchange_for_a_while(comm):
    other = 1 - comm.rank
    return [comm.sendrecv(np.ones(1), dst=other, src=other)[0] for _ in range(100)]


class AtLine:
    """A tracer that presses Ctrl-C when the k-th line of the library is about to be run."""

    def __init__(self, k):
        self.k = k
        self.n_lines = 0
        self.place = None

    def __call__(self, frame, event, arg):
        name = frame.f_code.co_filename
        if not name.startswith(LIBRARY):
            return self if name.endswith("contextlib.py") else None
        if event == "line":
            self.n_lines += 1
            if self.n_lines == self.k:
                self.place = f"{Path(name).name}:{frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)  # which ends the tracing, if it raises here
        return self


def press_at_lines(fn, step, **options):
    """Press at every ``step``-th line of a run; return at how many."""
    n_presses = 0
    run(return_the_rank, workers=2, **options)  # what is loaded once has been
    while True:
        at = AtLine(1 + n_presses * step)
        threads = threading.enumerate()
        told = None
        sys.settrace(at)
        try:
            run(fn, workers=2, **options)
        except KeyboardInterrupt as error:
            told = error
        except Exception:
            pass
        finally:
            sys.settrace(None)
        if at.place is None:
            return n_presses
        n_presses += 1
        assert told is not None, f"lost at {at.place}"
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, at.place
        assert threading.enumerate() == threads, at.place
        assert run(return_the_rank, workers=2, **options).values == [0, 1], at.place


class Presser:
    """A thread that presses Ctrl-C once, a while after it was asked to."""

    def __init__(self):
        self.delays_s = SimpleQueue()
        self.n_done = 0
        self.thread = threading.Thread(target=self._press, daemon=True)
        self.thread.start()

    def _press(self):
        while (delay_s := self.delays_s.get()) is not None:
            time.sleep(delay_s)
            self.n_done += 1
            os.kill(os.getpid(), signal.SIGINT)


def _time_s(fn, options):
    begun_s = time.perf_counter()
    run(fn, workers=2, **options)
    return time.perf_counter() - begun_s


def storm(fn, n_presses, seed, **options):
    """Press at random moments of runs; fail unless each is told, once, in its own run."""
    longest_s = 1.2 * min(_time_s(fn, options) for _ in range(5))
    presser, moments = Presser(), random.Random(seed)
    n_within = 0
    gc.collect()
    gc.freeze()
    for number in range(n_presses):
        # What the last run has left goes now: the collector calls back a WeakSet of Python's own,
        # and an interrupt in there, before the run has taken over Ctrl-C, is swallowed by Python.
        gc.collect()
        try:
            presser.delays_s.put(moments.uniform(0.0, longest_s))
            run(fn, workers=2, **options)
            for _ in range(1000):  # until it comes
                time.sleep(0.01)
        except KeyboardInterrupt as error:
            n_within += "the run was interrupted" in str(error)
        else:
            raise AssertionError(f"press {number} was lost")
        assert presser.n_done == number + 1
    presser.delays_s.put(None)
    presser.thread.join()
    return n_within


def assert_quiet(n_runs=20, **options):
    """Fail if anything comes of earlier runs, or the next ones are not right."""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    for _ in range(n_runs):
        assert run(return_the_rank, workers=2, **options).values == [0, 1]
    for _ in range(200):  # longer than ranks may take to end
        time.sleep(0.01)
    assert [t.name for t in threading.enumerate() if t.name == "time limit"] == []
