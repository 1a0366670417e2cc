"""Ranks that are lost in a run that survives it: who is told at once, and who comes back.

All that a lost rank had to do with others ends in one instant of virtual time: its flows, the
messages that it had sent and that have not arrived or been received, and the verbs of those who
need it. ``run`` has the contract; the verbs that begin later ask in ``surviving``.
"""

import secrets
from collections import Counter, defaultdict
from functools import partial
from heapq import heapify, heappush
from typing import TYPE_CHECKING

from greenlet import greenlet

from course_lib.comm.failures import Failure, to_error
from course_lib.comm.losses import all_in_its_collectives, rank_lost
from course_lib.comm.simulated.endings import take_out
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.groups import Group, Meeting
from course_lib.comm.simulated.in_flight import ANY
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.simulated.nics import Nic
from course_lib.comm.simulated.posted import Posted, PostedReceive
from course_lib.comm.wait_graph import GROUP_VERBS
from course_lib.trace.events import LOST, RESTARTED, Fault

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["Losses"]

_BEFORE_FLOWS = -1_000_000_000  # in the heap, also before NICs and scheduled faults


class Losses:
    """The ranks of one run that are lost.

    Parameters
    ----------
    world : EventLoop
        The run.
    restart : int
        How often a rank is started again at most, where no schedule of faults says when.

    Attributes
    ----------
    happened : list of Fault
        For the trace, in order.
    reasons : dict of int to str
        How each rank was lost that is down.
    gone : set of int
        Those of them that nobody will start again.
    incarnations : Counter
        How often each rank has been started again.
    run_name : str
        A name that only this run has.
    """

    def __init__(self, world: "EventLoop", restart: int) -> None:
        self._world = world
        self._restart_times = restart
        self.happened: list[Fault] = []
        self.reasons: dict[int, str] = {}
        self.gone: set[int] = set()
        self.incarnations: Counter[int] = Counter()
        self.run_name = secrets.token_hex(8)
        self._first: Failure | None = None
        self._untold: defaultdict[int, set[int]] = defaultdict(set)

    # Who needs whom

    def lost_for(self, comm: MessagingCommunicator, peers: tuple[int, ...]) -> set[int]:
        """Return those of some ranks that are lost for who names them; being told, it knows.

        Parameters
        ----------
        comm : MessagingCommunicator
            Whose verb names them.
        peers : tuple of int
            Ranks of the whole run.

        Returns
        -------
        set of int
            Those that are lost.
        """
        if comm.group is not self._world.everybody:
            return comm.group.lost.intersection(peers)
        untold = self._untold[comm.run_rank]
        return (self.gone | untold).intersection(peers)

    def heard_of(self, comm: MessagingCommunicator, rank: int) -> None:
        """Note that a rank knows that another, of the whole run, was lost."""
        if comm.group is self._world.everybody:
            self._untold[comm.run_rank].discard(rank)

    def lost_together(self, comm: MessagingCommunicator) -> set[int]:
        """Return who is lost of those that take part in the collectives a function is in."""
        return self._world.everybody.lost & all_in_its_collectives(comm)

    def lost_senders(self, comm: MessagingCommunicator) -> set[int]:
        """Return those for whom nobody will ever send to a rank; empty if somebody may."""
        lost = self.gone if comm.group is self._world.everybody else comm.group.lost
        others = set(comm.group.members) - {comm.run_rank}
        return others & lost if others <= lost | self._world.returned else set()

    # A loss

    def lose(self, failure: Failure, back_s: float | None = None) -> None:
        """Go on without a rank, unless it was the last.

        Parameters
        ----------
        failure : Failure
            How it was lost.
        back_s : float or None, default: None
            When it is to be started again; None starts it at once, if it may be.
        """
        world, rank, now_s = self._world, failure.rank, failure.time_s
        self._first = self._first or failure
        world.failure = None
        take_out(world, [flow for flow in world.flows.values() if flow.rank == rank], now_s)
        if back_s is None and self.incarnations[rank] < self._restart_times:
            back_s = now_s
        reason = str(to_error(failure).args[0]).splitlines()[0]
        self._note(rank, reason, now_s)
        self._untold.pop(rank, None)
        for other in {flow.rank for flow in world.flows.values()}:
            self._untold[other].add(rank)
        if back_s is None:
            self.gone.add(rank)
        groups = [group for group in world.everybody.below() if rank in group.members]
        for group in groups:
            group.lost.add(rank)
        for flow in list(world.flows.values()):
            self._interrupt(flow, rank, now_s)
        for group in groups:
            _forget(group, rank)
        self._stand_in(rank)
        self.tell_listeners(now_s)
        if back_s is not None:
            self._at(back_s, rank)
        elif not world.flows:
            world.failure = self._first  # nobody has survived

    def others(self, first: int) -> tuple[str, ...]:
        """Return a line for each lost rank but the first one, by rank."""
        return tuple(reason for rank, reason in sorted(self.reasons.items()) if rank != first)

    def _note(self, rank: int, reason: str, now_s: float) -> None:
        self.reasons[rank] = reason
        self.happened.append(Fault(rank, LOST, reason, now_s))
        self._world.latest_end_s = max(self._world.latest_end_s, now_s)

    def _stand_in(self, rank: int) -> None:
        """Put a new end of everybody's communicator where a rank may be again, and a new NIC."""
        world = self._world
        old = world.everybody.comms[rank]
        old.nic.forget()
        world.nics[rank] = Nic(rank, world)
        new = type(old)(world.everybody, rank, world)
        new.flow = old.flow
        world.everybody.comms[rank] = new

    def _at(self, back_s: float, rank: int) -> None:
        alarm = greenlet(partial(self._start_again, back_s, rank), self._world.loop)
        heappush(self._world.heap, (back_s, rank, _BEFORE_FLOWS, alarm))

    def _start_again(self, now_s: float, rank: int) -> None:
        self.incarnations[rank] += 1
        del self.reasons[rank]
        comm = self._world.everybody.comms[rank]
        comm._incarnation = self.incarnations[rank]
        self._world.restart(rank, now_s)
        self.happened.append(Fault(rank, RESTARTED, f"rank {rank} was started again", now_s))

    # Those who are in a verb

    def tell_listeners(self, now_s: float) -> None:
        """Let those raise who wait for a message from anybody, where nobody is left to send."""
        for flow in list(self._world.flows.values()):
            if flow.open_parts and flow.awaits is None and flow.comm.listens_to == ANY:
                lost = self.lost_senders(flow.comm)
                if lost:
                    flow.comm.listens_to = None
                    self._give_up(flow, min(lost), now_s)

    def _interrupt(self, flow: Flow, rank: int, now_s: float) -> None:
        """Let a flow raise, in its verb or in the ``wait`` for what it has begun, if it is due."""
        if flow.finished or flow.dead:
            return
        for posted in list(flow.unsettled):
            if self._needs(posted.comm, posted, rank, posted.comm.group.members[posted.peer]):
                self._withdraw_posted(posted, rank, now_s)
        comm = flow.comm
        if flow.awaits is not None or flow.verb == "wait":
            return
        if flow.open_parts and flow.verb in GROUP_VERBS:
            if rank in comm.group.members:
                if comm in comm.group.meeting.inside:
                    comm.group.meeting.leave(comm)
                self._give_up(flow, rank, now_s)
            return
        if self._needs(comm, flow, rank, None):
            _withdraw(comm, flow)
            comm.listens_to, comm.message = None, None
            self._give_up(flow, rank, now_s)

    def _needs(
        self, comm: MessagingCommunicator, poster: "Flow | Posted[object]", rank: int,
        peer: int | None,
    ) -> bool:  # fmt: skip
        """Say whether what a flow or a posted message waits for, or carries, is over now."""
        if rank not in comm.group.members:
            return poster.open_parts > 0 and rank in all_in_its_collectives(comm)
        lost = comm.group.comms[comm.group.members.index(rank)]
        now_s = self.happened[-1].time_s
        leaving = getattr(comm, "leaving", None)
        if leaving and leaving[0].poster is poster and leaving[1] is lost and leaving[2] > now_s:
            return True
        message = poster.arriving if isinstance(poster, Posted) else comm.message
        if message is not None and message.sender is lost and message.arrived_s > now_s:
            return True
        if not poster.open_parts:
            return False
        named = {poster.hears, poster.sends_to} if peer is None else set()
        return rank == peer or lost.rank in named or rank in all_in_its_collectives(comm)

    def _give_up(self, flow: Flow, rank: int, now_s: float) -> None:
        self._wake_now(flow, now_s)
        error = rank_lost(flow.rank, flow.verb, flow.comm.name, (rank,))
        if flow.verb != "recv_any":  # which looks itself whether it passes over it
            self.heard_of(flow.comm, rank)
        flow.give_up(error, now_s)

    def _wake_now(self, flow: Flow, now_s: float) -> None:
        """Take a flow, whose verb was to end later, out of the heap."""
        heap = self._world.heap
        if any(entry[3] is flow for entry in heap):
            heap[:] = [entry for entry in heap if entry[3] is not flow]
            heapify(heap)
            flow.now_s = now_s
        flow.done_s = now_s

    def _withdraw_posted(self, posted: "Posted[object]", rank: int, now_s: float) -> None:
        comm = posted.comm
        error = rank_lost(comm.run_rank, posted.verb, comm.name, (rank,))
        self.heard_of(comm, rank)
        _withdraw(comm, posted)
        if isinstance(posted, PostedReceive):
            posted.arriving = None
            if posted in comm.posted.get(posted.peer, ()):
                comm.posted[posted.peer].remove(posted)
        posted.hears, posted.error = None, error
        posted.open_parts, posted.done_s = 0, now_s
        waiters = list(posted.waiters)
        posted.waiters.clear()
        for waiter in waiters:
            waiter.wake(now_s)


def _withdraw(comm: MessagingCommunicator, poster: "Flow | Posted[object]") -> None:
    """Take back what one has posted to be sent and that has not begun to leave."""
    if poster.sends_to is None:
        return
    receiver = comm.peers[poster.sends_to]
    poster.sends_to = None
    comm.nic.cancel(poster)
    waiting = receiver.inbox[comm.rank]
    for message in [each for each in waiting if each.poster is poster]:
        waiting.remove(message)
    comm.nic.release(waiting, receiver)


def _forget(group: Group, rank: int) -> None:
    """Drop what a lost rank had sent to a group, and what is left of a meeting there."""
    lost = group.comms[group.members.index(rank)]
    group.meeting = Meeting()
    for comm in group.comms:
        comm.inbox.pop(lost.rank, None)
    lost.inbox.clear()
    lost.posted.clear()
    lost.message = None
