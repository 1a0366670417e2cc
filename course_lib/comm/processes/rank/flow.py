"""What a rank does at one time: a flow of control, and the verb that it is in."""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from course_lib.comm.collective_order import Entered
from course_lib.comm.communicator import WORLD, Communicator
from course_lib.comm.processes.memory.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.memory.wait_board import call_text
from course_lib.comm.wait_graph import GROUP_VERBS, quoted

__all__ = ["NO_THREAD", "Call", "Flow"]

NO_THREAD = -1
"""The thread of every flow in a copy of a worker (``os.fork``), which is no rank."""

_POSTED = ("isend(", "irecv(")


class Call(NamedTuple):
    """A verb that a flow is in, as the learner wrote it; ranks are those of the whole run."""

    verb: str
    src: int = NOBODY
    dst: int = NOBODY
    tag: Any = None
    missing: Sequence[int] = ()
    """All who are awaited: in a barrier by the one who counts, in ``recv_any`` the others."""
    comm: str = WORLD
    """The communicator's name; in ``wait`` what is waited for: a function's communicator, a message
    that was begun, as a call, or empty for all functions."""
    losses: int | None = None
    """Of how many losses the rank had heard when a message was begun that moves later: it belongs
    to the incarnation of then. None for a verb that moves at once."""

    def still(self, src: int, dst: int) -> "Call":
        """Return the part of it that is still open."""
        return self._replace(src=src, dst=dst)

    def written(self, known: str) -> str:
        """Write it with what it waits for, and on which communicator if not on the ``known``."""
        if self.verb == "wait":
            what = self.comm or "all that it has started"
            if self.comm and not self.comm.startswith(_POSTED):
                what = f"its started function {quoted(self.comm)}"
            return f"wait() for {what}"
        on = "" if self.comm == known else f" on {quoted(self.comm)}"
        return call_text(self.verb, self.src, self.dst, self.tag) + on

    def explain_gone(
        self, rank: int, gone: list[int], entered: Entered | None, function: str = ""
    ) -> str:
        """Say that ``rank`` waits in it, perhaps in a collective, for ranks that have returned.

        ``function`` names what has returned, if the rank lives on.
        """
        peer = min(gone)
        hint = "check that every send has its recv, on all ranks and in every step"
        if self.verb in GROUP_VERBS:
            whom, how = f"for rank {peer}", f"without calling {self.verb}()"
            hint = f"every rank must call {self.verb}() equally often"
        elif self.src == ANYONE:
            whom, how = "for a message from anybody", "and sent nothing more"
        elif self.src in gone:
            whom, how = f"for a message from rank {peer}", "and sent nothing more"
        else:
            whom, how = f"to send to rank {peer}", "and will not receive it"
        within = ""
        if entered is not None and entered.site is not None:
            within = f" of {entered.told()}"
            hint = f"every rank must call {entered.site.name}() equally often"
        if self.comm.rpartition("/")[2].startswith("start "):
            hint += "; if it has never started this: every rank must call start() equally often"
        on = "" if self.comm == WORLD else f" on {quoted(self.comm)}"
        who = "but every other rank" if self.src == ANYONE else "which"
        from_ = f" from {quoted(function)}" if function not in ("", WORLD) else ""
        return (
            f"rank {rank} waits in {self.verb}(){on}{within} {whom}, {who} has already returned"
            f"{from_} {how}; {hint}"
        )


class Flow:
    """One flow of control of a rank: a thread that may be in one verb at a time.

    Parameters
    ----------
    number : int
        0 for the rank's function, else the lowest that no other has.
    name : str
        The communicator it was given.
    turn : Lock
        Held by the flow that moves messages.
    poster : Flow or None, default: None
        What has begun the messages that this flow drives; None where it runs a function.

    Attributes
    ----------
    thread : int
        The thread's identifier; 0 before it has one.
    comm : Communicator or None
        The one that it was given.
    call : Call or None
        What it waits in.
    going : Sending or None
        The message it sends, while it is in the verb.
    coming : Receiving or None
        The message it receives.
    waits : list of (float, float)
        When it has waited, on the computer's clock.
    idle_since_s : float
        When it began to wait; 0 if it does not.
    polled : bool
        Whether it has stayed awake for news for a moment, in vain.
    woken : Condition
        What it sleeps on.
    awaits : Flow or Posted or None
        Another flow of the rank, or a message that was begun, if it waits for that to be over.
    waiters : list of Flow
        Those that wait for this one.
    unsettled : dict of Posted to None
        The messages that its function has begun and not yet waited for, in that order.
    over : bool
        Whether its function has returned.
    started : dict of str to int
        How many functions it has started, by the communicator.
    gone : dict of int to str
        The ranks whose partner of this flow has returned, and the function that has; what is known.
    """

    __slots__ = (
        "awaits", "call", "coming", "comm", "going", "gone", "idle_since_s", "name", "number",
        "over", "polled", "poster", "started", "thread", "unsettled", "waiters", "waits", "woken",
    )  # fmt: skip

    def __init__(
        self, number: int, name: str, turn: threading.Lock, poster: "Flow | None" = None
    ) -> None:
        self.number = number
        self.name = name
        self.poster = poster
        self.thread = 0
        self.comm: Communicator | None = None
        self.call: Call | None = None
        self.going: Any = None
        self.coming: Any = None
        self.waits: list[tuple[float, float]] = []
        self.idle_since_s = 0.0
        self.polled = False
        self.woken = threading.Condition(turn)
        self.awaits: Any = None
        self.waiters: list[Flow] = []
        self.unsettled: dict[Any, None] = {}
        self.over = False
        self.started: dict[str, int] = {}
        self.gone: dict[int, str] = {}

    def entered(self) -> Entered | None:
        """Say in which collective it is, or who waits for it there; another thread may ask."""
        if self.comm is not None:
            return self.comm._entered()
        poster = self.poster
        return None if poster is None or poster.awaits is None else poster.entered()
