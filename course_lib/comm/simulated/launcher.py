"""What ``run(..., backend="simulated")`` does: build the world, run it, explain how it ended."""

import time
from contextlib import suppress
from typing import Any

from course_lib.comm.ambient.surroundings import surroundings
from course_lib.comm.errors import PeerFinishedError, RunError
from course_lib.comm.failures import to_error
from course_lib.comm.frames import frames_of
from course_lib.comm.interrupts import Interrupts
from course_lib.comm.job import Job
from course_lib.comm.result import Lost, Result, inside_worker
from course_lib.comm.simulated import copies, describe, explain, networks  # noqa: F401
from course_lib.comm.simulated.endings import forget, log_open_wait
from course_lib.comm.simulated.event_loop import EventLoop
from course_lib.comm.simulated.fault_injector import FaultInjector
from course_lib.comm.simulated.faults import Faults
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.network import Network, check_network
from course_lib.comm.simulated.watchdog import TimeIsUp, Watchdog
from course_lib.comm.unreceived import warn_unreceived
from course_lib.trace.events import Fault
from course_lib.trace.trace import Trace
from course_lib.words.whole import whole

__all__ = ["MOST_EVENTS", "launch"]

MOST_EVENTS = 10_000_000
"""How many messages, computations, notes and collectives a run may have; some gigabytes."""

_GRACE_S = 1.0


def launch(
    job: Job, network: Network | None, faults: Faults | None = None, max_events: int | None = None
) -> Result:
    """Run a job in virtual time.

    Parameters
    ----------
    job : Job
        The checked call of ``run``.
    network : Network or None
        The network model; None takes ``networks.DEFAULT``.
    faults : Faults or None, default: None
        What goes wrong, and when.
    max_events : int or None, default: None
        How many events there may be; None takes ``MOST_EVENTS``.

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
    check_network(network)
    _check_faults(faults, job.workers)
    most = MOST_EVENTS if max_events is None else max_events
    whole("max_events", most, least=1)
    world = EventLoop(job, network, faults)
    if faults is not None:
        world.mishaps = FaultInjector(world, faults)
    try:
        with (
            Interrupts() as world.interrupts,
            inside_worker(0),
            surroundings(job.settings.seed, n_threads=1) as world.surroundings,
        ):
            failure = _run(world, job.time_limit_s, most, world.interrupts)
        error = world.interrupts.outcome(failure, "its ranks were ending")
        if error is not None:
            raise error from None
        if world.losses is None or not world.losses.happened:
            warn_unreceived(world.unreceived(), world.out_of_step())
        mains = [world.flows.get((rank, 0)) for rank in range(job.workers)]
        values = [_value(world, rank, flow) for rank, flow in enumerate(mains)]
        trace = None if world.log is None else world.log.trace(job.workers, _faults(world))
        return Result(values, world.virtual_time_s(), "simulated", trace)
    finally:
        forget(world)


def _value(world: EventLoop, rank: int, flow: Flow | None) -> Any:
    if flow is None and world.losses is not None:
        return Lost(world.losses.reasons[rank])
    return None if flow is None else flow.value


def _check_faults(faults: Faults | None, workers: int) -> None:
    if faults is None:
        return
    if not isinstance(faults, Faults):
        raise TypeError(
            "faults must be Faults such as Faults([Crash(rank=2, at_s=0.1)]), "
            f"got {faults!r} ({type(faults).__name__})"
        )
    faults.check(workers)


def _run(
    world: EventLoop, time_limit_s: float, max_events: int, interrupts: Interrupts
) -> RunError | KeyboardInterrupt | None:
    """Run the world to its end; explain a bad end; end the ranks that are left."""
    error: RunError | KeyboardInterrupt | None = None

    def is_storm() -> bool:
        return world.n_events() > max_events

    def is_over() -> bool:
        swallowed = time.monotonic() > interrupts.noted_s + _GRACE_S  # Ctrl-C, by a bare except
        return swallowed or is_storm()

    try:
        well = Watchdog(time_limit_s, world.close, is_over, interrupts).call(world.run)
        if world.failure is not None:
            error = to_error(world.failure)
            if world.losses is None:
                error.consequences = tuple(describe.others(world, _named(world, error)))
            else:  # nobody has survived
                error.consequences = world.losses.others(world.failure.rank)
        elif not well:
            error = explain.stuck(world)
    except TimeIsUp as time_is_up:
        frames = frames_of(_first(time_is_up).__traceback__)
        if interrupts.error is not None:
            error = explain.interrupted(world, frames)
        elif is_storm():
            error = explain.storm(world, max_events, frames)
        else:
            error = explain.timed_out(world, time_limit_s, frames)
    except KeyboardInterrupt as interrupt:
        error = explain.interrupted(world, frames_of(interrupt.__traceback__))
    finally:
        if isinstance(error, RunError):
            if world.mishaps is not None:
                world.mishaps.tell(error)
            error.trace = _trace(world, error)
        _end(world, interrupts)
    return error


def _first(raised: BaseException) -> BaseException:
    """Return what met the rank: a verb refuses, then the watchdog strikes where that passes."""
    while isinstance(raised.__context__, TimeIsUp):
        raised = raised.__context__
    return raised


def _named(world: EventLoop, error: RunError) -> list[Flow]:
    """List whom an error names already, besides the function that raised it."""
    peer = error.peer if isinstance(error, PeerFinishedError) else None
    return [
        flow
        for flow in world.flows.values()
        # What a rank has returned may be what is wrong.
        if flow.rank == peer or (flow.rank == error.rank and flow.finished)
    ]


def _end(world: EventLoop, interrupts: Interrupts) -> None:
    """End the ranks that are left; one that will not end in a second is left behind."""
    if all(flow.dead for flow in world.flows.values()):
        return
    with suppress(TimeIsUp):  # a finally block that does not end
        Watchdog(_GRACE_S, lambda: None, None, interrupts).call(world.end, lets_in=False)


def _faults(world: EventLoop) -> list[Fault]:
    happened = [] if world.mishaps is None else list(world.mishaps.happened)
    happened += [] if world.losses is None else world.losses.happened
    return sorted(happened, key=_time)


def _time(fault: Fault) -> float:
    return fault.time_s


def _trace(world: EventLoop, error: RunError) -> Trace | None:
    """Make the trace of a run that failed, with the failure and what ranks still wait for."""
    log, end_s = world.log, world.virtual_time_s()
    if log is None:
        return None
    for flow in world.flows.values():
        log_open_wait(world, flow, end_s)
    summary = str(error.args[0]).splitlines()[0]
    fault = Fault(error.rank, type(error).__name__, summary, end_s)
    return log.trace(world.size, [*_faults(world), fault])
