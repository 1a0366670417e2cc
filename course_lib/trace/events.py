"""The events of a trace. One file, because player, tests and cost models all stand on these fields.

All times are seconds on the run's one clock, 0 at its start: wall time in real worlds, virtual time
in the simulator. ``comm`` names the communicator, ``"world"`` for the one that ``run`` hands out.
"""

from typing import Any, NamedTuple

__all__ = [
    "LOST", "NO_RECORD", "RESTARTED", "SCHEMA_VERSION",
    "Collective", "Compute", "Fault", "Message", "Note", "Wait",
]  # fmt: skip

SCHEMA_VERSION = 1

NO_RECORD = "NoRecord"
"""The kind of a ``Fault`` that says: what the rank itself recorded was lost with its process."""

LOST, RESTARTED = "RankLost", "Restart"
"""The kinds of a ``Fault`` of a rank that a run has survived, and of its beginning again."""


class Message(NamedTuple):
    """One array that went from ``src`` to ``dst``.

    ``posted_s``: ``send`` was called. ``sent_s``: ``send`` returned. ``arrived_s``: the last byte
    was at the receiver. ``received_s``: ``recv`` returned. The last two are None for a message that
    nobody received.
    """

    src: int
    dst: int
    tag: int | str | None
    dtype: str
    shape: tuple[int, ...]
    n_bytes: int
    posted_s: float
    sent_s: float
    arrived_s: float | None
    received_s: float | None
    comm: str


class Compute(NamedTuple):
    """A rank computed, inside ``with comm.compute(label, flops)``."""

    rank: int
    label: str
    flops: float
    start_s: float
    end_s: float


class Wait(NamedTuple):
    """A rank could not go on: ``verb`` says in what, ``peer`` for whom (None: for anybody)."""

    rank: int
    verb: str
    peer: int | None
    start_s: float
    end_s: float
    comm: str


class Note(NamedTuple):
    """A value that a rank put on the trace with ``comm.note(name, value)``."""

    rank: int
    name: str
    value: Any
    time_s: float


class Fault(NamedTuple):
    """Something that went wrong: ``kind`` is the error's class name, ``text`` its first line.

    Of a scheduled fault ``kind`` is its name (``"Crash"``, ``"Restart"``, ``"Drop"``, ``"Lost"``,
    ...) and ``text`` says what happened; ``rank`` is there if it happened to one.
    """

    rank: int | None
    kind: str
    text: str
    time_s: float


class Collective(NamedTuple):
    """A rank was inside a collective: its ``number``-th, from 0, on that communicator.

    A collective that calls another on the same communicator counts as one; both have its number.
    """

    rank: int
    name: str
    number: int
    entered_s: float
    left_s: float
    comm: str
