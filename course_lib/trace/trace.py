"""One record of a run: what was sent, received, computed and waited for, by whom and when."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.trace import perfetto
from course_lib.trace import text as as_text
from course_lib.trace.events import NO_RECORD, Collective, Compute, Fault, Message, Note, Wait
from course_lib.trace.shift import later
from course_lib.trace.table import column
from course_lib.words.plain_file import overwrite, read_plain

__all__ = ["Trace"]

_MOST_BYTES = 2**34


@dataclass
class Trace:
    """Everything that happened in a run, on one clock.

    Tests count its messages, the player animates it, the cost model is compared with it.

    Attributes
    ----------
    backend : str
        The world it comes from: ``"processes"``, ``"simulated"``, ...
    clock : {"measured", "virtual"}
        Whether times are wall seconds or virtual seconds; both start at 0.
    size : int
        How many ranks there were.
    messages, computes, waits, notes, faults, collectives : sequence
        The events, see ``course_lib.trace.events``; sorted by time, then rank. The simulator's
        messages and waits are a ``Table``, which makes an event when it is looked at.
    """

    backend: str
    clock: str
    size: int
    messages: Sequence[Message] = field(default_factory=list)
    computes: list[Compute] = field(default_factory=list)
    waits: Sequence[Wait] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)

    @property
    def n_messages(self) -> int:
        """Messages sent in all."""
        return len(self.messages)

    @property
    def n_bytes(self) -> int:
        """Bytes that the messages carried in all: payload, without headers."""
        return sum(column(self.messages, "n_bytes"))

    @property
    def traffic(self) -> str:
        """The messages and bytes in words, ``"1 message, 8 bytes"``."""
        plural = "" if self.n_messages == 1 else "s"
        return f"{self.n_messages:,} message{plural}, {self.n_bytes:,} bytes"

    @property
    def unrecorded(self) -> list[int]:
        """The ranks of a run that failed whose own records were lost; then this is only a part."""
        ranks = (fault.rank for fault in self.faults if fault.kind == NO_RECORD)
        return sorted(rank for rank in ranks if rank is not None)

    @property
    def omission(self) -> str:
        """What is not in the trace, in words: ``", without what rank 2 recorded"``, else empty."""
        ranks = ", ".join(map(str, self.unrecorded))
        return ranks and f", without what rank{'s' * (',' in ranks)} {ranks} recorded"

    @property
    def end_s(self) -> float:
        """The time of the last event, in seconds."""
        times = column(self.messages, "sent_s") + column(self.waits, "end_s")
        times += [time_s for time_s in column(self.messages, "received_s") if time_s is not None]
        times += [span.end_s for span in self.computes]
        times += [note.time_s for note in self.notes] + [fault.time_s for fault in self.faults]
        times += [event.left_s for event in self.collectives]
        return max(times, default=0.0)

    def messages_sent(self) -> list[int]:
        """Count the messages that each rank sent.

        Returns
        -------
        list of int
            By rank.
        """
        counts = Counter(column(self.messages, "src"))
        return [counts[rank] for rank in range(self.size)]

    def messages_received(self) -> list[int]:
        """Count the messages that each rank received.

        Returns
        -------
        list of int
            By rank.
        """
        ends = self._fields_of_messages("dst", "received_s")
        counts = Counter(dst for dst, received_s in ends if received_s is not None)
        return [counts[rank] for rank in range(self.size)]

    def bytes_sent(self) -> list[int]:
        """Add up the bytes that each rank sent.

        Returns
        -------
        list of int
            By rank; payload, without headers.
        """
        totals = [0] * self.size
        for src, n_bytes in self._fields_of_messages("src", "n_bytes"):
            totals[src] += n_bytes
        return totals

    def bytes_received(self) -> list[int]:
        """Add up the bytes that each rank received.

        Returns
        -------
        list of int
            By rank; payload, without headers.
        """
        totals = [0] * self.size
        for dst, n_bytes, received_s in self._fields_of_messages("dst", "n_bytes", "received_s"):
            if received_s is not None:
                totals[dst] += n_bytes
        return totals

    def between(self, src: int, dst: int) -> list[Message]:
        """List the messages from one rank to another.

        Parameters
        ----------
        src, dst : int
            The sender and the receiver.

        Returns
        -------
        list of Message
            In the order they were sent.
        """
        return [m for m in self.messages if m.src == src and m.dst == dst]

    def notes_named(self, name: str) -> list[Note]:
        """List the notes of one name.

        Parameters
        ----------
        name : str
            What the ranks called it.

        Returns
        -------
        list of Note
            In the order of their times, then by rank.
        """
        return [note for note in self.notes if note.name == name]

    def since(self, start_s: float) -> "Trace":
        """Leave out what began before a moment, and start the clock there.

        Parameters
        ----------
        start_s : float
            The moment, in seconds of this trace.

        Returns
        -------
        Trace
            What began then or later, on a clock that is 0 at that moment.
        """
        return Trace(self.backend, self.clock, self.size, **later(vars(self), start_s))

    def unreceived(self) -> list[Message]:
        """List the messages that nobody received.

        Returns
        -------
        list of Message
            In the order they were sent.
        """
        received_s = column(self.messages, "received_s")
        return [self.messages[index] for index, time_s in enumerate(received_s) if time_s is None]

    def rounds(self) -> int:
        """Count the longest chain of messages in which each was sent after the one before arrived.

        Returns
        -------
        int
            0 for a run without messages; the number of rounds of an algorithm that goes in rounds.
        """
        depth = [0] * self.size
        events: list[tuple[float, int, int]] = []
        for index, (posted_s, received_s) in enumerate(
            self._fields_of_messages("posted_s", "received_s")
        ):
            events.append((posted_s, 1, index))
            if received_s is not None:
                events.append((received_s, 0, index))
        ends = list(self._fields_of_messages("src", "dst"))
        level: dict[int, int] = {}
        for _, is_send, index in sorted(events):
            src, dst = ends[index]
            if is_send:
                level[index] = depth[src] + 1
            else:
                # Without latency a message can arrive in the instant it is posted.
                depth[dst] = max(depth[dst], level.get(index, depth[src] + 1))
        return max(level.values(), default=0)

    def to_json(self) -> str:
        """Write the trace as JSON text.

        Returns
        -------
        str
            The same for the same trace, to the byte. A note's NaN or infinity becomes an object,
            ``{"$float": "nan"}``, because JSON has no such numbers.
        """
        return as_text.write(vars(self))

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """Read a trace that ``to_json`` wrote.

        Parameters
        ----------
        text : str
            The JSON text.

        Returns
        -------
        Trace
            Equal to the one that was written.

        Raises
        ------
        ValueError
            If the text is no trace, or one of another schema version, or holds anything that no run
            can have done: a rank that there is not, a time that is no number. What is read can
            be drawn.
        """
        return cls(**as_text.read(text))

    def save(self, path: str | Path) -> None:
        """Write the trace to a file as JSON.

        Parameters
        ----------
        path : str or Path
            The file; one that is there is replaced when all is written.
        """
        overwrite(Path(path), self.to_json().encode())

    def to_perfetto_json(self) -> str:
        """Write the trace as JSON text in Chrome's Trace Event Format.

        Returns
        -------
        str
            What ``to_perfetto`` writes to a file.
        """
        return "".join(perfetto.text(self))

    def to_perfetto(self, path: str | Path) -> None:
        """Write the trace for ui.perfetto.dev or chrome://tracing: slices, arrows and counters.

        ``course_lib.trace.perfetto`` says what becomes of what. Seconds of the trace's clock, the
        virtual one too, become microseconds.

        Parameters
        ----------
        path : str or Path
            The file; one that is there is replaced when all is written.
        """
        overwrite(Path(path), (line.encode() for line in perfetto.text(self)))

    @classmethod
    def load(cls, path: str | Path) -> "Trace":
        """Read a trace from a file that ``save`` wrote.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Trace
            Equal to the one that was saved.

        Raises
        ------
        ValueError
            If the file holds no trace, or a damaged one, or is a device or longer than 16
            GiB (some hundred million messages) or than there is memory for; it names the file.
        OSError
            If there is no such file, or it cannot be read.
        """
        try:
            return cls.from_json(read_plain(Path(path), _MOST_BYTES).decode())
        except ValueError as error:
            raise ValueError(f"{path} holds no trace that can be read: {error}") from None
        except MemoryError:
            raise ValueError(f"{path} cannot be read: there is not enough memory for it") from None

    def table(self, limit: int = 20) -> str:
        """Lay out the first messages as a text table, in the order they were posted.

        Parameters
        ----------
        limit : int, default: 20
            How many messages to list; a last line says how many more there are.

        Returns
        -------
        str
            A line a message. Times are left out where they were measured, because they differ from
            run to run.
        """
        timed = self.clock == "virtual"
        head = f"{'from':>4} {'to':>4} {'tag':>6} {'shape':>12} {'bytes':>9}"
        lines = [head + (f" {'sent at':>11} {'received':>11}" if timed else "")]
        for m in self.messages[:limit]:
            tag = "" if m.tag is None else str(m.tag)
            line = f"{m.src:>4} {m.dst:>4} {tag:>6} {m.shape!s:>12} {m.n_bytes:>9,}"
            if timed:
                received = "never" if m.received_s is None else f"{m.received_s:.3e} s"
                line += f" {m.posted_s:.3e} s {received:>11}"
            lines.append(line)
        if self.n_messages > limit:
            lines.append(f"... and {self.n_messages - limit:,} more messages")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Summarise in one line that is the same for every run of a deterministic algorithm."""
        told = f"{self.traffic}, {self.clock} time{self.omission}"
        return f"Trace({self.size} rank{'s' * (self.size != 1)}, {self.backend}: {told})"

    def _fields_of_messages(self, *names: str) -> Iterable[tuple[Any, ...]]:
        return zip(*(column(self.messages, name) for name in names), strict=True)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from course_lib.viz import mimebundle

        return mimebundle(self)
