"""One record of a run: what was sent, received, computed and waited for, by whom and when."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.trace.events import (
    SCHEMA_VERSION,
    Collective,
    Compute,
    Fault,
    Message,
    Note,
    Wait,
)

__all__ = ["Trace"]

_KINDS: dict[str, Any] = {
    "messages": Message,
    "computes": Compute,
    "waits": Wait,
    "notes": Note,
    "faults": Fault,
    "collectives": Collective,
}


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
    messages, computes, waits, notes, faults, collectives : list
        The events, see ``course_lib.trace.events``; sorted by time, then rank.
    """

    backend: str
    clock: str
    size: int
    messages: list[Message] = field(default_factory=list)
    computes: list[Compute] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
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
        return sum(message.n_bytes for message in self.messages)

    @property
    def traffic(self) -> str:
        """The messages and bytes in words, ``"1 message, 8 bytes"``."""
        plural = "" if self.n_messages == 1 else "s"
        return f"{self.n_messages:,} message{plural}, {self.n_bytes:,} bytes"

    @property
    def end_s(self) -> float:
        """The time of the last event, in seconds."""
        times = [message.sent_s for message in self.messages]
        times += [m.received_s for m in self.messages if m.received_s is not None]
        times += [span.end_s for span in self.computes] + [wait.end_s for wait in self.waits]
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
        counts = Counter(message.src for message in self.messages)
        return [counts[rank] for rank in range(self.size)]

    def messages_received(self) -> list[int]:
        """Count the messages that each rank received.

        Returns
        -------
        list of int
            By rank.
        """
        counts = Counter(m.dst for m in self.messages if m.received_s is not None)
        return [counts[rank] for rank in range(self.size)]

    def bytes_sent(self) -> list[int]:
        """Add up the bytes that each rank sent.

        Returns
        -------
        list of int
            By rank; payload, without headers.
        """
        totals = [0] * self.size
        for message in self.messages:
            totals[message.src] += message.n_bytes
        return totals

    def bytes_received(self) -> list[int]:
        """Add up the bytes that each rank received.

        Returns
        -------
        list of int
            By rank; payload, without headers.
        """
        totals = [0] * self.size
        for message in self.messages:
            if message.received_s is not None:
                totals[message.dst] += message.n_bytes
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

    def unreceived(self) -> list[Message]:
        """List the messages that nobody received.

        Returns
        -------
        list of Message
            In the order they were sent.
        """
        return [message for message in self.messages if message.received_s is None]

    def rounds(self) -> int:
        """Count the longest chain of messages in which each was sent after the one before arrived.

        Returns
        -------
        int
            0 for a run without messages; the number of rounds of an algorithm that goes in rounds.
        """
        depth = [0] * self.size
        events: list[tuple[float, int, int]] = []
        for index, message in enumerate(self.messages):
            events.append((message.posted_s, 1, index))
            if message.received_s is not None:
                events.append((message.received_s, 0, index))
        level: dict[int, int] = {}
        for _, is_send, index in sorted(events):
            message = self.messages[index]
            if is_send:
                level[index] = depth[message.src] + 1
            else:
                # Without latency a message can arrive in the instant it is posted.
                arrived = level.get(index, depth[message.src] + 1)
                depth[message.dst] = max(depth[message.dst], arrived)
        return max(level.values(), default=0)

    def to_json(self) -> str:
        """Write the trace as JSON text.

        Returns
        -------
        str
            The same for the same trace, to the byte.
        """
        content: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            "backend": self.backend,
            "clock": self.clock,
            "size": self.size,
        }
        for name, kind in _KINDS.items():
            content[name] = {"fields": kind._fields, "rows": getattr(self, name)}
        return json.dumps(content, separators=(",", ":"))

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
            If the text is no trace, or one of another schema version.
        """
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("schema") != SCHEMA_VERSION:
            found = content.get("schema") if isinstance(content, dict) else type(content).__name__
            raise ValueError(f"text must be a trace of schema {SCHEMA_VERSION}, got {found!r}")
        fields: dict[str, Any] = {
            name: [_event(kind, content[name]["fields"], row) for row in content[name]["rows"]]
            for name, kind in _KINDS.items()
        }
        fields.update({name: content[name] for name in ("backend", "clock", "size")})
        return cls(**fields)

    def save(self, path: str | Path) -> None:
        """Write the trace to a file as JSON.

        Parameters
        ----------
        path : str or Path
            The file; it is overwritten.
        """
        Path(path).write_text(self.to_json(), encoding="utf-8")

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
        """
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

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
        return f"Trace({self.size} ranks, {self.backend}: {self.traffic}, {self.clock} time)"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from course_lib.viz import mimebundle

        return mimebundle(self)


def _event(kind: Any, fields: list[str], row: list[Any]) -> Any:
    values = dict(zip(fields, row, strict=True))
    if "shape" in values:
        values["shape"] = tuple(values["shape"])
    return kind(**values)
