"""The communicator of a real worker in a run that survives the loss of others."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import WORLD
from course_lib.comm.messages import Envelope, Tag
from course_lib.comm.pending import Pending
from course_lib.comm.processes.memory.renewed_receiving import RenewedReceiving
from course_lib.comm.processes.memory.transfers import Wanted
from course_lib.comm.processes.rank.communicator import ProcessCommunicator
from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.rank_context import RankContext
from course_lib.comm.processes.rank.surviving_engine import PassOver, SurvivingEngine

__all__ = ["SurvivingCommunicator"]

T = TypeVar("T")


class SurvivingCommunicator(ProcessCommunicator):
    """A communicator over shared memory whose other ranks may be lost and come back.

    The engine looks who is lost before it moves a message; here that is done for the short way of
    small messages, which does without the engine, and for what all ranks call together.

    Parameters
    ----------
    context : RankContext
        The rank's progress and settings.
    flow : Flow
        Whose verbs it serves.
    name : str, default: "world"
        The same on all its ranks.
    members : sequence of int or None, default: None
        Its ranks, as ranks of the whole run; None for all.
    """

    survives = True
    _progress: SurvivingEngine

    def __init__(
        self,
        context: RankContext,
        flow: Flow,
        name: str = WORLD,
        members: Sequence[int] | None = None,
    ) -> None:
        super().__init__(context, flow, name, members)
        self._incarnation = self._progress.incarnation
        self._progress.members[name] = tuple(self._members)
        if self._progress.recorder is None:
            self._progress.record_with(context.recorder)

    @property
    def run_name(self) -> str:
        """A name that only this run has."""
        arena = self._context.arena
        return "" if arena is None else arena.token

    def _refuse_lost(self, verb: str, *peers: int) -> None:
        """Raise if a verb names a rank that is lost, or belongs to a collective that needs one."""
        self._check_flow(verb)
        progress = self._progress
        with progress.turn:
            progress.notice()
            if not progress.lost:
                return
            lost = progress.lost_for(self.name, [self._members[peer] for peer in peers])
            lost |= progress.lost_together(self)
            if lost:
                raise progress.error(verb, self.name, lost)

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
        self._refuse_lost("recv_any")
        while True:
            try:
                src, data, sent = super()._recv_any()
            except PassOver:
                continue
            self._progress.heard_of(self.name, self._members[src])
            return src, data, sent

    def _send_now(self, data: NDArray[Any], sent: Envelope, to: int, posted_s: float) -> bool:
        progress = self._progress
        with progress.turn:
            progress.notice()
            lost = progress.lost_for(self.name, [to]) or progress.lost_together(self)
        return not lost and super()._send_now(data, sent, to, posted_s)

    def _receiving(self, from_: int, wanted: Wanted) -> RenewedReceiving:
        return RenewedReceiving(self._progress.inlets[from_], self, wanted)

    # What all ranks call together

    def _refuse_if_any_lost(self, verb: str) -> None:
        self._refuse_lost(verb)
        lost = self._progress.lost.intersection(self._members)
        if lost:
            raise self._progress.error(verb, self.name, lost)

    def _meet(
        self, verb: str, mine: NDArray[Any], conclude: Callable[[list[NDArray[Any]]], NDArray[Any]]
    ) -> NDArray[Any]:
        self._refuse_if_any_lost(verb)
        return super()._meet(verb, mine, conclude)

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        self._refuse_if_any_lost("start")
        return super()._start(fn, args)

    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        self._refuse_if_any_lost("shared_array")
        return super()._shared_array(shape, dtype)
