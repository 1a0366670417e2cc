"""Ranks that have returned: who waits for them in vain, and what those raise.

A rank has returned when its function has, and all that it had started. Whoever waits for it then
gets ``PeerFinishedError`` at that very moment of virtual time, and whoever begins to wait for it
later gets it at once. In what all ranks enter together the first rank of the communicator is the
one that misses it, and all others get the same error, as on real processes.

Where only the function has returned that a communicator was given to, and its rank lives on, those
who wait for it there are told when nothing else can go on, as by the launcher of real processes.
"""

import math
from typing import TYPE_CHECKING

from course_lib.comm.errors import PeerFinishedError
from course_lib.comm.meetings import repeated
from course_lib.comm.simulated import describe
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.groups import Group, Meeting
from course_lib.comm.simulated.in_flight import ANY, InFlight, Nobody
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.wait_graph import GROUP_VERBS, quoted

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["has_crashed", "look", "tell", "tell_of_functions", "waits_for"]


def tell(world: "EventLoop", rank: int, now_s: float) -> None:
    """Let everybody raise who waits for a rank that has just returned.

    Parameters
    ----------
    world : EventLoop
        The run.
    rank : int
        Who has returned.
    now_s : float
        When.
    """
    waiting = [
        comm
        for group in world.everybody.below()
        if rank in group.members
        for comm in _waiting_for(group, group.comms[group.members.index(rank)])
    ]
    for comm in waiting:
        flow = comm.flow
        if not flow.dead and flow.comm is comm and flow.open_parts:
            look(world, flow, now_s)
    for flow in list(world.flows.values()):
        if flow.awaits is not None and not flow.dead and flow.open_parts:
            look(world, flow, now_s)


def tell_of_functions(world: "EventLoop") -> bool:
    """Let everybody raise who waits for a function that has returned, as nothing can go on.

    Parameters
    ----------
    world : EventLoop
        The run.

    Returns
    -------
    bool
        Whether that has woken anybody.
    """
    now_s = world.virtual_time_s()
    over: dict[Group, set[int]] = {}
    for flow in list(world.flows.values()):
        if not flow.open_parts or has_crashed(flow):
            continue
        group = flow.comm.group
        if group not in over:
            over[group] = {comm.run_rank for comm in group.comms if _user(comm).finished}
        _look(world, flow, over[group], now_s)
    return len(world.heap) > 0


def _waiting_for(group: Group, gone: MessagingCommunicator) -> list[MessagingCommunicator]:
    """List who might wait for a rank of a group."""
    listening = [comm for comm in gone.awaited_by if comm.listens_to == gone.rank]
    sending = [messages[-1].sender for messages in gone.inbox.values() if messages]
    to_anybody = [comm for comm in group.listeners if comm.listens_to == ANY]
    return [*listening, *sending, *to_anybody, *group.meeting.inside]


def look(world: "EventLoop", flow: Flow, now_s: float) -> None:
    """Let a flow raise if what it waits for will never come, because a rank has returned.

    Parameters
    ----------
    world : EventLoop
        The run.
    flow : Flow
        One that is in a verb, with open parts.
    now_s : float
        The time.
    """
    _look(world, flow, world.returned, now_s)


def _look(world: "EventLoop", flow: Flow, returned: set[int], now_s: float) -> None:
    if not _in_vain(flow, returned):
        return
    gone = [peer for peer in waits_for(flow) if peer.rank in returned]
    peer = next((peer for peer in gone if not has_crashed(peer)), None)
    if peer is None:  # it was started again, but what it had to do with that is lost
        return
    error, comm = _peer_finished(world, flow, peer), flow.comm
    if flow.awaits is not None:
        waiters = list(flow.awaits.waiters)
        flow.awaits.waiters.clear()
        flow.awaits.withdraw(error, now_s)
        for waiter in waiters:  # it raises the posted message's error
            waiter.settle(now_s)
        return
    if flow.verb == "send" and (small := _small_one_of(flow)) is not None:
        small.poster, flow.sends_to = Nobody(), None  # it may be sent, and is lost
        flow.settle(now_s)
        return
    if flow.verb not in GROUP_VERBS:
        _withdraw(flow)
        flow.give_up(error, now_s)
        return
    meeting = comm.group.meeting
    if comm.rank != 0:
        meeting.leave(comm)
        flow.give_up(error, now_s)
        return
    comm.group.refusals.append(error)
    comm.group.meeting = Meeting()
    for each in meeting.inside:
        each.n_refused += 1
        each.flow.give_up(repeated(error), now_s)


def _in_vain(flow: Flow, returned: set[int]) -> bool:
    comm = flow.comm
    if flow.verb == "wait" and flow.awaits is None:
        return False  # what it has started will say so itself
    members = comm.group.members
    if flow.verb in GROUP_VERBS:
        awaited = members[1:] if comm.rank == 0 else members[:1]
        return not returned.isdisjoint(awaited)
    if flow.hears == ANY:
        return all(rank in returned for rank in members if rank != comm.run_rank)
    if flow.sends is not None:  # first it sends, if it can: then that has been sent
        return members[flow.sends] in returned and _lies_there(flow)
    return flow.hears is not None and members[flow.hears] in returned


def _lies_there(flow: Flow) -> bool:
    """Whether what it sends waits at the receiver, and not for its own NIC."""
    assert flow.sends is not None
    messages = flow.comm.peers[flow.sends].inbox.get(flow.comm.rank, ())
    poster = flow if flow.awaits is None else flow.awaits
    waiting = (m for m in messages if m.arrived_s == math.inf and not m.queued)
    return any(message.poster is poster for message in waiting)


def _small_one_of(flow: Flow) -> InFlight | None:
    """Find the small message that it sends, which lies behind a large one that nobody receives."""
    assert flow.sends is not None
    messages = flow.comm.peers[flow.sends].inbox[flow.comm.rank]
    message = next(m for m in messages if m.poster is flow and m.arrived_s == math.inf)
    return message if message.data.nbytes <= flow.world.eager_bytes else None


def _withdraw(flow: Flow) -> None:
    """Take back what was posted: it neither receives nor sends any more."""
    comm = flow.comm
    comm.listens_to = None
    if flow.sends_to is not None:
        comm.peers[flow.sends_to].inbox[comm.rank].pop()
        flow.sends_to = None


def has_crashed(flow: Flow) -> bool:
    """Whether its rank has crashed."""
    return flow.caller is None and not flow.finished


def waits_for(flow: Flow) -> list[Flow]:
    """List the flows without which ``flow`` cannot go on, those that will never help first."""
    comm = flow.comm
    if flow.verb == "wait" and flow.awaits is None:
        return [comm.flow]
    if flow.verb in GROUP_VERBS and comm in comm.group.meeting.inside:
        inside = {c.rank for c in comm.group.meeting.inside}
        peers = [peer for peer in comm.peers if peer.rank not in inside]
    elif flow.hears == ANY:  # one of them is enough, so one that has returned is no harm
        flows = [_user(peer) for peer in comm.peers if peer is not comm]
        return sorted(flows, key=lambda flow: (flow.finished, has_crashed(flow)))
    else:  # first it sends, if it can: what it is to receive comes after that
        ranks = (flow.sends, flow.hears)
        flows = [_user(comm.peers[rank]) for rank in ranks if rank is not None]
        return sorted(flows, key=lambda flow: not has_crashed(flow))
    return sorted(map(_user, peers), key=lambda flow: (not has_crashed(flow), not flow.finished))


def _user(comm: MessagingCommunicator) -> Flow:
    """Find the flow that uses a communicator, or the one that has yet to start such a flow."""
    while not hasattr(comm, "flow"):
        assert comm.group.parent is not None
        comm = comm.group.parent.comms[comm.rank]
    return comm.flow


def _peer_finished(world: "EventLoop", flow: Flow, peer: Flow) -> PeerFinishedError:
    """Say that a flow waits for one that has returned."""
    comm = flow.comm
    entered = comm._entered()
    within = f" of {entered.told()}" if entered else ""
    what = f"rank {flow.rank} waits in {describe.call(flow)}{within}, at {describe.spot(flow)}"
    from_ = f" from {quoted(peer.group.name)}" if peer.number else ""
    returned = f"{what}, but rank {peer.rank} has already returned{from_}"
    if not any(hasattr(c, "flow") for c in comm.peers if c.run_rank == peer.rank):
        text = f"{returned} without having started {quoted(comm.group.name)}"
        hint = "every rank must call start() equally often"
    elif comm in comm.group.meeting.inside:
        text = returned
        hint = f"every rank must call {flow.verb}() equally often"
    elif entered and entered.site:
        text = returned
        hint = f"every rank must call {entered.site.name}() equally often"
    elif flow.hears == ANY:
        text = f"{what}, but all other ranks have already returned{from_}"
        hint = f"count how many messages are sent to rank {flow.rank}, and receive no more"
    elif flow.sends is not None and _user(comm.peers[flow.sends]) is peer:
        text = f"{returned} without receiving it"
        hint = f"let rank {peer.rank} receive as many messages as rank {flow.rank} sends to it"
    else:
        text = returned
        hint = f"let rank {peer.rank} send as many messages as rank {flow.rank} receives from it"
        if comm.mail is not None:
            n_sent = comm.mail.count(peer.rank, flow.rank)
            text += f"; it sent {n_sent} message{'s' * (n_sent != 1)} to rank {flow.rank}"
    lines = [text, *(f"    ({note})" for note in describe.unread(comm)), hint]
    if world.mishaps is not None:
        lines += world.mishaps.lost_for([flow])
    return PeerFinishedError("\n".join(lines), rank=flow.rank, peer=peer.rank)
