"""The event loop: who runs next, and how the run ends."""

import ctypes
from heapq import heappop

from greenlet import GreenletExit, getcurrent, greenlet

from course_lib.comm.errors import SimulationError
from course_lib.comm.failures import Failure
from course_lib.comm.job import Job
from course_lib.comm.messages import Tag
from course_lib.comm.shipping import pack_call
from course_lib.comm.simulated.communicator import SimulatedCommunicator
from course_lib.comm.simulated.log import Log
from course_lib.comm.simulated.networks import Network
from course_lib.comm.simulated.switching import switch_to
from course_lib.comm.simulated.watchdog import TimeIsUp

__all__ = ["World"]

_MOST_REFUSALS = 1_000


class World:
    """All ranks of one run, and the heap of those that can go on.

    Attributes
    ----------
    ranks : list of SimulatedCommunicator
        By rank.
    heap : list of (float, int)
        (clock in virtual seconds, rank) of every rank that can go on and is not running.
    loop : greenlet
        Where ``run`` runs; a rank that ends, or finds the heap empty, switches there.
    in_barrier : list of SimulatedCommunicator
        Who has entered the barrier that is now filling.
    failure : Failure or None
        The first exception that left a rank's function.
    """

    def __init__(self, job: Job, network: Network) -> None:
        self.size = job.workers
        self.seed = job.seed
        self.eager_bytes = job.eager_bytes
        self.log = Log() if job.trace else None
        self.alpha_s = network.latency_s
        self.beta_s_per_byte = network.beta_s_per_byte
        self.flops_per_s = network.speeds(job.workers)
        self.packed_call = pack_call(job.fn, job.args)
        self.heap = [(0.0, rank) for rank in range(job.workers)]
        self.loop: greenlet = getcurrent()
        self.in_barrier: list[SimulatedCommunicator] = []
        self.failure: Failure | None = None
        self.time_is_up = False
        self.ending = False
        self.ranks = [SimulatedCommunicator(rank, self) for rank in range(job.workers)]

    def run(self) -> bool:
        """Run all ranks until they have returned.

        Returns
        -------
        bool
            False if it ended because no rank could go on, or because one failed.
        """
        for comm in self.ranks:
            switch_to(comm.thread)  # begin all of them from here: their stacks must not pile up
        while self.heap and self.failure is None:
            _, rank = heappop(self.heap)
            switch_to(self.ranks[rank].thread)
            if self.time_is_up:
                raise TimeIsUp
        return all(comm.finished for comm in self.ranks)

    def virtual_time_s(self) -> float:
        """Return the latest clock of all ranks."""
        return max(comm.now_s for comm in self.ranks)

    def unreceived(self) -> list[tuple[int, int, Tag]]:
        """List (src, dst, tag) of the messages that lie in letter boxes."""
        return [
            (letter.src, comm.rank, letter.sent.tag)
            for comm in self.ranks
            for letters in comm.inbox.values()
            for letter in letters
        ]

    def close(self) -> None:
        """Refuse all further verbs: the wall time is over. Called from the watchdog's thread."""
        self.time_is_up = True
        for comm in self.ranks:
            comm.caller = None

    def end(self) -> None:
        """End the ranks that are still asleep, so that their ``finally`` blocks run."""
        self.ending = True
        for comm in self.ranks:
            comm.caller = None
        asleep = [comm.thread for comm in self.ranks if not comm.thread.dead]
        try:
            while asleep:
                asleep[-1].throw(GreenletExit)
                if asleep[-1].dead:
                    asleep.pop()
                else:
                    _leave_behind(asleep.pop())
        finally:  # also when interrupted
            for thread in asleep:
                _leave_behind(thread)

    def refuse(self, comm: SimulatedCommunicator, verb: str) -> None:
        """Say why ``verb`` cannot be called from here, or go on ending a rank that will not end."""
        here = getcurrent()
        if here is comm.thread:
            comm.refusals += 1
            while comm.refusals > _MOST_REFUSALS:  # it swallows its own end: it is put to sleep
                here.parent.switch()
            raise GreenletExit if self.ending else TimeIsUp
        if any(other.caller for other in self.ranks):
            raise SimulationError(
                f"{verb}() of rank {comm.rank} was called from another thread, greenlet or rank "
                "than its own; on the simulator a rank is one flow of control: call verbs only "
                "from the function that run was given",
                rank=comm.rank,
            )
        raise SimulationError(
            f"rank {comm.rank} called {verb}() after its run was over", rank=comm.rank
        )


def _leave_behind(thread: greenlet) -> None:
    """Keep a rank that could not be ended for ever: collecting it would try once more to end it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thread))
