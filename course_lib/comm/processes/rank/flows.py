"""The flows of control of one rank, and how those that wait are woken.

Every flow that has to wait sleeps by itself, and is woken by name when it can go on: a rank may
have thousands of them, and a message is for one.
"""

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from course_lib.comm.communicator import in_another_thread
from course_lib.comm.errors import RankLost
from course_lib.comm.frames import frames_of_stack, place, user_frame
from course_lib.comm.processes.memory.mailbox import NOBODY
from course_lib.comm.processes.memory.wait_board import WaitBoard
from course_lib.comm.processes.rank.drivers import Drivers
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.processes.returned import Standing
from course_lib.comm.wait_graph import WaitingRank, deadlock, quoted

if TYPE_CHECKING:
    from course_lib.comm.processes.rank.posted import Posted

__all__ = ["Flows"]

_WORTH_NOTING_S = 1e-4


class Flows(ABC):
    """A rank's function and what it has started: one of them at a time moves messages.

    How messages move is for the world to say, in the class that derives from this one.

    Parameters
    ----------
    rank, size : int
        Whose they are, and how many ranks there are.
    board : WaitBoard
        Where is written what they wait for.

    Attributes
    ----------
    turn : Lock
        Held by the flow that moves messages.
    drivers : Drivers
        The threads for messages that were begun.
    flows : dict of Flow
        By number; more than one only while something that was started still runs.
    """

    def __init__(self, rank: int, size: int, board: WaitBoard) -> None:
        self.rank = rank
        self.size = size
        self.turn = threading.Lock()
        self.drivers = Drivers()
        self.flows: dict[int, Flow] = {}
        self._board = board
        self._free: list[int] = []  # numbers of flows that are over
        self._of_thread: dict[int, Flow] = {}
        self._dozing: dict[Flow, None] = {}  # in the order in which they fell asleep

    # For the world

    @abstractmethod
    def drive(self, flow: Flow, call: Call, going: Any, coming: Any) -> None:
        """Send ``going`` and receive ``coming``, where they are not None; wait until it is done."""

    @abstractmethod
    def first_arrived(self, flow: Flow, call: Call, channel: int, members: Iterable[int]) -> int:
        """Wait for a message from any of ``members``; return who sent the first."""

    @abstractmethod
    def finish(self) -> None:
        """Tell all others that this rank will neither send nor receive any more."""

    def connect(self) -> None:  # noqa: B027 - most worlds have nothing to do
        """Meet the others, before the function is called."""

    @abstractmethod
    def give_up(self, number: int, gone: dict[int, str]) -> None:
        """Tell a flow that waits which functions have returned of the ranks that it waits for."""

    def standing(self) -> Standing:
        """Say which functions run, and what they wait for; another thread may ask."""
        flows = list(self.flows.values())
        calls = {flow.number: flow.call for flow in flows if flow.call is not None}
        started = {name: n for flow in flows for name, n in flow.started.copy().items()}
        functions = {flow.name: flow.over for flow in flows if flow.poster is None}
        return Standing(functions, started, calls)

    def losses_heard(self) -> int | None:
        """Return of how many losses this rank has heard; None in a run that survives none."""
        return None

    def is_consequence(self, error: BaseException) -> bool:  # noqa: ARG002
        """Tell whether an exception only shows that another rank has failed."""
        return False

    # The flows

    def open_flow(self, name: str, poster: Flow | None = None) -> Flow:
        """Make one more flow, for the function that is given communicator ``name``.

        With a ``poster`` it is for messages that this one has begun there.
        """
        with self.turn:
            number = self._free[0] if self._free else len(self.flows)
            self._board.open(self.rank, number)
            if self._free:
                heappop(self._free)
            flow = self.flows[number] = Flow(number, name, self.turn, poster)
            return flow

    def enter(self, flow: Flow) -> None:
        """Say that the calling thread is ``flow``."""
        flow.thread = threading.get_ident()
        self._of_thread[flow.thread] = flow

    def close_flow(self, flow: Flow) -> None:
        """Forget a flow that is over, and wake those that wait for that."""
        with self.turn:
            flow.over = True
            del self.flows[flow.number]
            self._of_thread.pop(flow.thread, None)
            heappush(self._free, flow.number)
            for waiter in flow.waiters:
                self._wake(waiter)
            if len(self.flows) == 1:  # the rank's function, which may wait for all
                self._wake(next(iter(self.flows.values())))
            self._board.ends(self.rank, flow.number)

    def this_flow(self) -> Flow | None:
        """Return the flow that the calling thread is; None if it is a stranger."""
        return self._of_thread.get(threading.get_ident())

    def flow_that_asks(self, verb: str, name: str) -> Flow:
        """Return the flow that calls ``verb`` of something begun on ``name``, if it may."""
        flow = self.this_flow()
        if flow is None:
            raise in_another_thread(self.rank, verb, name)
        if flow.comm is not None:
            flow.comm._no_compute(verb)
        return flow

    def settle(self, posted: "Posted[Any]") -> None:
        """Say that a message that was begun is over, and wake those that wait for it."""
        with self.turn:
            posted.is_over()
            for waiter in posted.waiters:
                self._wake(waiter)

    def wait_for(self, flow: Flow, other: "Flow | Posted[Any]") -> None:
        """Let ``flow`` wait until another of this rank is over, or a message that was begun."""
        with self.turn:
            flow.awaits = other
            self._refuse_circle(flow)
            other.waiters.append(flow)
            self._wait_until(flow, other.name, lambda: other.over)
            flow.awaits = None

    @staticmethod
    def settle_all(flow: Flow) -> None:
        """Let a flow, whose function has returned, wait for the messages that it has begun."""
        for posted in list(flow.unsettled):
            with suppress(RankLost):  # nobody has asked
                posted.wait()

    def wait_for_all(self, flow: Flow) -> None:
        """Let ``flow``, the rank's function, which has returned, wait until all others are over."""
        with self.turn:
            flow.over = True
            self._wait_until(flow, "", lambda: len(self.flows) == 1)
        self.drivers.close()

    def _refuse_circle(self, flow: Flow) -> None:
        """Refuse to wait for something that waits, perhaps by others, for this flow."""
        circle = [flow]
        while (following := circle[-1].awaits) is not None and following is not flow:
            circle.append(following)
        if following is None:
            return
        stacks = sys._current_frames()
        told = [
            WaitingRank(
                self.rank, "wait", f"wait() for its started function {quoted(one.awaits.name)}",
                place(user_frame(frames_of_stack(stacks.get(one.thread)))), (self.rank,),
                started=one.name,
            )
            for one in circle
            if one.awaits is not None
        ]  # fmt: skip
        flow.awaits = None
        raise deadlock([told], eager_bytes=0)

    def _wait_until(self, flow: Flow, what: str, met: Callable[[], bool]) -> None:
        while not met():
            flow.call = Call("wait", comm=what)
            self._board.waits(self.rank, flow.number, "wait", NOBODY, NOBODY)
            self._doze(flow)
            flow.call = None
        self._board.goes_on(self.rank, flow.number)

    def _doze(self, flow: Flow) -> None:
        """Sleep until somebody wakes this flow."""
        self._dozing[flow] = None
        flow.woken.wait()

    def _wake(self, flow: Flow) -> None:
        if flow in self._dozing:
            del self._dozing[flow]
            # Said here, so that nobody takes it for asleep meanwhile.
            self._board.goes_on(self.rank, flow.number)
            flow.woken.notify()

    def _wake_all(self) -> None:
        for flow in list(self._dozing):
            self._wake(flow)

    def _went_on(self, flow: Flow) -> None:
        flow.polled = False
        if flow.idle_since_s:
            now_s = time.perf_counter()
            if now_s - flow.idle_since_s > _WORTH_NOTING_S:
                flow.waits.append((flow.idle_since_s, now_s))
            flow.idle_since_s = 0.0
