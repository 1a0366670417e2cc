"""The replicas of a server to which lots are dealt: who has which, who is lost, who is back."""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from itertools import chain, count

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import PeerFinishedError, RankLost
from course_lib.models.model import Array
from course_lib.training.kept_shard import KeptShard
from course_lib.training.lots import Lots

__all__ = [
    "Replicas",
    "again",
    "check_goes_on",
    "is_again",
    "over",
    "refuse_again",
    "say_again",
]


class Replicas:
    """Deals lots, and hears what replicas send, as long as one of them lives.

    Where the run does not survive losses this is ``recv_any``, ``send`` and counting. Where it
    does, each lot is dealt, *out* with one replica, or done, and a lot is done when its gradient
    has been received whole: what a lost replica had out is dealt again when all others are, and
    nothing else is. Who pushes when none is left waits for what others may lose, or for the end.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; this is rank 0.
    lots : Lots
        What is dealt.
    ranks : sequence of int
        The replicas. The first has lot 0, the others those after ``warm_start``.
    warm_start : int, default: 0
        How many lots the first replica has before those of the others.
    on_loss : callable or None, default: None
        Called with a replica's rank when this rank is told that it was lost.
    kept : KeptShard or None, default: None
        Where it is written down who has which lot, so that this rank may be lost and go on.

    Raises
    ------
    RuntimeError
        If this rank was lost itself, and the model with it, and nothing is kept.

    Notes
    -----
    ``recv_any`` passes over who is lost, and a replica that waits for the server sends nothing. So
    as soon as one waits, those that have lots are listened to by name: they send, or are lost.
    """

    def __init__(
        self, comm: Communicator, lots: Lots, ranks: Sequence[int], warm_start: int = 0,
        on_loss: Callable[[int], object] | None = None, kept: KeptShard | None = None,
    ) -> None:  # fmt: skip
        self._comm, self._n_lots, self._ranks, self._on_loss = comm, len(lots), ranks, on_loss
        self._kept = kept
        self._waiting: list[int] = []
        self._again: deque[int] = deque()  # of who was lost
        if kept is None:
            refuse_again(comm)
        elif kept.goes_on:
            self._go_on(kept)
            return
        first = [0, *range(warm_start + 1, warm_start + len(ranks))]
        self._out = {r: lot for r, lot in zip(ranks, first, strict=True) if lot < len(lots)}
        self._waiting = [rank for rank in ranks if rank not in self._out]
        self._fresh = chain(range(1, warm_start + 1), count(warm_start + len(ranks)))
        if kept is not None:
            for rank, lot in self._out.items():
                kept.deal(lot, rank)

    def _go_on(self, kept: KeptShard) -> None:
        """Find who has what, in what was written down: the last lot that was dealt to each."""
        owner, last = dict(kept.dealt), {rank: lot for lot, rank in kept.dealt}
        left = {lot: rank for lot, rank in owner.items() if lot not in kept.done}
        self._out = {rank: lot for lot, rank in left.items() if last[rank] == lot}
        self._again = deque(lot for lot in left if lot not in self._out.values())
        self._fresh = chain(lot for lot in count() if lot not in owner)
        # Nobody waits: who did is told of the loss, and pushes again.

    def receive(
        self, only: int | None = None, unanswered: Collection[int] = ()
    ) -> tuple[int, Array]:
        """Receive what comes first, or what comes from one rank only while it lives.

        Parameters
        ----------
        only : int or None, default: None
            From whom, as long as it has a lot.
        unanswered : collection of int, default: ()
            Who has asked for parameters and waits for them.

        Returns
        -------
        tuple of int and array
            Who sent, and what: nothing, to ask for parameters, or a gradient.

        Raises
        ------
        RankLost
            If no replica is left and none will come back.
        """
        comm = self._comm
        while True:
            named = only if only in self._out else self._suspect(unanswered)
            try:
                src, message = comm.recv_any() if named is None else (named, comm.recv(named))
            except RankLost:
                if named is None:
                    raise
                only = None
                self._lose(named)
                continue
            if not is_again(message):
                return src, message
            check_goes_on(message)
            self._lose(src)  # it was started again, and knows nothing of what it had
            self.deal(src)

    def _suspect(self, unanswered: Collection[int]) -> int | None:
        """Name somebody who may be lost while others wait; None if nobody waits."""
        if not self._comm.survives or not (self._waiting or unanswered):
            return None
        return min(set(self._out).difference(unanswered), default=None)

    def done(self, src: int) -> None:
        """Take a replica's lot as done: it is not dealt again, whoever is lost from now on."""
        self._out.pop(src, None)

    def deal(self, src: int) -> int:
        """Take a replica's lot as done, and send it another; return which that is.

        Past the last there are numbers for no lot; where the run survives losses, ``see_off`` sends
        one when all are done.
        """
        self.done(src)
        lot = next(self._fresh)
        if lot >= self._n_lots and self._comm.survives:
            if not self._again:
                self._waiting.append(src)
                return lot
            lot = self._again.popleft()
        self._out[src] = lot
        if self._kept is not None and lot < self._n_lots:
            self._kept.deal(lot, src)
        self.send(np.array([lot]), src, tag="lot")
        return lot

    def answer_again(self, src: int) -> None:
        """Send a replica the lot that it has, if it pushes again what has been done; or another."""
        if src in self._out:
            self.send(np.array([self._out[src]]), src, tag="lot")
        else:
            self.deal(src)

    def send(self, data: Array, dst: int, tag: str) -> bool:
        """Send to a replica, and say whether it lived; if it is lost, so is the message."""
        try:
            self._comm.send(data, dst, tag=tag)
        except RankLost:
            self._lose(dst)
            return False
        return True

    def see_off(self, w: Array) -> None:
        """Give every replica that lives the model; who is started again is waited for."""
        if not self._comm.survives:
            self._comm.barrier()
            for dst in self._ranks:
                self._comm.send(w, dst)
            return
        for dst in self._ranks:
            times_lost = 0
            while times_lost < 2:  # told of its loss once, and again where nobody comes back
                try:
                    if dst not in self._waiting:
                        self._comm.recv(dst)  # it asks for a lot
                        self._waiting.append(dst)
                    self._comm.send(np.array([self._n_lots]), dst, tag="lot")
                    self._comm.send(w, dst, tag="parameters")
                    break
                except PeerFinishedError:  # this rank was lost when that one had got it
                    break
                except RankLost:
                    self._lose(dst)
                    times_lost += 1

    def _lose(self, rank: int) -> None:
        """Put a replica's lot aside for others; who waits gets it at once."""
        if rank in self._waiting:
            self._waiting.remove(rank)
        if rank in self._out:
            self._again.append(self._out.pop(rank))
            if self._waiting:
                self.deal(self._waiting.pop(0))
        if self._on_loss is not None:
            self._on_loss(rank)


def say_again(comm: Communicator, server: int) -> None:
    """Have a replica tell the server if it was started again: it has nothing to do yet."""
    if comm.incarnation:
        comm.send(again(comm.incarnation), server, tag="again")


def again(incarnation: int) -> Array:
    """Make the message of a replica that has nothing to do yet."""
    return np.array([incarnation], dtype=np.int64)


def is_again(message: Array) -> bool:
    """Say whether a message is that; gradients are no whole numbers."""
    return bool(message.dtype == np.int64)


def over(server: int) -> Array:
    """Make the message that a server is lost for good."""
    return np.array([-1 - server], dtype=np.int64)


def check_goes_on(message: Array) -> None:
    """End, in words, if a message is that."""
    if is_again(message) and int(message[0]) < 0:
        raise RuntimeError(
            f"rank {-1 - int(message[0])} keeps a part of the model, is lost and comes no more: "
            "the training cannot go on; begin again, from a checkpoint if there is one"
        )


def refuse_again(comm: Communicator) -> None:
    """Refuse to go on as a server that was started again: it has lost the model."""
    if comm.incarnation:
        raise RuntimeError(
            f"rank {comm.rank} keeps the model and was lost, with all updates: the training "
            "cannot go on; begin again, from a checkpoint if there is one"
        )
