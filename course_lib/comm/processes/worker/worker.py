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

from course_lib.comm.ambient.generators import seed_generators
from course_lib.comm.collective_order import Sites
from course_lib.comm.communicator import WORLD
from course_lib.comm.failures import Failure
from course_lib.comm.processes.launcher.process_tree import (
    cleans_up,
    descendants,
    end_processes,
    had_children,
    let_forks_end_with_the_run,
)
from course_lib.comm.processes.rank.flows import Flows
from course_lib.comm.processes.rank.rank_context import RankContext
from course_lib.comm.processes.rank.transport import Transport
from course_lib.comm.processes.worker.control import Attached, Done, Failed, Loaded
from course_lib.comm.processes.worker.guards import (
    ControlLine,
    Pump,
    die_with_launcher,
    watch_for_crashes,
)
from course_lib.comm.processes.worker.setup import Setup
from course_lib.comm.result import become_worker
from course_lib.comm.shipping import load_call, no_room, pack_value

__all__ = ["done", "work"]

_PATIENCE_S = 0.3
"""How long an exception may take to say its text, and as long again to be pickled."""


def work(setup: Setup) -> None:
    """Be rank ``setup.rank`` of a run; never returns."""
    die_with_launcher()
    watch_for_crashes(setup.pipes)
    become_worker(setup.rank)
    transport: Transport = pickle.loads(setup.transport)
    progress = transport.progress(setup.rank, transport.channels(setup))
    let_forks_end_with_the_run(progress.flows)
    sites = Sites()
    line = ControlLine(setup.pipes, progress, sites)
    pump = None if setup.pipes.outputs else Pump(line)
    record = _live(setup, transport, progress, line, sites)
    # What it has printed goes before the report: one that has failed may be ended right after it.
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the learner may have closed or replaced it
            stream.flush()
    if pump is not None:
        pump.finish()
    line.report(record)
    _end_children()
    # At once, with no atexit handlers or threads to wait for: all that matters has been reported.
    os._exit(0)


def _end_children() -> None:
    if sys.platform == "win32":
        return
    with suppress(ChildProcessError):  # raised where there are none, which costs next to nothing
        os.waitpid(-1, os.WNOHANG)
        # Who cleans up after this process does so when it has ended; the launcher waits for that.
        end_processes(child for child in descendants([os.getpid()]) if not cleans_up(child))


def _live(
    setup: Setup, transport: Transport, progress: Flows, line: ControlLine, sites: Sites
) -> Done | Failed:
    context: RankContext | None = None
    origin_s = time.perf_counter()

    def failed(error: BaseException) -> Failed:
        now_s = time.perf_counter() - origin_s
        recorder = context.recorder if context is not None else None
        failure = Failure.of(error, setup.rank, now_s, _PATIENCE_S)
        return Failed(failure, recorder, tuple(sites.known), progress.is_consequence(error))

    try:
        line.report(Attached(setup.rank))
        try:
            call = line.next_request().data
        except MemoryError as error:
            raise no_room(setup.rank) from error
        fn, args = load_call(call, setup.rank)
        seed_generators(setup.settings.seed)
        gc.freeze()  # all that is loaded stays
        progress.connect()
        line.report(Loaded(setup.rank))
        origin_s = line.next_request().origin_s
        context = RankContext(
            progress, setup.shared.arena, setup.settings, origin_s,
            fail=lambda error: line.report(failed(error)), sites=sites,
        )  # fmt: skip
        line.recorder = context.recorder if setup.settings.trace else None
        flow = progress.open_flow(WORLD)
        progress.enter(flow)
        me = os.getpid()
        try:
            value = fn(transport.communicator(context, flow), *args)
            progress.settle_all(flow)
        finally:
            if os.getpid() != me:  # in a copy (os.fork): the rank reports for itself
                os._exit(0)
        progress.wait_for_all(flow)
        ended_s = context.clock()
        report = done(context, pack_value(value, setup.rank), ended_s)
        progress.finish()
    except BaseException as error:  # sys.exit and the like are failures too
        line.error = error
        return failed(error)
    return report


def done(context: RankContext, value: bytes, ended_s: float) -> Done:
    """Return the report of a rank whose function has returned, with what it sent and received."""
    sent, received, last_tags, last_stamps = {}, {}, {}, {}
    for tally in context.tallies:
        sent.update({(tally.name, dst): n for dst, n in tally.sent.items()})
        received.update({(tally.name, src): n for src, n in tally.received.items()})
        last_tags.update({(tally.name, dst): tuple(tags) for dst, tags in tally.last_tags.items()})
        last_stamps[tally.name] = tally.last_stamp
    sites = tuple(context.sites.known)
    return Done(
        value, ended_s, context.recorder, sent, received, last_tags, sites, last_stamps,
        had_children(),
    )  # fmt: skip
