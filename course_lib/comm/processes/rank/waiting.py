"""Which of a rank's flows waits for what, where messages go through rings: who is woken by news.

Of several flows that wait one sleeps on the rank's bell, and wakes the others when it rings.
"""

from course_lib.comm.processes.memory.layout import Channels
from course_lib.comm.processes.memory.mailbox import ANYONE
from course_lib.comm.processes.memory.rings import Inlet
from course_lib.comm.processes.memory.transfers import Receiving, Sending
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.processes.rank.flows import Flows

__all__ = ["WaitingFlows"]


class WaitingFlows(Flows):
    """The flows of a rank, and what those in a verb wait for.

    Parameters
    ----------
    rank : int
        Whose they are.
    channels : Channels
        The run's rings and mailboxes.

    Attributes
    ----------
    inlets : dict of int to Inlet
        Where messages come in, by their source.
    mailbox : Mailbox
        The rank's own.
    """

    def __init__(self, rank: int, channels: Channels) -> None:
        super().__init__(rank, channels.size, channels.board)
        self.inlets = channels.inlets(rank)
        self.mailbox = channels.mailboxes[rank]
        self._watcher: Flow | None = None  # of several flows the one that sleeps on the bell
        self._n_finished = 0
        # Of several flows those that are in a verb, by what they wait for.
        peers = [peer for peer in range(channels.size) if peer != rank]
        self._readers: dict[int, dict[int, Flow]] = {src: {} for src in peers}
        self._senders: dict[int, dict[Flow, Sending]] = {dst: {} for dst in peers}
        self._listeners: dict[Flow, None] = {}
        self._parked: dict[Flow, None] = {}

    def _enter_verb(
        self, flow: Flow, going: Sending | None, coming: Receiving | None
    ) -> None:  # fmt: skip
        with self.turn:
            if coming is not None:
                self._readers[coming.inlet.src][coming.channel] = flow
            if going is not None and not going.done:
                self._senders[going.dst][flow] = going

    def _leave_verb(
        self, flow: Flow, going: Sending | None, coming: Receiving | None
    ) -> None:  # fmt: skip
        """Let another flow listen for news, if it was this one that did."""
        with self.turn:
            if coming is not None:
                self._readers[coming.inlet.src].pop(coming.channel, None)
            if going is not None:
                self._senders[going.dst].pop(flow, None)
            self._listeners.pop(flow, None)
            if self._parked and self._watcher is None:
                self._wake(next(iter(self._parked)))

    def _share(self) -> None:
        """Wake those flows that can go on, as far as this rank has looked."""
        if not self._parked and self._watcher is None:
            return
        for src, readers in self._readers.items():
            if readers:
                self._wake_reader(self.inlets[src], readers)
        for senders in self._senders.values():
            for flow, going in senders.items():
                if going.can_advance(self._board.accepted(self.rank, flow.number)):
                    self._wake(flow)
        if self._listeners and any(i.parcels or not i.is_empty for i in self.inlets.values()):
            for flow in self._listeners:
                self._wake(flow)
        if self._n_finished:
            for flow in self.flows.values():
                if flow.call is not None and self._gone(flow.call):
                    self._wake(flow)  # to say so itself

    def _wake_reader(self, inlet: Inlet, readers: dict[int, Flow]) -> None:
        """Wake the flow that the next bytes in a ring are for, or one that sets them aside."""
        for channel in readers.keys() & inlet.parcels.keys():
            if inlet.parcels[channel][0].whole:
                self._wake(readers[channel])
        readable = inlet.readable()
        if readable in readers:
            self._wake(readers[readable])
        elif readable is not None and not inlet.busy:
            for reader in readers.values():
                if reader in self._parked or reader is self._watcher:
                    return self._wake(reader)

    def _wake(self, flow: Flow) -> None:
        if flow is self._watcher:
            self.mailbox.tell_owner()
        self._parked.pop(flow, None)
        super()._wake(flow)

    def _wake_all(self) -> None:
        if self._watcher is not None:
            self._wake(self._watcher)
        super()._wake_all()

    def _finished(self, peers: list[int]) -> list[int]:
        """List those of some ranks that have returned."""
        return self.mailbox.finished(peers)

    def _gone(self, call: Call) -> list[int]:
        """List the ranks that have returned, and left nothing, without which it cannot end."""
        if call.src == ANYONE:
            peers = list(call.missing)
        else:
            peers = [peer for peer in (call.src, *call.missing) if peer >= 0]
        if call.dst >= 0:  # first it sends, if it can: then that has been sent
            return self._finished([call.dst])
        # What is still in a ring may stand behind a message that another flow is receiving.
        left = [peer for peer in self._finished(peers) if self.inlets[peer].is_empty]
        return [] if call.src == ANYONE and len(left) < len(peers) else left
