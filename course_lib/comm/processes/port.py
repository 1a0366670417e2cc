"""Everything of one rank that goes out or comes in: it moves messages on, or waits for news.

A rank has one port. Its communicators share the rings, and the flows of control that it has started
share the port: one flow at a time moves messages, and of those that wait one sleeps on the rank's
bell and wakes the others when it rings. A flow takes messages of its own communicator; if one of
another communicator is in the way, and nobody waits for that, it is set aside.
"""

import time
from collections.abc import Iterable, Set
from itertools import count

from course_lib.comm.errors import PeerFinishedError
from course_lib.comm.processes.channels import Channels
from course_lib.comm.processes.crew import Crew
from course_lib.comm.processes.flows import Call, Flow
from course_lib.comm.processes.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.transfers import Receiving, Sending

__all__ = ["POLL_S", "Port"]

POLL_S = 100e-6
"""How long a rank stays awake for news: a few times what waking up would take."""
_NOTHING: frozenset[int] = frozenset()


class Port(Crew):
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
    """

    def __init__(self, rank: int, channels: Channels) -> None:
        super().__init__(rank, channels.size, channels.board)
        self.outlets = channels.outlets(rank)
        self.inlets = channels.inlets(rank)
        self.numbers = count(1)
        self._mailboxes = channels.mailboxes
        self.mailbox = channels.mailboxes[rank]
        self._watched = False

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
                going.advance(0)
            if going.done and coming is None:
                return  # copied into the ring at once, as most small messages are
        flow.coming = coming
        try:
            while not self._step(flow, call, going, coming):
                pass
        finally:
            flow.coming = None

    def _step(
        self, flow: Flow, call: Call, going: Sending | None, coming: Receiving | None
    ) -> bool:
        """Move both a step on, or wait for news; return whether both are done."""
        src = NOBODY if coming is None or coming.done else coming.inlet.src
        dst = NOBODY if going is None or going.done else going.outlet.dst
        with self.turn:
            news, head, tail, accepted, stalled = self.mailbox.look(src, dst, flow.number)
            moved, done = False, True
            if going is not None and dst >= 0:
                going.outlet.tail = tail
                moved, done = going.advance(accepted), going.done
            if coming is not None and src >= 0:
                coming.inlet.head = head
                moved = coming.advance(self._wanted(flow, src)) or moved
                done = done and coming.done
            if moved or done:
                self._went_on(flow)
            elif stalled:
                self._make_room()
            else:
                if going is not None and not (going.begun or going.outlet.busy):
                    going.outlet.stall()
                self._rest(flow, call.still(src, dst), news)
        return done

    def first_arrived(self, flow: Flow, call: Call, channel: int, members: Iterable[int]) -> int:
        """Wait for a message from any of ``members``; return who sent the first."""
        while True:
            with self.turn:
                news, stalled = self._look_everywhere()
                src = self._earliest(flow, channel, members)
                if src is not None:
                    self._went_on(flow)
                    return src
                if stalled:
                    self._make_room()
                else:
                    self._rest(flow, call, news)

    def _earliest(self, flow: Flow, channel: int, members: Iterable[int]) -> int | None:
        arrived = []
        for src in members:
            inlet = self.inlets[src]
            while not inlet.parcels.get(channel) and not inlet.busy:
                header = inlet.peek() if inlet.between_messages else None
                if header is not None and header.channel == channel:
                    arrived.append((header.posted_s, src))
                    break
                if header is not None and header.channel in self._wanted(flow, src):
                    break
                if not inlet.set_aside():
                    break
            if parcels := inlet.parcels.get(channel):
                arrived.append((parcels[0].header.posted_s, src))
        return min(arrived)[1] if arrived else None

    def _wanted(self, flow: Flow, src: int) -> Set[int]:
        """List the channels on which other flows wait for ``src``: they take what comes there."""
        if len(self.flows) == 1:
            return _NOTHING
        others = (other.coming for other in self.flows.values() if other is not flow)
        return {c.channel for c in others if c is not None and c.inlet.src == src and not c.done}

    def _look_everywhere(self) -> tuple[int, bool]:
        news, heads, stalled = self.mailbox.look_everywhere()
        for src, inlet in self.inlets.items():
            inlet.head = heads[src]
        return news, stalled

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

    # Waiting

    def _rest(self, flow: Flow, call: Call, news: int) -> None:
        """Wait for something new since ``news``: awake for a moment, then asleep."""
        if not flow.idle_since_s:
            flow.idle_since_s = time.perf_counter()
        if not flow.polled and len(self.flows) == 1:
            flow.polled = not self.mailbox.poll(news, POLL_S)
            return  # to look once more, under the lock, before falling asleep
        if (gone := self._gone(call)) and self.mailbox.look(NOBODY, NOBODY, 0)[0] == news:
            text = call.explain_gone(self.rank, gone, flow.entered())
            raise PeerFinishedError(text, rank=self.rank)
        flow.call = call
        self._board.waits(self.rank, flow.number, call.verb, call.src, call.dst)
        if self._watched:
            self._doze(flow)
        elif len(self.flows) == 1:
            self.mailbox.sleep(news, call.src, call.dst)
        else:
            self._watch(news)
        flow.call = None
        self._board.goes_on(self.rank, flow.number)

    def _watch(self, news: int) -> None:
        """Sleep on the bell for all flows."""
        self._watched = True
        self.turn.release()
        self.mailbox.sleep(news, ANYONE, ANYONE)
        self.turn.acquire()
        self._watched = False
        self._wake_flows()

    def _wake_flows(self) -> None:
        super()._wake_flows()
        if self._watched:
            self.mailbox.tell_owner()

    def _gone(self, call: Call) -> list[int]:
        """List the ranks that have returned, and left nothing, without which it cannot end."""
        if call.src == ANYONE:
            peers = list(call.missing)
        else:
            peers = [peer for peer in (call.src, call.dst, *call.missing) if peer >= 0]
        # What is still in a ring may stand behind a message that another flow is receiving.
        left = [peer for peer in self.mailbox.finished(peers) if self.inlets[peer].is_empty]
        return [] if call.src == ANYONE and len(left) < len(peers) else left
