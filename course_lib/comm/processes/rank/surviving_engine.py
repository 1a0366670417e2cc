"""The progress engine of a rank in a run that survives the loss of others.

Before it moves anything it looks at the roll. When that says that another rank is lost, its rings
to and from that rank begin anew, whoever was in the middle of a message with it raises, and whoever
names it later is told once. ``run`` has the contract.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING, Any

from course_lib.comm.communicator import WORLD
from course_lib.comm.errors import CollectiveMismatchError, PeerFinishedError, RankLost
from course_lib.comm.losses import all_in_its_collectives, rank_lost
from course_lib.comm.processes.memory.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.memory.renewed import RenewedChannels, RenewedInlet, RenewedOutlet
from course_lib.comm.processes.memory.renewed_receiving import RenewedReceiving
from course_lib.comm.processes.memory.roll import Life
from course_lib.comm.processes.memory.transfers import Sending
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.processes.rank.progress import Left, ProgressEngine
from course_lib.comm.wait_graph import GROUP_VERBS
from course_lib.trace.recorder import Recorder

if TYPE_CHECKING:
    from course_lib.comm.communicator import Communicator

__all__ = ["PassOver", "SurvivingEngine"]


class PassOver(Exception):
    """What ``recv_any`` was about to take is not for it: its sender is lost, or it is debris."""


class SurvivingEngine(ProgressEngine):
    """A rank's ends of all rings, some of whose other ends may be lost.

    Parameters
    ----------
    rank : int
        Who it belongs to.
    channels : RenewedChannels
        The run's rings and mailboxes.

    Attributes
    ----------
    incarnation : int
        How often the rank has been started again.
    lost : set of int
        All ranks that have ever been lost, this one too if it was.
    members : dict of str to sequence of int
        The ranks of each communicator.
    recorder : Recorder or None
        Is told when this rank talks to another incarnation, from when there is one.
    """

    may_give_up = True

    def __init__(self, rank: int, channels: RenewedChannels) -> None:
        super().__init__(rank, channels)
        self.incarnation = channels.incarnation
        self.numbers = count(1 + (self.incarnation << 40))
        self.members: dict[str, tuple[int, ...]] = {}
        self.recorder: Recorder | None = None
        self._roll, self._version = channels.roll, channels.version
        self._met, self._gone_for_good = channels.met, channels.gone
        self.lost = {peer for peer, incarnation in enumerate(self._met) if incarnation}
        self._untold: set[int] = set()
        self._n_heard = 0
        self._heard: Counter[int] = Counter()  # the how-manieth news each loss was
        self._began: dict[Flow, int] = {}  # after how many news what a flow is in began

    def record_with(self, recorder: Recorder) -> None:
        """Tell a recorder, from now on, with which incarnations this rank talks."""
        self.recorder = recorder
        for peer, incarnation in enumerate(self._met):
            if incarnation and peer != self.rank:
                recorder.note_incarnation(peer, incarnation)

    # News

    def notice(self) -> None:
        """Look at the roll; the calling flow has the turn, or is alone."""
        version = self._roll.version
        if version == self._version:
            return
        self._version = version
        for peer in self.outlets:
            incarnation, life = self._roll.life(peer)
            following = incarnation + (life is not Life.THERE)
            if life is Life.GONE:
                self._gone_for_good.add(peer)
            if following > self._met[peer]:
                self._part_from(peer, following)
        self._wake_all()

    def _part_from(self, peer: int, following: int) -> None:
        """Begin anew with the incarnation that follows one that is lost."""
        self._met[peer] = following
        self._n_heard += 1
        self._heard[peer] = self._n_heard
        self.lost.add(peer)
        self._untold.add(peer)
        self._given_up.pop(peer, None)
        outlet, inlet = self.outlets[peer], self.inlets[peer]
        assert isinstance(outlet, RenewedOutlet)
        assert isinstance(inlet, RenewedInlet)
        outlet.begin_anew(self.incarnation, following, may_write=True)
        inlet.begin_anew(following, self.incarnation)
        if self.recorder is not None:
            self.recorder.note_incarnation(peer, following)

    def _finished(self, peers: list[int]) -> list[int]:
        found = super()._finished(peers)
        return [peer for peer in found if self.mailbox.finished_in(peer) == self._met[peer] + 1]

    def finish(self) -> None:
        """Tell all others that this incarnation will neither send nor receive any more."""
        for peer in self.outlets:
            self._mailboxes[peer].tell_finished(self.rank, self.incarnation + 1)

    # Who needs whom

    def losses_heard(self) -> int:
        """Return of how many losses this rank has heard, those of now among them."""
        with self.turn:
            self.notice()
            return self._n_heard

    def lost_for(self, comm: str, peers: Iterable[int]) -> set[int]:
        """Return those of some ranks that are lost for who names them now."""
        lost = self._untold | self._gone_for_good if comm == WORLD else self.lost
        return lost.intersection(peers)

    def lost_together(self, comm: "Communicator") -> set[int]:
        """Return who is lost of those that take part in the collectives a function is in."""
        return self.lost & all_in_its_collectives(comm)

    def error(self, verb: str, comm: str, lost: set[int]) -> RankLost:
        """Return the error that tells of a loss."""
        self.heard_of(comm, min(lost))
        return rank_lost(self.rank, verb, comm, lost)

    def heard_of(self, comm: str, rank: int) -> None:
        """Note that this rank knows that another was lost."""
        if comm == WORLD:
            self._untold.discard(rank)

    def _refuse_lost(self, flow: Flow, call: Call, *, stamped: bool) -> None:
        """Raise if what a flow is in, or begins, needs a rank that is lost."""
        if not self.lost:
            return
        began = self._began.get(flow, self._n_heard)
        named = {peer for peer in (call.src, call.dst) if peer >= 0}
        # What recv_any has found is of the new incarnation, which so tells of the loss.
        lost = set() if call.verb == "recv_any" else self.lost_for(call.comm, named)
        lost |= {peer for peer in named if self._heard[peer] > began}
        together: set[int] = set()
        if call.verb in GROUP_VERBS or (stamped and flow.poster is not None):
            together = self.lost.intersection(self.members[call.comm])
        elif flow.poster is None and flow.comm is not None:
            together = self.lost_together(flow.comm)
        if lost and not together and call.verb == "recv_any":
            raise PassOver
        lost |= together
        if lost:
            raise self.error(call.verb, call.comm, lost)

    def _refuse_silence(self, call: Call) -> None:
        """Raise if nobody is left who could send, and one of them is lost."""
        lost = (self._gone_for_good if call.comm == WORLD else self.lost).intersection(call.missing)
        if not lost:
            return
        left = [peer for peer in call.missing if peer not in lost]
        over = [p for p in self._finished(left) if self.inlets[p].is_empty]
        if len(over) == len(left):
            raise self.error(call.verb, call.comm, lost)

    # What it does before it moves anything

    def drive(self, flow: Flow, call: Call, going: Sending | None, coming: Any) -> None:
        """Move both messages on, until they are done or a rank that is needed is lost."""
        self._began[flow] = self._n_heard if call.losses is None else call.losses
        try:
            super().drive(flow, call, going, coming)
            while coming is not None and self._is_debris(coming):
                self._drop(coming)
                if call.verb == "recv_any":
                    raise PassOver
                super().drive(flow, call, None, coming)
        finally:
            self._began.pop(flow, None)

    def _is_debris(self, coming: RenewedReceiving) -> bool:
        """Say whether a message was sent in a collective that will never be ended."""
        refused = isinstance(coming.refusal, CollectiveMismatchError)
        return refused and coming.is_of_another_time and bool(
            self.lost.intersection(coming.members)
        )  # fmt: skip

    def _drop(self, debris: RenewedReceiving) -> None:
        """Receive the next message instead; one whose sender did not wait was told as sent."""
        if self.recorder is not None and not debris.waited:
            self.recorder.receives.append((debris.comm, debris.src, None, None))
        debris.renew()

    def _begin(self, flow: Flow, call: Call, going: Sending) -> None:
        self.notice()
        self._refuse_lost(flow, call, stamped=going.is_stamped)
        super()._begin(flow, call, going)

    def _step_in_turn(self, flow: Flow, call: Call, going: Sending | None, coming: Any) -> bool:
        self.notice()
        stamped = any(each is not None and each.is_stamped for each in (going, coming))
        open_call = call
        if going is not None and going.done:
            open_call = call.still(call.src, NOBODY)
        if coming is not None and coming.done:
            open_call = open_call.still(NOBODY, open_call.dst)
        self._refuse_lost(flow, open_call, stamped=stamped)
        return super()._step_in_turn(flow, call, going, coming)

    def _leave(self, left: Left) -> None:
        began = self._began.get(left.flow, 0)
        if left.going is not None and self._heard[left.going.dst] <= began:
            super()._leave(left)  # else the ring has begun anew
        coming: Any = left.coming
        if coming is None or coming.header is None or coming.done:
            return
        if self._heard[coming.src] <= began:
            coming.leave(left.error)
            coming.inlet.left = coming

    def _push_on(self, dst: int) -> None:
        super()._push_on(dst)
        if dst in self._given_up:  # nobody will ask for it: the receiver is to set it aside
            self.outlets[dst].stall()

    def _look_everywhere(self) -> tuple[int, bool]:
        self.notice()
        seen = super()._look_everywhere()
        inlet: Any
        for inlet in self.inlets.values():
            inlet.drain()
        return seen

    def _rest(self, flow: Flow, call: Call, news: int, *, begun: bool = False) -> None:
        if call.src == ANYONE:
            self._refuse_lost(flow, call, stamped=False)
            self._refuse_silence(call)
        elif begun and self._is_cut(call.src):
            begun = False
        try:
            super()._rest(flow, call, news, begun=begun)
        except PeerFinishedError:  # it may have gone on without this rank because of a loss
            self.notice()
            self._refuse_lost(flow, call, stamped=False)
            if call.src == ANYONE:
                self._refuse_silence(call)
            raise

    def _is_cut(self, src: int) -> bool:
        """Say whether a rank has returned that had given up the message it was sending."""
        return len(self._finished([src])) > 0 and self.inlets[src].is_empty
