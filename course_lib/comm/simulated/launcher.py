"""What ``run(..., backend="simulated")`` does: build the world, run it, explain how it ended."""

from course_lib.comm.errors import RunError
from course_lib.comm.failures import frames_of, to_error
from course_lib.comm.job import Job
from course_lib.comm.launch import Result, inside_worker
from course_lib.comm.leftovers import warn_unreceived
from course_lib.comm.simulated import explain, networks
from course_lib.comm.simulated.letters import ANY
from course_lib.comm.simulated.networks import Network
from course_lib.comm.simulated.watchdog import TimeIsUp, Watchdog
from course_lib.comm.simulated.world import World
from course_lib.trace.events import Fault
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

    Returns
    -------
    Result
        Values by rank, trace and virtual seconds.

    Raises
    ------
    RunError
        If the run failed; it carries the trace up to then.
    KeyboardInterrupt
        If the user interrupted it; it says where each rank was.
    """
    if network is None:
        network = networks.DEFAULT
    if not isinstance(network, Network):
        raise TypeError(
            "network must be a Network such as networks.ethernet_10g, "
            f"got {network!r} ({type(network).__name__})"
        )
    world = World(job, network)
    try:
        with inside_worker(0):
            error = _run(world, job.time_limit_s)
        if error is not None:
            raise error from None
        warn_unreceived(world.unreceived(), world.everybody.out_of_step())
        values = [world.flows[rank, 0].value for rank in range(job.workers)]
        trace = None if world.log is None else world.log.trace(job.workers, [])
        return Result(values, world.virtual_time_s(), "simulated", trace)
    finally:
        world.forget()


def _run(world: World, time_limit_s: float) -> RunError | KeyboardInterrupt | None:
    """Run the world to its end; explain a bad end; end the ranks that are left."""
    error: RunError | KeyboardInterrupt | None = None
    try:
        with Watchdog(time_limit_s, world.close):
            well = world.run()
        if world.failure is not None:
            error = to_error(world.failure, explain.others(world))
        elif not well:
            error = explain.stuck(world)
    except TimeIsUp as time_is_up:
        error = explain.timed_out(world, time_limit_s, frames_of(time_is_up.__traceback__))
    except KeyboardInterrupt as interrupt:
        error = explain.interrupted(world, frames_of(interrupt.__traceback__))
    finally:
        if isinstance(error, RunError):
            error.trace = _trace(world, error)
        try:
            with Watchdog(_GRACE_S, lambda: None):
                world.end()
        except TimeIsUp:  # a finally block that does not end: its rank is left behind
            pass
    return error


def _trace(world: World, error: RunError) -> Trace | None:
    """Make the trace of a run that failed, with the failure and what ranks still wait for."""
    log, end_s = world.log, world.virtual_time_s()
    if log is None:
        return None
    for flow in world.flows.values():
        if flow.open_parts and end_s > flow.posted_s:
            comm = flow.comm
            peer = comm.sends_to if comm.listens_to is None else comm.listens_to
            whom = None if peer is None or peer == ANY else comm.group.members[peer]
            log.waits.add(flow.rank, flow.verb, whom, flow.posted_s, end_s, comm.name)
    summary = str(error.args[0]).splitlines()[0]
    fault = Fault(error.rank, type(error).__name__, summary, end_s)
    return log.trace(world.size, [fault])
