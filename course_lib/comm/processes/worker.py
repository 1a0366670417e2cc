"""The life of a worker: attach, load the function, wait for the start, call it, report.

The launcher believes records, never exit codes: a worker that ends without ``Done`` or ``Failed``
has not finished, whatever it says when it exits.
"""

import gc
import os
import sys
import time
from contextlib import suppress
from typing import Any

from course_lib.comm.failures import Failure
from course_lib.comm.launch import WORKER_VARIABLE
from course_lib.comm.processes.channels import Channels
from course_lib.comm.processes.communicator import ProcessCommunicator
from course_lib.comm.processes.offspring import (
    descendants,
    end_processes,
    let_forks_end_with_the_run,
)
from course_lib.comm.processes.records import Attached, Done, Failed, Loaded
from course_lib.comm.processes.setup import Setup
from course_lib.comm.processes.watch import Line, Pump, die_with_launcher, watch_for_crashes
from course_lib.comm.shipping import load_call, pack_value

__all__ = ["work"]

_COLLECT_EVERY = 50_000
"""New objects between two looks of the garbage collector; every 700, as usual, traces cost 15 %."""

_PATIENCE_S = 0.3
"""How long an exception may take to say its text, and as long again to be pickled."""


def work(setup: Setup) -> None:
    """Be rank ``setup.rank`` of a run; never returns."""
    die_with_launcher()
    watch_for_crashes(setup.pipes)
    let_forks_end_with_the_run()
    os.environ[WORKER_VARIABLE] = str(setup.rank)
    channels = Channels(setup.segment.memory, setup.locks, setup.bells)
    line = Line(setup.pipes, lambda: channels.board.call(setup.rank))
    pump = None if setup.pipes.outputs else Pump(line)
    _live(setup, channels, line)
    _end_children()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the learner may have closed or replaced it
            stream.flush()
    if pump is not None:
        pump.finish()
    # At once, with no atexit handlers or threads to wait for: all that matters has been reported.
    os._exit(0)


def _end_children() -> None:
    if sys.platform == "win32":
        return
    with suppress(ChildProcessError):  # raised where there are none, which costs next to nothing
        os.waitpid(-1, os.WNOHANG)
        end_processes(descendants([os.getpid()]))


def _live(setup: Setup, channels: Channels, line: Line) -> None:
    comm: ProcessCommunicator | None = None
    origin_s = time.perf_counter()
    try:
        line.report(Attached(setup.rank))
        fn, args = load_call(line.next_request().data, setup.rank)
        # A trace is many small objects that stay: the collector would look at them again and again.
        gc.freeze()
        gc.set_threshold(_COLLECT_EVERY, 10, 10)
        line.report(Loaded(setup.rank))
        origin_s = line.next_request().origin_s
        comm = ProcessCommunicator(
            setup.rank, channels, setup.eager_bytes, setup.seed, setup.trace, origin_s
        )
        value = fn(comm, *args)
        ended_s = comm.clock()
        record: Any = _done(comm, pack_value(value, setup.rank), ended_s)
        comm.finish()
    except BaseException as error:  # sys.exit and the like are failures too
        now_s = time.perf_counter() - origin_s
        recorder = comm.recorder if comm is not None else None
        record = Failed(Failure.of(error, setup.rank, now_s, _PATIENCE_S), recorder)
    line.report(record)


def _done(comm: ProcessCommunicator, value: bytes, ended_s: float) -> Done:
    outlets, inlets = comm.outlets, comm.inlets
    return Done(
        value=value,
        ended_s=ended_s,
        recorder=comm.recorder,
        sent={dst: outlet.number for dst, outlet in outlets.items()},
        received={src: inlet.received for src, inlet in inlets.items()},
        last_tags={dst: tuple(outlet.last_tags) for dst, outlet in outlets.items()},
    )
