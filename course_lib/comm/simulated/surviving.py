"""A simulated rank in a run that survives the loss of others: its verbs ask first who is lost.

Who is in a verb when a rank is lost is told by ``losses``. What this adds to a verb that begins is
a look at who is lost, and the removal of what interrupted collectives have left.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RankLost
from course_lib.comm.losses import rank_lost
from course_lib.comm.messages import Envelope, Tag
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.in_flight import InFlight
from course_lib.comm.simulated.messaging import MessagingCommunicator
from course_lib.comm.simulated.posted import Posted, PostedReceive, PostedSend
from course_lib.comm.simulated.routed import RoutedCommunicator

__all__ = ["SurvivingCommunicator"]

T = TypeVar("T")


class SurvivingCommunicator(RoutedCommunicator):
    """The end of a communicator whose peers may be lost and come back.

    Attributes
    ----------
    leaving : tuple of (InFlight, MessagingCommunicator, float) or None
        What it has sent last, to whom, and when that has left.
    """

    survives = True
    leaving: tuple[InFlight, MessagingCommunicator, float] | None = None

    @property
    def run_name(self) -> str:
        """A name that only this run has."""
        assert self.world.losses is not None
        return self.world.losses.run_name

    # Messages

    def _refuse_lost(self, verb: str, *peers: int) -> None:
        """Raise if a verb that begins needs somebody who is lost; peers are those it names."""
        self._check_flow(verb)
        losses = self.world.losses
        assert losses is not None
        if not losses.happened:
            return
        lost = losses.lost_for(self, tuple(self._members[peer] for peer in peers))
        lost = lost or losses.lost_together(self)
        if lost:
            losses.heard_of(self, min(lost))
            raise rank_lost(self.run_rank, verb, self.name, lost)
        for peer in peers:
            self._drop_debris(peer)

    def _drop_debris(self, src: int) -> None:
        """Drop what was sent in a collective that was interrupted: there will be no more here."""
        if not self.group.lost or self._stamp:
            return
        waiting = self.inbox.get(src, deque())
        for message in [each for each in waiting if each.stamp]:
            waiting.remove(message)

    def _transfer(
        self, message: InFlight, receiver: MessagingCommunicator, start_s: float
    ) -> float:
        free_s = super()._transfer(message, receiver, start_s)
        self.leaving = message, receiver, free_s
        return free_s

    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        self._refuse_lost("send", dst)
        super()._send(data, sent, dst)

    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        self._refuse_lost("recv", src)
        return super()._recv(src, out, op, tag)

    def _sendrecv(
        self, data: NDArray[Any], sending: Envelope, dst: int, src: int,
        out: NDArray[Any] | None, op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:  # fmt: skip
        self._refuse_lost("sendrecv", dst, src)
        return super()._sendrecv(data, sending, dst, src, out, op)

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        losses = self.world.losses
        assert losses is not None
        while True:
            self._refuse_lost("recv_any")
            for peer in range(self.size):
                self._drop_debris(peer)
            if (lost := losses.lost_senders(self)) and not any(self.inbox.values()):
                losses.heard_of(self, min(lost))
                raise rank_lost(self.run_rank, "recv_any", self.name, lost)
            try:
                src, data, sent = super()._recv_any()
            except RankLost:  # in the middle of its message: perhaps others send
                continue
            losses.heard_of(self, self._members[src])
            return src, data, sent

    # Messages that go on while the rank does other things

    def _isend(self, data: NDArray[Any], sent: Envelope, dst: int) -> Pending[None]:
        posted = PostedSend(self, dst, sent.tag, self.flow.now_s)
        if self._refused(posted):
            return posted
        del self.flow.unsettled[posted]
        return super()._isend(data, sent, dst)

    def _irecv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> Pending[tuple[NDArray[Any], Envelope]]:
        posted = PostedReceive(self, src, tag, self.flow.now_s, out, op)
        if self._refused(posted):
            posted.open_parts, posted.hears = 0, None
            return posted
        del self.flow.unsettled[posted]
        return super()._irecv(src, out, op, tag)

    def _refused(self, posted: Posted[Any]) -> bool:
        """Say whether what is begun is over at once, because its peer is lost."""
        losses = self.world.losses
        assert losses is not None
        peer = self._members[posted.peer]
        lost = losses.lost_for(self, (peer,)) or losses.lost_together(self)
        if lost:
            losses.heard_of(self, min(lost))
            posted.error = rank_lost(self.run_rank, posted.verb, self.name, lost)
            return True
        self._drop_debris(posted.peer)
        return False

    # What all ranks enter together, and what runs beside

    def _barrier(self) -> None:
        self._refuse_if_any_lost("barrier")
        super()._barrier()

    def _split(self, color: int | None, key: int) -> Communicator | None:
        self._refuse_if_any_lost("split")
        return super()._split(color, key)

    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        self._refuse_if_any_lost("shared_array")
        return super()._shared_array(shape, dtype)

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        self._refuse_if_any_lost("start")
        return super()._start(fn, args)

    def _refuse_if_any_lost(self, verb: str) -> None:
        self._check_flow(verb)
        losses = self.world.losses
        assert losses is not None
        lost = self.group.lost | losses.lost_together(self)
        if lost:
            losses.heard_of(self, min(lost))
            raise rank_lost(self.run_rank, verb, self.name, lost)
