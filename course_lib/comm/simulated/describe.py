"""The words for one flow of control: who it is, which verb it is in, and where."""

import math
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from greenlet import getcurrent

from course_lib.comm.frames import END, frames_of_stack, place, user_frame
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.in_flight import ANY
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.wait_graph import MOST_LINES, quoted, unread_note

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["call", "name", "others", "spot", "unread", "where"]


def where(flow: Flow) -> str:
    """Say of a flow that will end now where it is.

    Parameters
    ----------
    flow : Flow
        One that has not returned.

    Returns
    -------
    str
        A clause: ``it waited in recv(src=1), at main.py, line 3``.
    """
    if flow.open_parts:
        return f"it waited in {call(flow)}, at {spot(flow)}"
    if not flow.verb:
        return "it had not begun"
    return f"it was at {spot(flow)}"


def others(world: "EventLoop", named: Collection[Flow] = ()) -> list[str]:
    """Say in one line each where the flows were that an error does not name; at most ten lines."""
    known = set(named)
    at_work = {flow.rank for flow in world.flows.values() if not flow.finished}
    rest = [
        flow
        for flow in sorted(world.flows.values(), key=_order)
        if flow not in known
        and (flow.rank not in at_work if flow.finished else not flow.dead)  # who has failed is told
    ]
    lines = [_state(flow) for flow in rest[:MOST_LINES]]
    if len(rest) > MOST_LINES:
        lines.append(f"and {len(rest) - MOST_LINES:,} more ranks")
    return lines


def _order(flow: Flow) -> tuple[int, int]:
    return flow.rank, flow.number


def name(flow: Flow) -> str:
    """Name a flow: its rank, and if it was started beside that, its communicator."""
    return f"rank {flow.rank}" + (f" in {quoted(flow.group.name)}" if flow.number else "")


def _state(flow: Flow) -> str:
    if flow.finished:
        return f"{name(flow)} had returned"
    if flow.open_parts:
        return f"rank {flow.rank} waited in {call(flow)}, at {spot(flow)}"
    if not flow.verb:
        return f"{name(flow)} had not begun"
    return f"{name(flow)} could go on, at {spot(flow)}"


def call(flow: Flow) -> str:
    """Write the verb a flow waits in, with the part of it that is still open."""
    comm = flow.comm
    if flow.verb == "wait" and flow.awaits is None:
        return f"wait() for its started function {quoted(comm.name)}"
    parts = []
    if flow.hears is not None and flow.hears != ANY:
        parts.append(f"src={comm.group.members[flow.hears]}")
    if flow.sends is not None:
        parts.append(f"dst={comm.group.members[flow.sends]}")
    if flow.tag is not None:
        parts.append(f"tag={flow.tag!r}")
    verb = flow.verb if flow.awaits is None else flow.awaits.verb
    return f"{verb}({', '.join(parts)}){comm.group.told}"


def spot(flow: Flow) -> str:
    """Say at which line of the learner's a flow is asleep, or is."""
    frame = sys._getframe() if flow is getcurrent() else flow.gr_frame
    found = user_frame(frames_of_stack(frame))
    return END if found is None and flow.awaits else place(found)


def unread(comm: MessagingCommunicator) -> list[str]:
    """Name the messages that have arrived at a waiting rank, which listens to somebody else."""
    return [
        unread_note(comm.group.members[src], messages[0].sent.tag, messages[0].sent.shape)
        for src, messages in sorted(comm.inbox.items())
        if messages and messages[0].arrived_s < math.inf
    ][:3]
