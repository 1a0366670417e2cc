"""What one rank writes down while it runs, and how the ranks' records become one trace.

A sender knows when it sent, a receiver knows when it received. Messages between two ranks are first
in, first out, so the k-th record of the one belongs to the k-th record of the other.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from course_lib.trace.events import Collective, Compute, Fault, Message, Note, Wait
from course_lib.trace.trace import Trace

__all__ = ["Recorder", "assemble"]


@dataclass
class Recorder:
    """The events of one rank, as plain tuples that are cheap to append and to ship.

    Attributes
    ----------
    sends : list of tuple
        ``(comm, dst, tag, dtype, shape, n_bytes, posted_s, sent_s)`` in the order sent.
    receives : list of tuple
        ``(comm, src, arrived_s, received_s)`` in the order received; ``arrived_s`` is None for a
        message that was there as soon as its sender had copied it.
    waits : list of tuple
        ``(verb, peer, start_s, end_s, comm)``.
    computes, notes, collectives : list of tuple
        The fields of the event after ``rank``.
    incarnation : int
        How often the rank had been started again.
    met : list of (int, int, int, int)
        Another rank, its incarnation from then on, and how many sends and receives came before.
    """

    rank: int
    sends: list[tuple[Any, ...]] = field(default_factory=list)
    receives: list[tuple[Any, ...]] = field(default_factory=list)
    waits: list[tuple[Any, ...]] = field(default_factory=list)
    computes: list[tuple[Any, ...]] = field(default_factory=list)
    notes: list[tuple[Any, ...]] = field(default_factory=list)
    collectives: list[tuple[Any, ...]] = field(default_factory=list)
    incarnation: int = 0
    met: list[tuple[int, int, int, int]] = field(default_factory=list)

    def note_incarnation(self, peer: int, incarnation: int) -> None:
        """Note that from now on it sends to, and receives from, another incarnation of a rank."""
        self.met.append((peer, incarnation, len(self.sends), len(self.receives)))

    def so_far(self) -> "Recorder":
        """Copy what there is by now; the rank may go on recording meanwhile."""
        return Recorder(
            self.rank, self.sends.copy(), self.receives.copy(), self.waits.copy(),
            self.computes.copy(), self.notes.copy(), self.collectives.copy(),
            self.incarnation, self.met.copy(),
        )  # fmt: skip


def assemble(
    recorders: Sequence[Recorder], *, backend: str, clock: str, faults: Sequence[Fault] = ()
) -> Trace:
    """Join the records of all ranks into one trace.

    Parameters
    ----------
    recorders : sequence of Recorder
        One for each rank, in rank order; of a rank that was started again one for each time.
    backend : str
        The world the run took place in.
    clock : {"measured", "virtual"}
        What the times are.
    faults : sequence of Fault, default: ()
        What went wrong.

    Returns
    -------
    Trace
        Messages sorted by (posted, src, order of sending); all else by (start, rank).
    """
    arrivals: dict[tuple[Any, ...], deque[tuple[Any, ...]]] = defaultdict(deque)
    for recorder in recorders:
        me = recorder.rank, recorder.incarnation
        peers = _incarnations(recorder, 3)
        for number, (comm, src, arrived_s, received_s) in enumerate(recorder.receives):
            arrivals[comm, src, peers(src, number), *me].append((arrived_s, received_s))
    messages = []
    for recorder in recorders:
        me = recorder.rank, recorder.incarnation
        peers = _incarnations(recorder, 2)
        for number, send in enumerate(recorder.sends):
            comm, dst, tag, dtype, shape, n_bytes, posted_s, sent_s = send
            waiting = arrivals[comm, *me, dst, peers(dst, number)]
            arrived_s, received_s = waiting.popleft() if waiting else (None, None)
            if arrived_s is None and received_s is not None:
                arrived_s = min(sent_s, received_s)
            messages.append(
                Message(
                    recorder.rank, dst, tag, dtype, shape, n_bytes,
                    posted_s, sent_s, arrived_s, received_s, comm,
                )
            )  # fmt: skip
    messages.sort(key=attrgetter("posted_s", "src"))
    return Trace(
        backend=backend,
        clock=clock,
        size=len({recorder.rank for recorder in recorders}),
        messages=messages,
        computes=sorted(
            (Compute(r.rank, *event) for r in recorders for event in r.computes),
            key=lambda event: (event.start_s, event.rank),
        ),
        waits=sorted(
            (Wait(r.rank, *event) for r in recorders for event in r.waits),
            key=lambda event: (event.start_s, event.rank),
        ),
        notes=sorted(
            (Note(r.rank, *event) for r in recorders for event in r.notes),
            key=lambda event: (event.time_s, event.rank),
        ),
        collectives=sorted(
            (Collective(r.rank, *event) for r in recorders for event in r.collectives),
            key=lambda event: (event.entered_s, event.rank),
        ),
        faults=list(faults),
    )


def _incarnations(recorder: Recorder, counted: int) -> Callable[[int, int], int]:
    """Return what tells the incarnation of a peer at a record's number; ``met`` has the counts."""

    def incarnation(peer: int, number: int) -> int:
        known = (m[1] for m in recorder.met if m[0] == peer and m[counted] <= number)
        return max(known, default=0)

    return incarnation if recorder.met else lambda peer, number: 0  # noqa: ARG005
