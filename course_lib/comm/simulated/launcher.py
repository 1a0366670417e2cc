"""What ``run(..., backend="simulated")`` does: build the world, run it, explain how it ended."""

from typing import Any

from course_lib.comm.errors import RunError
from course_lib.comm.failures import frames_of, to_error
from course_lib.comm.launch import Job, Result, inside_worker
from course_lib.comm.leftovers import warn_unreceived
from course_lib.comm.simulated import explain, networks
from course_lib.comm.simulated.networks import Network
from course_lib.comm.simulated.watchdog import TimeIsUp, Watchdog
from course_lib.comm.simulated.world import World
from course_lib.trace.events import Fault
from course_lib.trace.recorder import assemble
from course_lib.trace.trace import Trace

__all__ = ["launch"]

_GRACE_S = 1.0


def launch(job: Job, network: Network | None) -> Result:
    """Run a job in virtual time.

    Parameters
    ----------
    job : Job
        The checked call of ``run``.
    network : Network or None
        The network model; None takes ``networks.DEFAULT``.

    Raises
    ------
    RunError
        If the run failed; it carries the trace up to then.
    """
    if network is None:
        network = networks.DEFAULT
    if not isinstance(network, Network):
        raise TypeError(
            "network must be a Network such as networks.ethernet_10g, "
            f"got {network!r} ({type(network).__name__})"
        )
    world = World(job, network)
    with inside_worker(0):
        error = _run(world, job.time_limit_s)
    elapsed_s = max(comm.now_s for comm in world.ranks)
    if error is not None:
        if job.trace:
            summary = str(error.args[0]).splitlines()[0]
            fault = Fault(error.rank, type(error).__name__, summary, elapsed_s)
            error.trace = _trace(world, [fault])
        world.ranks.clear()
        raise error from None
    values: list[Any] = [comm.value for comm in world.ranks]
    left = [
        (letter.src, comm.rank, letter.sent.tag)
        for comm in world.ranks
        for letters in comm.inbox.values()
        for letter in letters
    ]
    trace = _trace(world, []) if job.trace else None
    world.ranks.clear()  # breaks the circle of references: the ranks' arrays go now, not some time
    warn_unreceived(left)
    return Result(values, elapsed_s, "simulated", trace)


def _run(world: World, time_limit_s: float) -> RunError | None:
    """Run the world to its end, explain a bad one, and end the ranks that are left."""
    try:
        with Watchdog(time_limit_s, world.close):
            well = world.run()
        if well:
            return None
        if world.failure is not None:
            return to_error(world.failure, explain.others(world, [world.failure.rank]))
        return explain.stuck(world)
    except TimeIsUp as time_is_up:
        return explain.timed_out(world, time_limit_s, frames_of(time_is_up.__traceback__))
    finally:
        try:
            with Watchdog(_GRACE_S, lambda: None):
                world.end()
        except TimeIsUp:  # a finally block that does not end: its rank is left behind
            pass


def _trace(world: World, faults: list[Fault]) -> Trace:
    recorders = []
    end_s = max(comm.now_s for comm in world.ranks)
    for comm in world.ranks:
        assert comm.recorder is not None
        if comm.open_parts and end_s > comm.posted_s:  # it waited to the end
            peer = comm.sends_to if comm.listens_to is None else comm.listens_to
            peer = None if peer is None or peer < 0 else peer
            comm.recorder.waits.append((comm.verb, peer, comm.posted_s, end_s, "world"))
        recorders.append(comm.recorder)
    return assemble(recorders, backend="simulated", clock="virtual", faults=faults)
