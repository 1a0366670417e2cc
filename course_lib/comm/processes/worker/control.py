"""What a worker and the launcher write to each other, over one pipe each way.

Records are pickled: both ends belong to one run, and nobody else can reach the pipes.
"""

from typing import NamedTuple

from course_lib.comm.collective_order import Entered, Site
from course_lib.comm.failures import Failure
from course_lib.comm.frames import Frame
from course_lib.comm.messages import Tag
from course_lib.comm.processes.returned import Standing
from course_lib.trace.recorder import Recorder

__all__ = [
    "Attached",
    "Compare",
    "Compared",
    "Done",
    "Failed",
    "GiveUp",
    "Go",
    "Loaded",
    "Locate",
    "Located",
    "Output",
    "PackedCall",
    "Recall",
    "Recalled",
]


class PackedCall(NamedTuple):
    """To a worker: the function and its arguments, packed."""

    data: bytes


class Go(NamedTuple):
    """To a worker: call the function now; ``origin_s`` is the run's time 0."""

    origin_s: float


class Locate(NamedTuple):
    """To a worker: say where your main thread is."""

    reason: str


class Recall(NamedTuple):
    """To a worker: say what you have recorded so far; the run is over."""

    reason: str


class Compare(NamedTuple):
    """To a worker that waits: say which functions run in it, and what they wait for."""

    reason: str


class GiveUp(NamedTuple):
    """To a worker: a flow of it waits for functions that have returned, on ranks that live on."""

    flow: int
    gone: dict[int, str]


class Attached(NamedTuple):
    """From a worker: it has the shared memory and the semaphores."""

    rank: int


class Loaded(NamedTuple):
    """From a worker: it has unpacked the function and its arguments."""

    rank: int


class Located(NamedTuple):
    """From a worker: where its function is, outermost frame first, and the verb it waits in.

    ``entered`` is the collective it is in. ``beside`` says all three, after a name, of everything
    that the function has started. ``sites`` are the places at which it has called collectives.
    """

    frames: tuple[Frame, ...]
    call: str | None
    entered: Entered | None
    beside: tuple[tuple[str, tuple[Frame, ...], str | None, Entered | None], ...]
    sites: tuple[Site, ...]


class Compared(NamedTuple):
    """From a worker: the answer to ``Compare``."""

    standing: Standing


class Recalled(NamedTuple):
    """From a worker: what it had recorded when it was asked."""

    recorder: Recorder


class Output(NamedTuple):
    """From a worker on Windows: bytes it printed (elsewhere they come through pipes)."""

    stream: str
    data: bytes


class Done(NamedTuple):
    """From a worker: its function has returned.

    Without a trace, ``sent[name, dst]`` and ``received[name, src]`` count the messages of each
    communicator; ``last_tags[name, dst]`` are the tags of the last, to name those nobody received.
    ``last_stamps[name]`` is the stamp of its last collective there, 0 if there was none.
    ``had_children`` says whether it has started other processes, which may have started more.
    """

    value: bytes
    ended_s: float
    recorder: Recorder
    sent: dict[tuple[str, int], int]
    received: dict[tuple[str, int], int]
    last_tags: dict[tuple[str, int], tuple[Tag, ...]]
    sites: tuple[Site, ...]
    last_stamps: dict[str, int]
    had_children: bool


class Failed(NamedTuple):
    """From a worker: its function, or what comes before or after it, raised."""

    failure: Failure
    recorder: Recorder | None
    sites: tuple[Site, ...]
    is_consequence: bool = False
    """Whether it only shows that another rank has failed, which will say so itself."""
