"""The flows of control of one rank, and how those that wait are woken."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from course_lib.comm.processes.board import Board
from course_lib.comm.processes.flows import Call, Flow
from course_lib.comm.processes.mailbox import FLOWS, NOBODY

__all__ = ["Crew"]

_WORTH_NOTING_S = 1e-4


class Crew(ABC):
    """A rank's function and what it has started: one of them at a time moves messages.

    How messages move is for the world to say, in the class that derives from this one.

    Parameters
    ----------
    rank, size : int
        Whose they are, and how many ranks there are.
    board : Board
        Where is written what they wait for.

    Attributes
    ----------
    turn : Lock
        Held by the flow that moves messages.
    flows : dict of Flow
        By number; more than one only while something that was started still runs.
    """

    def __init__(self, rank: int, size: int, board: Board) -> None:
        self.rank = rank
        self.size = size
        self.turn = threading.Lock()
        self.flows: dict[int, Flow] = {}
        self._board = board
        self._changed = threading.Condition(self.turn)  # a flow has moved something, or has ended
        self._dozing: set[Flow] = set()

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

    def is_consequence(self, error: BaseException) -> bool:  # noqa: ARG002
        """Tell whether an exception only shows that another rank has failed."""
        return False

    # The flows

    def has_place(self) -> bool:
        """Tell whether one more flow may begin."""
        return len(self.flows) < FLOWS

    def open_flow(self, name: str) -> Flow:
        """Make a place for one more flow, which belongs to the calling thread until it has one."""
        with self.turn:
            number = next(n for n in range(FLOWS) if n not in self.flows)
            flow = self.flows[number] = Flow(number, name)
            self._board.goes_on(self.rank, number)
            return flow

    def close_flow(self, flow: Flow) -> None:
        """Give a flow's place back."""
        with self.turn:
            del self.flows[flow.number]
            self._wake_flows()
            self._board.ends(self.rank, flow.number)

    def this_flow(self) -> Flow | None:
        """Return the flow that the calling thread is; None if it is a stranger."""
        here = threading.get_ident()
        return next((flow for flow in list(self.flows.values()) if flow.thread == here), None)

    def wait_until(self, flow: Flow, call: Call, met: Callable[[], bool]) -> None:
        """Wait for something that another flow of this rank does."""
        with self.turn:
            while not met():
                self._board.waits(self.rank, flow.number, call.verb, NOBODY, NOBODY)
                flow.call = call
                self._doze(flow)
                flow.call = None
            self._board.goes_on(self.rank, flow.number)

    def _doze(self, flow: Flow) -> None:
        """Sleep until another flow of this rank has moved something."""
        self._dozing.add(flow)
        self._changed.wait()

    def _wake_flows(self) -> None:
        for flow in self._dozing:  # said here, so that nobody takes them for asleep meanwhile
            self._board.goes_on(self.rank, flow.number)
        self._dozing.clear()
        self._changed.notify_all()

    def _went_on(self, flow: Flow) -> None:
        flow.polled = False
        if flow.idle_since_s:
            now_s = time.perf_counter()
            if now_s - flow.idle_since_s > _WORTH_NOTING_S:
                flow.waits.append((flow.idle_since_s, now_s))
            flow.idle_since_s = 0.0
        if len(self.flows) > 1:
            self._wake_flows()
