"""What a schedule of faults does to a running world.

A fault of a message is looked up when the message is sent. A fault of a moment waits in the heap,
among the flows, until virtual time has come to it.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import heappush
from itertools import islice
from typing import NamedTuple

from greenlet import greenlet

from course_lib.comm.errors import RunError, WorkerKilled
from course_lib.comm.failures import Failure
from course_lib.comm.simulated import describe
from course_lib.comm.simulated.endings import take_out
from course_lib.comm.simulated.event_loop import EventLoop
from course_lib.comm.simulated.fault_events import Crash, Delay, Drop, Duplicate, Partition
from course_lib.comm.simulated.faults import Faults
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.groups import Group
from course_lib.comm.simulated.in_flight import ANY, InFlight
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.simulated.nics import Nic
from course_lib.comm.simulated.topologies import SlowLink
from course_lib.trace.events import Fault

__all__ = ["Fate", "FaultInjector"]

_MOST_TOLD = 10


class Fate(NamedTuple):
    """What will happen to a message, decided when it is sent."""

    is_lost: bool = False
    is_doubled: bool = False
    late_s: float = 0.0


class FaultInjector:
    """The faults of one run: those to come, and those that have happened.

    Attributes
    ----------
    happened : list of Fault
        For the trace, in order.
    died_s : dict of int to float
        When the ranks crashed that are down.
    reborn : set of int
        Ranks that have been started again.
    """

    def __init__(self, world: EventLoop, faults: Faults) -> None:
        self._world = world
        self._faults = faults
        self.happened: list[Fault] = []
        self.died_s: dict[int, float] = {}
        self.reborn: set[int] = set()
        self._n_sent: Counter[tuple[int, int]] = Counter()
        self._n_lost: Counter[tuple[int, int]] = Counter()
        self._partitions = [event for event in faults.events if isinstance(event, Partition)]
        self._n_alarms = 0
        for event in faults.events:
            if isinstance(event, Crash):
                self._at(event.at_s, event.rank, partial(self._crash, event))
            elif isinstance(event, SlowLink | Partition):
                self._at(event.from_s, 0, partial(self._begin, event))

    def _at(self, time_s: float, rank: int, step: Callable[[], None]) -> None:
        """Do something when virtual time has come to it, before the rank's flows."""
        self._n_alarms += 1
        alarm = greenlet(step, self._world.loop)
        heappush(self._world.heap, (time_s, rank, -1 - self._n_alarms, alarm))

    def _record(self, kind: str, text: str, time_s: float, rank: int | None = None) -> None:
        self.happened.append(Fault(rank, kind, text, time_s))
        self._world.latest_end_s = max(self._world.latest_end_s, time_s)

    # Messages

    def fate(
        self,
        sender: MessagingCommunicator,
        receiver: MessagingCommunicator,
        message: InFlight,
        now_s: float,
    ) -> Fate:
        """Decide what happens to a message that is being sent; each is asked about once."""
        src, dst = sender.run_rank, receiver.run_rank
        self._n_sent[src, dst] += 1
        nth = self._n_sent[src, dst]
        told = f"message {nth} from rank {src} to rank {dst}"
        is_small = message.data.nbytes <= self._world.eager_bytes
        if dst in self.died_s and is_small:
            self._record("Lost", f"{told} was lost: rank {dst} was down", now_s)
        elif any(p.drops and p.is_between(src, dst, now_s) for p in self._partitions):
            self._record("Lost", f"{told} was lost: they were cut off from each other", now_s)
        elif Drop(src, dst, nth) in self._faults.events:
            self._record("Drop", f"{told} was dropped", now_s)
        else:
            return self._fate_on_the_way(src, dst, nth, told, now_s)
        self._n_lost[src, dst] += 1
        return Fate(is_lost=True)

    def _fate_on_the_way(self, src: int, dst: int, nth: int, told: str, now_s: float) -> Fate:
        is_doubled = Duplicate(src, dst, nth) in self._faults.events
        if is_doubled:
            self._record("Duplicate", f"{told} was delivered twice", now_s)
        late_s = 0.0
        for event in self._faults.events:
            if isinstance(event, Delay) and (event.src, event.dst, event.nth) == (src, dst, nth):
                self._record("Delay", f"{told} was held up for {event.by_s:g} s", now_s)
                late_s += event.by_s
        return Fate(is_doubled=is_doubled, late_s=late_s)

    def held_back_s(
        self, sender: MessagingCommunicator, receiver: MessagingCommunicator, start_s: float
    ) -> float:
        """Return for how long a message that leaves now waits for the end of a partition."""
        src, dst = sender.run_rank, receiver.run_rank
        goes_s = start_s
        for part in sorted(self._partitions, key=lambda part: part.from_s):
            if not part.drops and part.is_between(src, dst, goes_s):
                goes_s = part.until_s
        return goes_s - start_s

    # Moments

    def _begin(self, event: SlowLink | Partition) -> None:
        """Write down that something slower, or a gap, begins, if anybody is left to notice."""
        if all(flow.finished for flow in self._world.flows.values()):
            return
        until = "" if math.isinf(event.until_s) else f" until {event.until_s:g} s"
        if isinstance(event, SlowLink):
            text = (
                f"messages from rank {event.src} to rank {event.dst} took {event.factor:g} times "
                f"as long{until}"
            )
        else:
            ranks = ", ".join(map(str, event.group))
            who = f"rank {ranks} was" if len(event.group) == 1 else f"ranks {ranks} were"
            text = f"{who} cut off from the others{until}"
        self._record(type(event).__name__, text, event.from_s)

    def _crash(self, event: Crash) -> None:
        """End a rank where it is, unless it has returned."""
        world, rank, now_s = self._world, event.rank, event.at_s
        flows = [flow for flow in world.flows.values() if flow.rank == rank and not flow.finished]
        if not flows:
            return
        text = f"rank {rank} crashed at {now_s:g} s of virtual time"
        where = describe.where(flows[0])
        if world.losses is not None:
            self._record("Crash", f"{text}; {where}", now_s, rank)
            killed = WorkerKilled(f"{text}; {where}", rank=rank)
            failure = Failure.of(killed, rank, now_s)
            world.losses.lose(failure, event.restart_at_s)
            return
        take_out(world, flows, now_s)
        self.died_s[rank] = now_s
        n_lost = sum(each.is_unread for flow in flows for each in flow.unsettled)
        n_lost += sum(_forget(group, rank, world) for group in world.everybody.below())
        lost = f"; {n_lost} unread message{'s' * (n_lost != 1)} went with it" if n_lost else ""
        self._record("Crash", f"{text}; {where}{lost}", now_s, rank)
        if event.restart_at_s is not None:
            self._at(event.restart_at_s, rank, partial(self._restart, event.restart_at_s, rank))
        else:
            error = WorkerKilled(f"{text}, as the schedule of faults says; {where}", rank=rank)
            world.failure = Failure.of(error, rank, now_s)

    def _restart(self, now_s: float, rank: int) -> None:
        """Call a dead rank's function again."""
        del self.died_s[rank]
        self.reborn.add(rank)
        self._world.restart(rank, now_s)
        self._record("Restart", f"rank {rank} was started again", now_s, rank)

    def tell(self, error: RunError) -> None:
        """Add to an error what had gone wrong until then, and how to have it again."""
        lines = [f"  at {fault.time_s:.6g} s: {fault.text}" for fault in self.happened]
        if len(lines) > _MOST_TOLD:
            lines[_MOST_TOLD:] = [f"  and {len(lines) - _MOST_TOLD:,} more"]
        head = "faults that had happened:" if lines else "no fault had happened yet"
        text = [error.args[0], *self._waited_for(), head, *lines]
        error.args = ("\n".join([*text, f"the same again: faults={self._faults}"]),)

    def _waited_for(self) -> Iterator[str]:
        """Say who waits for somebody whose message was lost; at most some."""
        flows = [flow for flow in self._world.flows.values() if flow.open_parts]
        yield from islice(self.lost_for(flows), _MOST_TOLD)

    def lost_for(self, flows: Sequence[Flow]) -> Iterator[str]:
        """Say of some flows that wait which messages they wait for that were lost."""
        for (src, dst), n_lost in sorted(self._n_lost.items()):
            if any(flow.rank == dst and _listens(flow, src) for flow in flows):
                many = "a message" if n_lost == 1 else f"{n_lost} messages"
                yield f"{many} from rank {src} to rank {dst}, which waits for it, had been lost"


def _listens(flow: Flow, src: int) -> bool:
    heard = flow.hears
    return heard is not None and (heard == ANY or flow.comm.group.members[heard] == src)


def _forget(group: Group, rank: int, world: EventLoop) -> int:
    """Take out of a group what a dead rank had in its memory; return how many messages it had."""
    if rank not in group.members:
        return 0
    old = group.comms[group.members.index(rank)]
    if old in group.meeting.inside:
        group.meeting.inside.remove(old)
        del group.meeting.offers[old.rank]
    for comm in group.comms:  # what waited at this rank until its receive was posted
        sent = comm.inbox.pop(old.rank, deque())
        comm.inbox[old.rank] = deque(message for message in sent if message.arrived_s < math.inf)
    n_lost = 0
    for messages in old.inbox.values():
        waiting = [message for message in messages if message.arrived_s == math.inf]
        n_lost += len(messages) - len(waiting)
        messages.clear()
        messages.extend(waiting)
    old.posted.clear()
    if old.message is not None:  # it was on its way to a receive that had been posted
        n_lost, old.message = n_lost + 1, None
    if group is world.everybody:
        old.nic.forget()
        world.nics[rank] = Nic(rank, world)
        new = type(old)(group, old.rank, world)
        new.inbox, new.flow, new.awaited_by = old.inbox, old.flow, old.awaited_by
        group.comms[old.rank] = new
    return n_lost
