"""What a communicator of a real worker writes down: messages, waits, computing, and the counts."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Envelope
from course_lib.comm.processes.memory.mailbox import NOBODY
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.processes.rank.rank_context import RankContext

__all__ = ["RecordingCommunicator"]


class RecordingCommunicator(Communicator):
    """A communicator that records; how its messages move is said in the one derived from it.

    Without a trace it counts what it has sent and received, to tell what nobody receives.

    Parameters
    ----------
    context : RankContext
        The rank's recorder, tallies and settings.
    name : str
        What traces call it.
    members : sequence of int
        Its ranks, as ranks of the whole run.
    """

    _flow: Flow

    def __init__(self, context: RankContext, name: str, members: Sequence[int]) -> None:
        self._context = context
        self._tally = context.tallies.open(name)
        super().__init__(
            members.index(context.progress.rank), len(members), context.settings.seed, name,
            members, context.sites,
        )  # fmt: skip
        self._records = context.settings.trace
        self._rates = context.settings.rates
        self._recorder = context.recorder
        self._sends = context.recorder.sends if context.settings.trace else None
        self._receives = context.recorder.receives if context.settings.trace else None
        self._origin_s = context.origin_s

    def __del__(self) -> None:
        """Say that what it has sent and received is all."""
        self._context.tallies.end(self._tally)

    @property
    def _last_stamp(self) -> int:
        return self._tally.last_stamp

    @_last_stamp.setter
    def _last_stamp(self, stamp: int) -> None:
        self._tally.last_stamp = stamp

    def _record_send(self, sent: Envelope, to: int, n_bytes: int, posted_s: float) -> None:
        if self._sends is None:  # then what nobody receives can only be counted
            self._tally.sent[to] += 1
            self._tally.last_tags[to].append(sent.tag)
            return
        tag, dtype, shape, _ = sent
        now_s = perf_counter() - self._origin_s
        self._sends.append((self.name, to, tag, dtype, shape, n_bytes, posted_s, now_s))

    def _record_receive(self, from_: int, *, waited: bool) -> None:
        if self._receives is None:
            self._tally.received[from_] += 1
            return
        now_s = perf_counter() - self._origin_s
        # A message that did not wait lay ready in the ring when its sender had copied it.
        self._receives.append((self.name, from_, now_s if waited else None, now_s))

    def _note_waits(self, call: Call) -> None:
        awaited = call.dst if call.src == NOBODY else call.src
        peer = awaited if awaited >= 0 else None
        if self._context.settings.trace:
            origin_s = self._origin_s
            for start_s, end_s in self._flow.waits:
                self._recorder.waits.append(
                    (call.verb, peer, start_s - origin_s, end_s - origin_s, self.name)
                )
        self._flow.waits.clear()

    def _computed(self, label: str, flops: float, started_s: float) -> None:
        if self._context.settings.trace:
            self._recorder.computes.append((label, flops, started_s, self._clock()))

    def _note(self, name: str, value: Any) -> None:
        if self._context.settings.trace:
            self._recorder.notes.append((name, value, self._clock()))

    def _collective(self, name: str, number: int, entered_s: float) -> None:
        left_s = perf_counter() - self._origin_s
        self._recorder.collectives.append((name, number, entered_s, left_s, self.name))

    def _clock(self) -> float:
        return perf_counter() - self._origin_s
