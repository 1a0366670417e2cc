"""The life of a worker: attach, load the function, wait for the start, call it, report.

The launcher believes records, never exit codes: a worker that ends without ``Done`` or ``Failed``
has not finished, whatever it says when it exits.
"""

import gc
import os
import pickle
import sys
import time
from contextlib import suppress
from typing import Any

from course_lib.comm.ambient.generators import seed_generators
from course_lib.comm.communicator import WORLD
from course_lib.comm.failures import Failure
from course_lib.comm.launch import WORKER_VARIABLE
from course_lib.comm.order import Sites
from course_lib.comm.processes.channels import Channels
from course_lib.comm.processes.crew import Crew
from course_lib.comm.processes.home import Home
from course_lib.comm.processes.offspring import (
    descendants,
    end_processes,
    let_forks_end_with_the_run,
)
from course_lib.comm.processes.records import Attached, Done, Failed, Loaded
from course_lib.comm.processes.setup import Setup
from course_lib.comm.processes.transport import Transport
from course_lib.comm.processes.watch import Line, Pump, die_with_launcher, watch_for_crashes
from course_lib.comm.shipping import load_call, no_room, pack_value

__all__ = ["done", "work"]

_COLLECT_EVERY = 50_000
"""New objects between two looks of the garbage collector; every 700, as usual, traces cost 15 %."""

_PATIENCE_S = 0.3
"""How long an exception may take to say its text, and as long again to be pickled."""


def work(setup: Setup) -> None:
    """Be rank ``setup.rank`` of a run; never returns."""
    die_with_launcher()
    watch_for_crashes(setup.pipes)
    os.environ[WORKER_VARIABLE] = str(setup.rank)
    transport: Transport = pickle.loads(setup.transport)
    channels = Channels(setup.segment.memory, setup.locks, setup.bells, setup.arena)
    port = transport.port(setup.rank, channels)
    let_forks_end_with_the_run(port.flows)
    sites = Sites()
    line = Line(setup.pipes, port, sites)
    pump = None if setup.pipes.outputs else Pump(line)
    _live(setup, transport, port, line, sites)
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


def _live(setup: Setup, transport: Transport, port: Crew, line: Line, sites: Sites) -> None:
    home: Home | None = None
    origin_s = time.perf_counter()

    def failed(error: BaseException) -> Failed:
        now_s = time.perf_counter() - origin_s
        recorder = home.recorder if home is not None else None
        failure = Failure.of(error, setup.rank, now_s, _PATIENCE_S)
        return Failed(failure, recorder, tuple(sites.known), port.is_consequence(error))

    try:
        line.report(Attached(setup.rank))
        try:
            call = line.next_request().data
        except MemoryError as error:
            raise no_room(setup.rank) from error
        fn, args = load_call(call, setup.rank)
        seed_generators(setup.seed)
        # A trace is many small objects that stay: the collector would look at them again and again.
        gc.freeze()
        gc.set_threshold(_COLLECT_EVERY, 10, 10)
        port.connect()
        line.report(Loaded(setup.rank))
        origin_s = line.next_request().origin_s
        home = Home(
            port, setup.arena, setup.eager_bytes, setup.seed, setup.trace, origin_s,
            fail=lambda error: line.report(failed(error)), sites=sites,
        )  # fmt: skip
        line.recorder = home.recorder if setup.trace else None
        flow = port.open_flow(WORLD)
        port.enter(flow)
        me = os.getpid()
        try:
            value = fn(transport.communicator(home, flow), *args)
        finally:
            if os.getpid() != me:  # in a copy (os.fork): the rank reports for itself
                os._exit(0)
        port.wait_for_all(flow)
        ended_s = home.clock()
        record: Any = done(home, pack_value(value, setup.rank), ended_s)
        port.finish()
    except BaseException as error:  # sys.exit and the like are failures too
        line.error = error
        record = failed(error)
    line.report(record)


def done(home: Home, value: bytes, ended_s: float) -> Done:
    """Return the report of a rank whose function has returned, with what it sent and received."""
    sent, received, last_tags, last_stamps = {}, {}, {}, {}
    for tally in home.tallies:
        sent.update({(tally.name, dst): n for dst, n in tally.sent.items()})
        received.update({(tally.name, src): n for src, n in tally.received.items()})
        last_tags.update({(tally.name, dst): tuple(tags) for dst, tags in tally.last_tags.items()})
        last_stamps[tally.name] = tally.last_stamp
    sites = tuple(home.sites.known)
    return Done(value, ended_s, home.recorder, sent, received, last_tags, sites, last_stamps)
