"""A flow of control: a function that runs in virtual time, with a clock of its own.

A rank's function is one flow; every function that it starts beside itself is one more. A flow is
in one verb at a time. The verb's parts (a send, a receive, or both at once) end at a known time as
soon as their messages have started; then the flow's clock goes to the end of the last part.
"""

from collections.abc import Callable
from contextlib import suppress
from heapq import heapify, heappop, heappush, heappushpop
from sys import modules
from typing import TYPE_CHECKING, Any, NoReturn

from greenlet import getcurrent, greenlet

from course_lib.comm.errors import RankLost, RunError
from course_lib.comm.failures import Failure
from course_lib.comm.messages import Tag
from course_lib.comm.simulated.switching import refuse_half_way, switch
from course_lib.comm.simulated.watchdog import TimeIsUp

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop
    from course_lib.comm.simulated.messaging import MessagingCommunicator
    from course_lib.comm.simulated.posted import Posted
    from course_lib.comm.simulated.started import Started

__all__ = ["Flow"]

_MOST_QUESTIONS = 100_000  # at one instant, before a rank that only asks is told that it waits


class Flow(greenlet):  # type: ignore[misc]
    """A greenlet with a clock (a thread of control, not one of the operating system's).

    Attributes
    ----------
    rank, number : int
        The rank of the whole run, and which of its flows this is: 0 is the rank's own function.
    group : Group
        Of the communicator that its function was given.
    caller : Flow or None
        The flow itself while verbs may be called, else None.
    now_s, posted_s : float
        Its clock, and what that was when the verb began.
    own : MessagingCommunicator
        The one that its function was given.
    comm : MessagingCommunicator
        The one whose verb it is in, or was in last; in ``wait``, the one of what it waits for.
    verb : str
        What it is in, or was in last; empty before the first.
    open_parts : int
        How many parts of that verb still wait for another flow.
    done_s : float
        The end of those of its parts that are settled.
    sends_to : int or None
        The rank of that communicator that has not yet posted the receive of what this one sends.
    awaits : Posted or None
        What it waits for in ``wait``, if that is a message.
    unsettled : dict of Posted to None
        The messages that it has begun and not yet waited for, in the order of their beginning.
    asks : callable or None
        Tells whether that is over now, while it lets others go on.
    waiters : list of Flow
        Who waits for it to return.
    error : RunError or None
        What its verb will raise when it goes on.
    of_rank : list
        What its rank has put aside that a process keeps, while none of its flows is running.
    """

    # Slots, because every message goes through them.
    __slots__ = (
        "asks", "awaits", "body", "caller", "comm", "done_s", "error", "finished", "group", "heap",
        "now_s", "number", "of_rank", "open_parts", "own", "posted_s", "rank",
        "refusals", "sends_to", "tag", "unsettled", "value", "verb", "waiters", "waits", "world",
    )  # fmt: skip

    def __init__(
        self,
        comm: "MessagingCommunicator",
        number: int,
        body: Callable[["MessagingCommunicator"], Any],
        now_s: float = 0.0,
    ) -> None:
        super().__init__(parent=comm.world.loop)
        self.world: EventLoop = comm.world
        self.heap = self.world.heap
        self.waits = None if self.world.log is None else self.world.log.waits
        self.rank = comm.run_rank
        self.of_rank = comm.world.belongings[comm.run_rank]
        self.number = number
        self.group = comm.group
        self.comm = self.own = comm
        self.body = body
        self.caller: Flow | None = self
        self.now_s = self.posted_s = self.done_s = now_s
        self.verb = ""
        self.tag: Tag = None
        self.open_parts = 0
        self.value: Any = None
        self.finished = False
        self.refusals = 0
        self.sends_to: int | None = None
        self.awaits: Posted[Any] | None = None
        self.unsettled: dict[Posted[Any], None] = {}
        self.asks: Callable[[], bool] | None = None
        self.waiters: list[Flow] = []
        self.error: RunError | None = None

    def run(self) -> None:
        """Live: begin, be back in the loop until it is this flow's turn, and call the function."""
        world = self.world
        try:
            switch(self, world.loop)
            self.value = self.body(self.comm)
            self._settle_all()
            self._return()
        except TimeIsUp:
            raise  # in the loop, which is this greenlet's parent
        except BaseException as error:
            if world.interrupts.have_raised(error):
                raise
            if self.number and type(error) is RankLost and world.losses is not None:
                self.error = error.with_traceback(None)  # its ``wait`` raises that
                self._return()
            elif not world.ending:
                world.failure = Failure.of(error, self.rank, self.now_s)
        finally:
            self.caller = None
            self.world.surroundings.put_aside(self.of_rank)  # what is its own ends with it
            # A circle of references, and perhaps large arrays in it.
            del self.body, self.comm, self.own

    def _settle_all(self) -> None:
        for posted in list(self.unsettled):
            with suppress(RankLost):  # nobody has asked
                posted.wait()

    def _return(self) -> None:
        self.finished = True
        for waiter in self.waiters:
            waiter.wake(self.now_s)
        self.world.has_returned(self)

    def begin(self, comm: "MessagingCommunicator", verb: str, tag: Tag = None) -> None:
        """Enter a verb, if this flow is the one that calls it."""
        if getcurrent() is not self.caller:
            self.world.refuse(self, comm, verb)
        stays_usual = comm._stays_usual and comm.flow is self  # else it waits for that flow
        if not stays_usual and "torch" in modules and self.world.surroundings.is_half_way():
            refuse_half_way(self.rank, verb)
        self.comm = comm
        self.verb = verb
        self.tag = tag
        self.posted_s = self.done_s = self.now_s

    def end(self, peer: int | None) -> None:
        """Let the clock go to the end of the verb, waiting for other flows if need be."""
        if self.open_parts:
            if self.world.returned:
                self.world.look(self)
            if self.open_parts:
                self._sleep()
            else:  # it has been given up
                self.advance(self.done_s)
        else:
            self.advance(self.done_s)
        if self.waits is not None and self.now_s > self.posted_s:
            self.waits.add(
                self.rank, self.waits_in, peer, self.posted_s, self.now_s, self.comm.name
            )
        if self.error is not None:
            self._raise()

    def _raise(self) -> NoReturn:
        error, self.error = self.error, None
        assert error is not None
        try:
            raise error
        finally:
            del error  # else it and this frame would hold each other

    def advance(self, to_s: float) -> None:
        """Move the clock on; let others run first if that makes one of them the smallest."""
        self.now_s = to_s
        own = (to_s, self.rank, self.number, self)
        smallest = heappushpop(self.heap, own)
        if smallest is not own:
            switch(self, smallest[3])

    def _sleep(self) -> None:
        """Let others run until one of them has completed the last open part."""
        if self.heap:
            switch(self, heappop(self.heap)[3])
        else:
            switch(self, self.world.loop)  # nobody can go on
        self.now_s = self.done_s

    def start_beside(self, other: "Flow") -> None:
        """Let another flow begin at this one's time; this one goes on first."""
        self.world.newborn.append(other)
        for flow in (self, other):
            heappush(self.heap, (flow.now_s, flow.rank, flow.number, flow))
        switch(self, self.world.loop)  # it begins from there: their stacks must not pile up

    def wait_for(self, other: "Flow") -> None:
        """Be in a verb, which has begun, until another flow has returned."""
        if not other.finished:
            other.waiters.append(self)
            self.open_parts += 1
        self.end(None)

    @property
    def waits_in(self) -> str:
        """The verb that the trace tells: of ``wait``, that of the message which was begun."""
        return self.verb if self.awaits is None else self.awaits.verb

    @property
    def hears(self) -> int | None:
        """The rank of the communicator that it waits to hear from, or ``ANY``."""
        return self.comm.listens_to if self.awaits is None else self.awaits.hears

    @property
    def sends(self) -> int | None:
        """The rank of the communicator that has yet to take what it waits to send."""
        return self.sends_to if self.awaits is None else self.awaits.sends_to

    def wait_for_message(self, posted: "Posted[Any]") -> None:
        """Be in ``wait``, which has begun, until a message is over."""
        if posted.open_parts:
            posted.waiters.append(self)
            self.open_parts += 1
        elif posted.done_s > self.done_s:
            self.done_s = posted.done_s
        self.end(posted.comm.group.members[posted.peer])

    def that_asks(self, verb: str) -> "Flow":
        """Return the flow of this rank that calls ``verb`` of what this flow has begun."""
        here = getcurrent()
        if not isinstance(here, Flow) or here.rank != self.rank:
            return self
        here.own._no_compute(verb)  # its own blocks, not those of who has begun it
        return here

    def poll(
        self, pending: "Posted[Any] | Started[Any]", is_over: Callable[[], bool],
        known_s: float | None = None,
    ) -> bool:  # fmt: skip
        """Ask in vain whether something is over: the second time at one instant, let time go on.

        Nothing can change before the next thing happens that is no other such question in vain; or
        before ``known_s``, when what was asked for will be over. If nothing will ever happen but
        by this rank itself it may ask again: False after so many times that it does nothing else.
        """
        if pending.asked_s < self.now_s:
            pending.asked_s, pending.n_asked = self.now_s, 1
            return True
        pending.n_asked += 1
        happens = [entry for entry in self.heap if not _asks_in_vain(entry[3])]
        following = min(happens, default=None)
        if known_s is not None and (following is None or known_s <= following[0]):
            self.advance(known_s)
        elif following is not None:
            self.heap.remove(following)
            heapify(self.heap)
            self.now_s = max(self.now_s, following[0])
            self.asks = is_over
            heappush(self.heap, (self.now_s, self.rank, self.number, self))
            switch(self, following[3])
            self.asks = None
        else:
            return pending.n_asked < _MOST_QUESTIONS
        return True

    def wake(self, done_s: float) -> None:
        """Settle one open part; another flow calls this. After the last one, go on."""
        if done_s > self.done_s:
            self.done_s = done_s
        self.open_parts -= 1
        if not self.open_parts:
            heappush(self.heap, (self.done_s, self.rank, self.number, self))
        elif self.world.returned:
            self.world.look(self)

    def give_up(self, error: RunError, now_s: float) -> None:
        """Settle all open parts with an error that the verb raises; another flow may call this."""
        self.error = error
        self.settle(now_s)

    def settle(self, now_s: float) -> None:
        """Settle all open parts. Another flow may call this, or this one, which then goes on."""
        self.open_parts = 0
        self.done_s = max(self.done_s, now_s)
        if self is not getcurrent():
            heappush(self.heap, (self.done_s, self.rank, self.number, self))


def _asks_in_vain(flow: greenlet) -> bool:
    return isinstance(flow, Flow) and flow.asks is not None and not flow.asks()
