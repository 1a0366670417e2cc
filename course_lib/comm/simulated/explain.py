"""Why nobody can go on, or where everybody was: the sentences of the simulator's errors."""

from dataclasses import replace

from course_lib.comm import collective_order, wait_graph
from course_lib.comm.circles import find_circles
from course_lib.comm.collective_order import Entered
from course_lib.comm.errors import (
    LaunchTimeout,
    RunError,
    SimulationError,
    WorkerKilled,
)
from course_lib.comm.frames import Frame, frames_of_stack, place, user_frame
from course_lib.comm.simulated import describe
from course_lib.comm.simulated.event_loop import EventLoop
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.partings import has_crashed, waits_for
from course_lib.comm.wait_graph import WaitingRank

__all__ = ["interrupted", "storm", "stuck", "timed_out"]

_MOST_DRAWN = 32  # ranks; of larger worlds an error carries the circles alone
_MOST_SEARCHED = 1024  # flows, for more than one circle: whom each waits for takes a look at all


def stuck(world: EventLoop) -> RunError:
    """Explain why nothing can go on: one that has crashed, or circles of flows."""
    waiting = [flow for flow in world.flows.values() if not (flow.finished or has_crashed(flow))]
    awaited = _all_next
    if len(waiting) > _MOST_SEARCHED:
        waiting, awaited = _path(waiting[0]), _one_next
    for flow in waiting:
        if has_crashed(_next(flow)):
            return _peer_crashed(world, flow, _next(flow))
    return _deadlock(world, find_circles(waiting, awaited))


def _path(flow: Flow) -> list[Flow]:
    """Follow who waits for whom until nobody new comes."""
    path: dict[Flow, None] = {}
    while not (flow.finished or has_crashed(flow) or flow in path):
        path[flow] = None
        flow = _next(flow)
    return list(path)


def _next(flow: Flow) -> Flow:
    """Follow who waits for whom: to one that has crashed, else to one that has not returned."""
    awaited = waits_for(flow)
    return next((peer for peer in awaited if not peer.finished), awaited[0])


def _one_next(flow: Flow) -> list[Flow]:
    return [_next(flow)]


def _all_next(flow: Flow) -> list[Flow]:
    return [peer for peer in waits_for(flow) if not (peer.finished or has_crashed(peer))]


def _deadlock(world: EventLoop, circles: list[list[Flow]]) -> RunError:
    known = {flow for circle in circles for flow in circle}
    for circle in circles:
        entered = [_entered(flow) for flow in circle if not _waits_for_function(flow)]
        if collective_order.apart(entered):
            return collective_order.mismatch(entered, consequences=describe.others(world, circle))
    rest = [flow for flow in world.flows.values() if flow.open_parts and flow not in known]
    return wait_graph.deadlock(
        [_told(world, circle) for circle in circles],
        [_waiting(world, flow) for flow in rest] if world.size <= _MOST_DRAWN else [],
        consequences=describe.others(world, known),
        eager_bytes=world.eager_bytes,
        lost=() if world.losses is None else world.losses.gone,
    )


def _told(world: EventLoop, circle: list[Flow]) -> list[WaitingRank]:
    # A flow that waits for a started function is told together with that function.
    before, after = [circle[-1], *circle[:-1]], [*circle[1:], circle[0]]
    told = [
        _waiting(world, flow, following)
        for waiter, flow, following in zip(before, circle, after, strict=True)
        if not _waits_for_function(waiter)
    ]
    return told or [_waiting(world, flow) for flow in circle]


def _waits_for_function(flow: Flow) -> bool:
    return flow.verb == "wait" and flow.awaits is None


def _entered(flow: Flow) -> Entered:
    """Say in which collective a flow is, or in what else it waits."""
    frame = user_frame(frames_of_stack(flow.gr_frame))
    entered = flow.comm._entered() or _that_waits_for(flow)
    return entered or Entered(flow.rank, "", instead=describe.call(flow), frame=frame)


def _that_waits_for(flow: Flow) -> Entered | None:
    """Find the collective that has started a function and waits for it, if one does."""
    parent = flow.own.group.parent
    if flow.number == 0 or parent is None:
        return None
    starter = parent.comms[flow.own.rank]
    if starter.flow.caller is None:  # it has returned, or crashed
        return None
    waits = starter.flow.verb == "wait" and starter.flow.comm is flow.own
    return starter._entered() if waits else None


def _waiting(world: EventLoop, flow: Flow, following: Flow | None = None) -> WaitingRank:
    if _waits_for_function(flow) and flow.comm.flow.verb != "wait":
        started = _waiting(world, flow.comm.flow)
        return replace(started, call=f"{describe.call(flow)}, which waits in {started.call}")
    peers = sorted(waits_for(flow), key=lambda peer: peer is not following)
    awaited = tuple(peer.rank for peer in peers)
    return WaitingRank(
        rank=flow.rank,
        verb=flow.verb if flow.awaits is None else flow.awaits.verb,
        call=describe.call(flow),
        place=describe.spot(flow),
        waits_for=awaited if world.size <= _MOST_DRAWN else awaited[:1],
        unread=tuple(describe.unread(flow.comm)),
        started=flow.group.name if flow.number else "",
    )


def _peer_crashed(world: EventLoop, flow: Flow, peer: Flow) -> WorkerKilled:
    assert world.mishaps is not None
    died_s = world.mishaps.died_s.get(peer.rank)
    text = f"rank {flow.rank} waits in {describe.call(flow)}, at {describe.spot(flow)}"
    text += f", but rank {peer.rank} "
    if died_s is None:
        text += "has lost what it had to do with that in a crash, and was started again"
        hint = "a rank that is started again may send, receive and meet the others in barriers"
    else:
        text += f"crashed at {died_s:g} s of virtual time"
        hint = f"let rank {flow.rank} do without rank {peer.rank}, or start it again (restart_at_s)"
    return WorkerKilled(
        f"{text}\n{hint}", rank=peer.rank, consequences=describe.others(world, [flow, peer])
    )


def timed_out(world: EventLoop, limit_s: float, frames: tuple[Frame, ...]) -> LaunchTimeout:
    """Say where every rank was when the wall time was over.

    Parameters
    ----------
    world : EventLoop
        The run.
    limit_s : float
        Its limit in wall seconds.
    frames : tuple of Frame
        Where the rank was that was running.

    Returns
    -------
    LaunchTimeout
        The error to raise.
    """
    running = _running(world, frames)
    head = (
        f"the run was not over after {limit_s:g} s of wall time (time_limit_s); in virtual time it "
        f"had come to {world.virtual_time_s():.3g} s"
    )
    hint = "look for a loop that does not end, or raise time_limit_s"
    return LaunchTimeout(
        "\n".join([head, *(f"  {line}" for line in running.values()), hint]),
        rank=next((flow.rank for flow in running), None),
        consequences=describe.others(world, running),
    )


def storm(world: EventLoop, most: int, frames: tuple[Frame, ...]) -> SimulationError:
    """Say where every rank was when more had happened than a computer's memory has room for.

    Parameters
    ----------
    world : EventLoop
        The run.
    most : int
        How many events it may have.
    frames : tuple of Frame
        Where the rank was that was running.

    Returns
    -------
    SimulationError
        The error to raise.
    """
    running = _running(world, frames)
    text = (
        f"more than {most:,} events (max_events) had happened when virtual time had come to "
        f"{world.virtual_time_s():.3g} s"
    )
    hint = "look for a loop that sends or notes without end, or raise max_events"
    return SimulationError(
        "\n".join([text, *(f"  {line}" for line in running.values()), hint]),
        rank=next((flow.rank for flow in running), None),
        consequences=describe.others(world, running),
    )


def interrupted(world: EventLoop, frames: tuple[Frame, ...]) -> KeyboardInterrupt:
    """Say where every rank was when the user pressed Ctrl-C.

    Parameters
    ----------
    world : EventLoop
        The run.
    frames : tuple of Frame
        Where the rank was that was running.

    Returns
    -------
    KeyboardInterrupt
        The exception to raise.
    """
    running = _running(world, frames)
    lines = [*running.values(), *describe.others(world, running)]
    return KeyboardInterrupt(
        "\n".join(["the run was interrupted and has ended", *(f"  {line}" for line in lines)])
    )


def _running(world: EventLoop, frames: tuple[Frame, ...]) -> dict[Flow, str]:
    """Say of the flow whose turn it was where it was: what was raised in it may have ended it."""
    can_go_on = {entry[3] for entry in world.heap}
    lines = {}
    for flow in world.flows.values():
        if flow.finished:
            continue
        if flow.dead or not (flow.open_parts or flow in can_go_on):
            here = user_frame(frames_of_stack(flow.gr_frame) or frames)
            lines[flow] = f"{describe.name(flow)} was running, at {place(here)}"
    return lines
