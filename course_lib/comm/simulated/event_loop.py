"""The event loop: who runs next, and how the run ends."""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from threading import get_ident
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, getcurrent, greenlet

from course_lib.comm.ambient.surroundings import Belongings, Surroundings
from course_lib.comm.collective_order import Sites
from course_lib.comm.communicator import WORLD, in_another_thread
from course_lib.comm.errors import SimulationError
from course_lib.comm.failures import Failure
from course_lib.comm.interrupts import Interrupts
from course_lib.comm.job import Job
from course_lib.comm.messages import Tag
from course_lib.comm.shipping import load_call, pack_call
from course_lib.comm.simulated import partings
from course_lib.comm.simulated.communicator import SimulatedCommunicator
from course_lib.comm.simulated.endings import kill
from course_lib.comm.simulated.faults import Faults, SlowLink
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.groups import Group
from course_lib.comm.simulated.log import Log
from course_lib.comm.simulated.losses import Losses
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.nics import Nic
from course_lib.comm.simulated.returned import bring_values, check_travels
from course_lib.comm.simulated.routed import RoutedCommunicator
from course_lib.comm.simulated.routes import Routes
from course_lib.comm.simulated.surviving import SurvivingCommunicator
from course_lib.comm.simulated.switching import switch
from course_lib.comm.simulated.watchdog import TimeIsUp

if TYPE_CHECKING:
    from course_lib.comm.simulated.fault_injector import FaultInjector

__all__ = ["EventLoop"]

_MOST_REFUSALS = 1_000


class EventLoop:
    """All ranks of one run, their flows of control, and the heap of those that can go on.

    Attributes
    ----------
    flows : dict of (int, int) to Flow
        By (rank, number): the function of every rank, and what has been started and still runs.
    heap : list of (float, int, int, greenlet)
        (clock in virtual seconds, rank, number, flow) of every flow that can go on and is not
        running; and of NICs that have messages to send, which come before the rank's flows.
    loop : greenlet
        Where ``run`` runs; a flow that ends, or finds the heap empty, switches there.
    thread : int
        The thread in which all of this runs.
    newborn : list of Flow
        What has just been started, and has to begin from the loop.
    everybody : Group
        The communicator that ``run`` hands out.
    failure : Failure or None
        The first exception that left a function.
    routes : Routes or None
        The ways of messages, where the network is no plain star or there are faults.
    mishaps : FaultInjector or None
        The faults, if there are any.
    losses : Losses or None
        The ranks that are lost, where a run survives that.
    surroundings : Surroundings
        What ranks find around them; there while the world runs.
    interrupts : Interrupts
        Whether Ctrl-C has been pressed; there while the world runs.
    belongings : list of list
        By rank, what it has put aside of what a process keeps.
    n_open : list of int
        By rank, how many of its flows have not returned.
    returned : set of int
        The ranks whose function, and all that they had started, has returned.
    """

    surroundings: Surroundings
    interrupts: Interrupts

    def __init__(self, job: Job, network: Network, faults: Faults | None = None) -> None:
        self.size = job.workers
        self.thread = get_ident()
        self.seed = job.settings.seed
        self.eager_bytes = job.settings.eager_bytes
        self.log = Log() if job.settings.trace else None
        self.alpha_s = network.latency_s
        self.beta_s_per_byte = network.beta_s_per_byte
        self.rates = network.rates
        self.flops_per_s = network.speeds(job.workers)
        service = network.service
        self.service = service and [service.times(rank) for rank in range(job.workers)]
        self.routes: Routes | None = None
        self.mishaps: FaultInjector | None = None
        self.losses = Losses(self, job.settings.restart) if job.settings.survive else None
        self._kind = self._choose_kind(network, faults)
        self.packed_call = pack_call(job.fn, job.args)
        self.heap: list[tuple[float, int, int, Any]] = []
        self.loop: greenlet = getcurrent()
        self.failure: Failure | None = None
        self.time_is_up = False
        self.ending = False
        self.nics = [Nic(rank, self) for rank in range(job.workers)]
        self.n_flows = [0] * job.workers
        self.n_open = [0] * job.workers
        self.returned: set[int] = set()
        self.belongings: list[Belongings] = [[] for _ in range(job.workers)]
        self.flows: dict[tuple[int, int], Flow] = {}
        self.newborn: list[Flow] = []
        self.latest_end_s = 0.0
        self.sites = Sites()
        self.left_unread: list[tuple[int, int, Tag]] = []
        self.left_out_of_step: list[str] = []
        self.everybody = self.open(WORLD, range(job.workers), None, n_running=job.workers)
        for comm in self.everybody.comms:
            self.add_flow(comm, self._call, 0.0)

    def _choose_kind(self, network: Network, faults: Faults | None) -> type[SimulatedCommunicator]:
        """Take the simplest communicator that does what is asked for; make its routes."""
        if faults is not None or not network.is_star or self.losses is not None:
            events = [] if faults is None else faults.events
            links = [event for event in events if isinstance(event, SlowLink)]
            self.routes = Routes(network, self.size, links)
        if self.losses is not None:
            return SurvivingCommunicator
        return SimulatedCommunicator if self.routes is None else RoutedCommunicator

    def open(
        self, name: str, members: Sequence[int], parent: Group | None, *, n_running: int
    ) -> Group:
        """Make a communicator; its ranks' ends have yet to be given to flows."""
        mail = None if self.log is None else self.log.open_mail(name)
        group = Group(name, members, parent, mail, n_running)
        group.comms += [self._kind(group, rank, self) for rank in range(len(members))]
        return group

    def add_flow(
        self,
        comm: MessagingCommunicator,
        body: Callable[[MessagingCommunicator], Any],
        now_s: float,
    ) -> Flow:
        """Make one more flow of a rank, which will call ``body(comm)``."""
        number = self.n_flows[comm.run_rank]
        self.n_flows[comm.run_rank] += 1
        self.n_open[comm.run_rank] += 1
        comm.flow = self.flows[comm.run_rank, number] = Flow(comm, number, body, now_s)
        return comm.flow

    def _call(self, comm: MessagingCommunicator) -> Any:
        """Call what ``run`` was given; each rank loads its own copy."""
        fn, args = load_call(self.packed_call, comm.rank)
        self.surroundings.seed_again()  # loading may have drawn, and only for the first rank
        value = fn(comm, *args)
        if self.losses is not None:
            check_travels(value, comm.rank)  # else it is lost, now and not in the end
        return value

    def run(self) -> bool:
        """Run all ranks until all their functions have returned.

        Returns
        -------
        bool
            False if it ended because no flow could go on, or because one failed.
        """
        for flow in self.flows.values():
            flow.switch()  # begin all of them from here: their stacks must not pile up
        self.heap += [(0.0, rank, 0, self.flows[rank, 0]) for rank in range(self.size)]
        heapify(self.heap)  # faults may be there already
        while self._goes_on() and (self.heap or partings.tell_of_functions(self)):
            heappop(self.heap)[3].switch()
            while self.newborn:
                self.newborn.pop().switch()
            if self.time_is_up:
                raise TimeIsUp
        well = all(flow.finished for flow in self.flows.values())
        if well:
            bring_values(self)
        return well

    def _goes_on(self) -> bool:
        if self.failure is not None and self.losses is not None:
            self.losses.lose(self.failure)
        return self.failure is None

    def restart(self, rank: int, now_s: float) -> None:
        """Call a rank's function again, on the communicator that is there for it."""
        self.n_flows[rank] = 0
        self.belongings[rank].clear()
        comm = self.everybody.comms[rank]
        flow = self.add_flow(comm, self._call, now_s)
        self.newborn.append(flow)
        heappush(self.heap, (now_s, rank, 0, flow))

    def look(self, flow: Flow) -> None:
        """Let a flow raise that is in a verb in which it waits for a rank that has returned."""
        partings.look(self, flow, flow.done_s)

    def has_returned(self, flow: Flow) -> None:
        """Forget a started flow, and its communicator when all is over that used it.

        With the last flow of a rank, those are told that still wait for it.
        """
        self.n_open[flow.rank] -= 1
        if not self.n_open[flow.rank]:
            self.returned.add(flow.rank)
            partings.tell(self, flow.rank, flow.now_s)
            if self.losses is not None:
                self.losses.tell_listeners(flow.now_s)
        group = flow.group
        group.n_running -= 1
        self.latest_end_s = max(self.latest_end_s, flow.now_s)
        if flow.number > 0:
            del self.flows[flow.rank, flow.number]
        while group.parent is not None and not group.is_busy():
            parent = group.parent
            if group.was_started:
                del parent.children[group.name]
                self._remember(group)
                group.close()
            group = parent

    def _remember(self, group: Group) -> None:
        """Keep what is to be told of a communicator, and of those below, that is over."""
        self.left_unread += group.unread()
        if not self.left_out_of_step:  # one is told, and nothing may grow with communicators
            self.left_out_of_step += filter(None, group.out_of_step())

    def virtual_time_s(self) -> float:
        """Return the latest clock of all flows."""
        return max([self.latest_end_s, *(flow.now_s for flow in self.flows.values())])

    def unreceived(self) -> list[tuple[int, int, Tag]]:
        """List (src, dst, tag) of the messages that lie in inboxes."""
        return [*self.left_unread, *self.everybody.unread()]

    def out_of_step(self) -> list[str]:
        """Say of each communicator in which collectives its ranks were last, if in different."""
        return [*self.everybody.out_of_step(), *self.left_out_of_step]

    def n_events(self) -> int:
        """Count the events so far, or without a trace unread messages; another thread may ask."""
        if self.log is not None:
            return self.log.n_events()
        comms = list(self.everybody.comms)
        return sum(len(messages) for comm in comms for messages in list(comm.inbox.values()))

    def close(self) -> None:
        """Refuse all further verbs: the wall time is over. Called from the watchdog's thread."""
        self.time_is_up = True
        for flow in list(self.flows.values()):
            flow.caller = None

    def end(self) -> None:
        """End the flows that are still asleep, so that their ``finally`` blocks run."""
        self.ending = True
        kill(list(self.flows.values()))

    def refuse(self, flow: Flow, comm: MessagingCommunicator, verb: str) -> None:
        """Say why ``verb`` cannot be called from here, or go on ending a flow that will not end."""
        here = getcurrent()
        if get_ident() != self.thread:
            raise in_another_thread(flow.rank, verb, comm.name)
        if isinstance(here, Flow) and here.caller is None:
            here.refusals += 1
            while here.refusals > _MOST_REFUSALS:  # it swallows its own end: it is put to sleep
                switch(here, here.parent)
            raise GreenletExit if self.ending else TimeIsUp
        if not any(other.caller for other in self.flows.values()):
            raise SimulationError(
                f"rank {flow.rank} called {verb}() after its run was over", rank=flow.rank
            )
        if isinstance(here, Flow) and here.rank == flow.rank:
            over = ", whose function has returned," if flow.finished else ""
            raise RuntimeError(
                f"rank {flow.rank} called {verb}() of {flow.group.name!r}{over} in the function "
                f"that runs on {here.group.name!r}; a function that was started uses the "
                "communicator that it was given as its first argument, or one split from that"
            )
        raise RuntimeError(
            f"{verb}() of rank {flow.rank} was called by another rank, or in another flow "
            "of control, than its own; on the simulator a rank is one flow of control, and so is "
            "every function that it starts: call verbs only from the function that the "
            "communicator was given to"
        )
