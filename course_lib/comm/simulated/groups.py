"""What the ranks of one communicator have in common: its name, its members, where they meet."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm import collective_order
from course_lib.comm.communicator import WORLD
from course_lib.comm.errors import RunError, SharedMemoryFull
from course_lib.comm.meetings import other_requests, other_verbs, repeated
from course_lib.comm.memory import available_bytes
from course_lib.comm.messages import Tag
from course_lib.comm.simulated.log import Mail
from course_lib.comm.wait_graph import quoted

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop
    from course_lib.comm.simulated.messaging import MessagingCommunicator

__all__ = ["Group", "Meeting"]


class Meeting:
    """A verb that all ranks of a communicator enter together: who is in, and with what.

    Attributes
    ----------
    inside : list of MessagingCommunicator
        Who has entered, in that order.
    verbs : dict of int to str
        What each has called, by rank.
    offers : dict of int to Any
        What each brought, by rank.
    results : list
        What each takes with it, by rank; from when the last one has entered.
    error : RunError or None
        What all raise instead.
    """

    __slots__ = ("error", "inside", "offers", "results", "verbs")

    def __init__(self) -> None:
        self.inside: list[MessagingCommunicator] = []
        self.verbs: dict[int, str] = {}
        self.offers: dict[int, Any] = {}
        self.results: Sequence[Any] = ()
        self.error: RunError | None = None

    def enter(
        self,
        comm: "MessagingCommunicator",
        verb: str,
        offer: Any,
        conclude: Callable[[dict[int, Any]], Sequence[Any]],
    ) -> Any:
        """Wait until all ranks are in; return what was concluded for this one.

        ``conclude`` is called by the last one, with what each rank brought; it returns what each
        takes with it.
        """
        flow = comm.flow
        flow.begin(comm, verb)
        if comm.n_refused < len(comm.group.refusals):  # it comes late
            comm.n_refused += 1
            raise repeated(comm.group.refusals[comm.n_refused - 1])
        self.verbs[comm.rank] = verb
        self.offers[comm.rank] = offer
        if len(self.offers) == comm.size:  # the last one, and so the latest
            self._conclude(comm.group, conclude)
            comm.group.meeting = Meeting()
            for comm_inside in self.inside:
                comm_inside.flow.wake(flow.now_s)
        else:
            self.inside.append(comm)
            flow.open_parts += 1
        flow.end(None)
        if self.error is not None:
            raise repeated(self.error)
        return self.results[comm.rank]

    def leave(self, comm: "MessagingCommunicator") -> None:
        """Take out a rank that waits here no longer."""
        self.inside.remove(comm)
        del self.offers[comm.rank], self.verbs[comm.rank]

    def _conclude(
        self, group: "Group", conclude: Callable[[dict[int, Any]], Sequence[Any]]
    ) -> None:
        self.error = other_verbs(self.verbs, group.members, group.name)
        if self.error is None:
            try:
                self.results = conclude(self.offers)
            except RunError as error:
                self.error = error.with_traceback(None)


class Group:
    """One communicator, seen from above.

    Attributes
    ----------
    name : str
        What traces call it.
    told : str
        What errors add to a verb's name: nothing where it is the communicator of the whole run.
    members : sequence of int
        The rank in the whole run of each rank.
    parent : Group or None
        What it was split from, or started from.
    children : dict of str to Group
        By name, what was split from it, and what was started from it and is not over.
    comms : list of MessagingCommunicator
        By rank.
    was_started : bool
        Whether it was made for a function, and not split from another.
    mail : Mail or None
        The part of the log that its messages go to.
    meeting : Meeting
        The one that is now filling.
    refusals : list of RunError
        Of each meeting that could not be because a rank had returned, what all others raise.
    listeners : dict of MessagingCommunicator to None
        Who has ever waited to hear from anybody; some may still.
    n_running : int
        How many ranks have yet to return from the function that it was made for; 0 where it was
        split from another.
    lost : set of int
        Its ranks, in the whole run, that have been lost (in a run with ``survive=True``).
    """

    def __init__(
        self,
        name: str,
        members: Sequence[int],
        parent: "Group | None",
        mail: Mail | None,
        n_running: int,
    ) -> None:
        self.name = name
        self.told = "" if name == WORLD else f" on {quoted(name)}"
        self.members = members
        self.parent = parent
        self.children: dict[str, Group] = {}
        self.comms: list[MessagingCommunicator] = []
        self.mail = mail
        self.meeting = Meeting()
        self.refusals: list[RunError] = []
        self.listeners: dict[MessagingCommunicator, None] = {}
        self.was_started = n_running > 0
        self.n_running = n_running
        self.lost: set[int] = set()
        if parent is not None:
            parent.children[name] = self

    def divide(
        self, world: "EventLoop", number: int, offers: dict[int, tuple[int | None, int]]
    ) -> "list[MessagingCommunicator | None]":
        """Make a group of each color; return each rank's communicator."""
        parts: dict[int, list[tuple[int, int]]] = {}
        for rank, (color, key) in offers.items():
            if color is not None:
                parts.setdefault(color, []).append((key, rank))
        mine: list[MessagingCommunicator | None] = [None] * len(self.comms)
        for color in sorted(parts):
            ranks = [rank for _, rank in sorted(parts[color])]
            name = f"{self.name}/split {number} color {color}"
            members = [self.members[rank] for rank in ranks]
            group = world.open(name, members, self, n_running=0)
            for rank, comm in zip(ranks, group.comms, strict=True):
                comm.flow = self.comms[rank].flow
                mine[rank] = comm
        return mine

    def share(self, asked: dict[int, tuple[tuple[int, ...], np.dtype[Any]]]) -> list[NDArray[Any]]:
        """Make the array of zeros that all ranks have asked for; each gets a view of it."""
        shape, dtype = asked[0]
        if error := other_requests(asked, self.members, self.name):
            raise error
        try:
            array = np.zeros(shape, dtype)
        except (MemoryError, ValueError) as error:
            n_bytes = math.prod(shape) * dtype.itemsize
            raise SharedMemoryFull(
                f"shared_array needs {n_bytes:,} bytes of shared memory, {available_bytes():,} "
                "bytes of memory are free; use a smaller array, or close other programs"
            ) from error
        return [array.view() for _ in asked]

    def unread(self) -> Iterator[tuple[int, int, Tag]]:
        """List (src, dst, tag) of the messages that lie in inboxes, here and below."""
        for comm in self.comms:
            for messages in comm.inbox.values():
                for message in messages:
                    yield message.sender.run_rank, comm.run_rank, message.sent.tag
        for child in self.children.values():
            yield from child.unread()

    def below(self) -> "Iterator[Group]":
        """List it and all that come from it."""
        yield self
        for child in self.children.values():
            yield from child.below()

    def out_of_step(self) -> Iterator[str]:
        """Say of each communicator, here and below, in which collectives its ranks were last."""
        yield collective_order.out_of_step(
            [comm._entered_with(comm._last_stamp) for comm in self.comms]
        )
        for child in self.children.values():
            yield from child.out_of_step()

    def is_busy(self) -> bool:
        """Say whether a function is still running here or below."""
        return self.n_running > 0 or any(child.is_busy() for child in self.children.values())

    def close(self) -> None:
        """Let go of all communicators, here and below: they and this refer to each other."""
        for comm in self.comms:
            comm.awaited_by.clear()
            comm.inbox.clear()
            comm.posted.clear()
        self.comms.clear()
        self.listeners.clear()
        self.meeting = Meeting()
        for child in self.children.values():
            child.close()
