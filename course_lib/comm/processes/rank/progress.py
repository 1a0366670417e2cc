"""Everything of one rank that goes out or comes in: it moves messages on, or waits for news.

A rank has one progress engine. Its communicators share the rings, and the flows of control that it
has started share the engine: one flow at a time moves messages. A flow takes messages of its own
communicator; if one of another communicator is in the way, and nobody waits for that, it is set
aside.
"""

import time
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from course_lib.comm.errors import PeerFinishedError, RankLost
from course_lib.comm.processes.memory.layout import Channels
from course_lib.comm.processes.memory.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.memory.transfers import Receiving, Sending
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.processes.rank.waiting import WaitingFlows
from course_lib.comm.processes.returned import in_vain

__all__ = ["POLL_S", "Left", "ProgressEngine"]

POLL_S = 100e-6
"""How long a rank stays awake for news: a few times what waking up would take."""


class Left(NamedTuple):
    """What a flow has left in the middle, and why."""

    flow: Flow
    going: Sending | None
    coming: Receiving | None
    error: Exception


class ProgressEngine(WaitingFlows):
    """A rank's ends of all rings, its mailbox, and its flows.

    Parameters
    ----------
    rank : int
        Who it belongs to.
    channels : Channels
        The run's rings and mailboxes.

    Attributes
    ----------
    numbers : iterator of int
        Of the rank's messages.
    may_give_up : bool
        Whether it may give up a message half-way to a rank that lives on.
    """

    may_give_up = False

    def __init__(self, rank: int, channels: Channels) -> None:
        super().__init__(rank, channels)
        self.outlets = channels.outlets(rank)
        self.numbers = count(1)
        self._mailboxes = channels.mailboxes
        self._given_up: dict[int, Sending] = {}

    def finish(self) -> None:
        """Tell all others that this rank will neither send nor receive any more."""
        for peer in self.outlets:
            self._mailboxes[peer].tell_finished(self.rank)

    # Messages

    def drive(
        self, flow: Flow, call: Call, going: Sending | None, coming: Receiving | None
    ) -> None:
        """Move both messages on, a step of each in turn, and wait while neither can move."""
        if going is not None:
            with self.turn:
                self._begin(flow, call, going)
            if going.done and coming is None:
                return  # copied into the ring at once, as most small messages are
        try:
            if len(self.flows) == 1:  # nobody can be started before this is over
                while not self._step(flow, call, going, coming):
                    pass
                return
            self._enter_verb(flow, going, coming)
            try:
                while not self._step(flow, call, going, coming):
                    pass
            finally:
                self._leave_verb(flow, going, coming)
        except (PeerFinishedError, RankLost) as error:
            with self.turn:
                self._leave(Left(flow, going, coming, error))
            raise

    def _begin(self, flow: Flow, call: Call, going: Sending) -> None:  # noqa: ARG002
        """Put a message into its ring, as far as there is room at once."""
        going.advance(0)

    def _leave(self, left: Left) -> None:
        """Have the rest of a message follow that is given up half-way."""
        if left.going is not None and left.going.is_half_way:
            self._given_up[left.going.dst] = left.going

    def give_up(self, number: int, gone: dict[int, str]) -> None:
        """Tell a flow that waits which functions have returned of the ranks that it waits for.

        Without the turn, which a flow that is alone keeps while it sleeps.
        """
        flow = self.flows.get(number)
        if flow is not None:
            flow.gone = gone
            self._n_finished = -1  # as if it were news that a rank has returned: all look again
            self.mailbox.tell_owner()

    def _step(
        self, flow: Flow, call: Call, going: Sending | None, coming: Receiving | None
    ) -> bool:
        """Move both a step on, or wait for news; return whether both are done."""
        with self.turn:
            return self._step_in_turn(flow, call, going, coming)

    def _step_in_turn(
        self, flow: Flow, call: Call, going: Sending | None, coming: Receiving | None
    ) -> bool:
        src = NOBODY if coming is None or coming.done else coming.inlet.src
        dst = NOBODY if going is None or going.done else going.outlet.dst
        news, head, tail, stalled = self.mailbox.look(src, dst)
        moved, done = False, True
        if going is not None and dst >= 0:
            going.outlet.tail = tail
            self._push_on(dst)
            accepted = self._board.accepted(self.rank, flow.number)
            moved, done = going.advance(accepted), going.done
        if coming is not None and src >= 0:
            coming.inlet.head = head
            moved = coming.advance(self._readers[src].keys()) or moved
            if coming.done:
                self._readers[src].pop(coming.channel, None)
            done = done and coming.done
        if moved or done:
            self._went_on(flow)
            self._share()
        elif stalled:
            self._make_room()
        else:
            if going is not None and dst >= 0:
                going.ask_for_room()
            begun = coming is not None and coming.header is not None and not coming.done
            self._rest(flow, call.still(src, dst), news, begun=begun)
        return done

    def first_arrived(self, flow: Flow, call: Call, channel: int, members: Iterable[int]) -> int:
        """Wait for a message from any of ``members``; return who sent the first."""
        with self.turn:
            self._listeners[flow] = None
        try:
            while True:
                with self.turn:
                    news, stalled = self._look_everywhere()
                    src = self._earliest(channel, members)
                    self._share()
                    if src is not None:
                        self._went_on(flow)
                        return src
                    if stalled:
                        self._make_room()
                    else:
                        self._rest(flow, call, news)
        finally:
            self._leave_verb(flow, None, None)

    def _earliest(self, channel: int, members: Iterable[int]) -> int | None:
        arrived = []
        for src in members:
            inlet = self.inlets[src]
            while not inlet.parcels.get(channel) and not inlet.busy:
                header = inlet.peek() if inlet.between_messages else None
                if header is not None and header.channel == channel:
                    arrived.append((header.posted_s, src))
                    break
                if header is not None and header.channel in self._readers[src]:
                    break
                if not inlet.set_aside():
                    break
            if parcels := inlet.parcels.get(channel):
                arrived.append((parcels[0].header.posted_s, src))
        return min(arrived)[1] if arrived else None

    def _look_everywhere(self) -> tuple[int, bool]:
        """Note how far all rings are; return (count of news, stalled)."""
        news, heads, tails, n_finished, stalled = self.mailbox.look_everywhere()
        for peer, inlet in self.inlets.items():
            inlet.head = heads[peer]
            self.outlets[peer].tail = tails[peer]
        for dst in list(self._given_up):
            self._push_on(dst)
        if n_finished != self._n_finished:
            self._n_finished = n_finished
            self._wake_all()
        return news, stalled

    def _push_on(self, dst: int) -> None:
        """Put the rest of a message into its ring that was given up half-way: others follow it."""
        if self._given_up and dst in self._given_up:
            self._given_up[dst].advance(0)
            if not self._given_up[dst].is_half_way:
                del self._given_up[dst]

    def _make_room(self) -> None:
        """Set messages aside that lie in the way of ranks that want to send more.

        A large message stays if its sender has nothing else to do than to wait for its receive.
        """
        self.mailbox.take_stalled()
        self._look_everywhere()  # whoever stalls from now on says so again
        for inlet in self.inlets.values():
            while not inlet.busy:
                header = inlet.peek() if inlet.between_messages else None
                if header is not None and header.waits and not header.beside:
                    break
                if not inlet.set_aside():
                    break
            inlet.publish(0)
        self._wake_all()

    # Waiting

    def _rest(self, flow: Flow, call: Call, news: int, *, begun: bool = False) -> None:
        """Wait for something new since ``news``: awake for a moment, then asleep.

        What it has ``begun`` to receive comes to its end, whoever else has returned.
        """
        if not flow.idle_since_s:
            flow.idle_since_s = time.perf_counter()
        if not flow.polled and len(self.flows) == 1:
            flow.polled = not self.mailbox.poll(news, POLL_S)
            return  # to look once more, under the lock, before falling asleep
        if (
            not begun
            and (gone := self._gone(call))
            and self.mailbox.look(NOBODY, NOBODY)[0] == news
        ):
            text = call.explain_gone(self.rank, gone, flow.entered())
            raise PeerFinishedError(text, rank=self.rank, peer=min(gone))
        if flow.gone:
            known, flow.gone = flow.gone, {}
            if gone := in_vain(call, known):
                text = call.explain_gone(self.rank, gone, flow.entered(), known[min(gone)])
                raise PeerFinishedError(text, rank=self.rank, peer=min(gone))
        flow.call = call
        self._board.waits(self.rank, flow.number, call.verb, call.src, call.dst)
        if len(self.flows) == 1:
            self.mailbox.sleep(news, call.src, call.dst)
        elif self._watcher is not None:
            self._parked[flow] = None
            self._doze(flow)
        else:
            self._watch(flow, news)
        flow.call = None
        self._board.goes_on(self.rank, flow.number)

    def _watch(self, flow: Flow, news: int) -> None:
        """Sleep on the bell for all flows, unless there is more than ``news`` already."""
        if self._hear() != news:
            return
        self._watcher = flow
        self.turn.release()
        self.mailbox.sleep(news, ANYONE, ANYONE)
        self.turn.acquire()
        self._watcher = None
        self._hear()

    def _hear(self) -> int:
        """Wake those whom the news concern; return the count of them."""
        news, _ = self._look_everywhere()
        self._share()
        return news
