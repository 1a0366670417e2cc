"""What a random program is: a short tree of joint steps, which every rank reads in one order.

A step says what all the ranks of its communicator do together (one sends, another receives), and
each rank cuts its own part out of it. Since all take the steps in the same order, no program made
of them can deadlock, whether ``send`` waits or not, and what is left of one after steps have been
taken out is a valid program again. Ranks in a step are counted modulo the size of the communicator
that it meets, so that ranks may be taken away too.

A message may be begun by ``isend`` and ``irecv``, and waited for in a later step, by each of its
two ranks in another one. That changes nothing of the above: what a rank waits for has been posted,
by its partner too, in steps that come no later. Before ``recv_any`` a rank waits for all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from tests.fuzz.arrays import Array

__all__ = [
    "Barrier",
    "Beside",
    "Collect",
    "Collective",
    "Compute",
    "Exchange",
    "Faulty",
    "Message",
    "Nap",
    "Note",
    "Probe",
    "Program",
    "Refused",
    "Seeded",
    "Settle",
    "Shared",
    "Split",
    "Start",
    "Step",
    "Under",
    "Wait",
    "inner",
    "text_of",
    "with_inner",
]  # fmt: skip


class Step:
    """One thing that the ranks of a communicator do together."""


Steps = tuple[Step, ...]

_ONE = Array()


@dataclass(frozen=True)
class Message(Step):
    """One rank sends, another receives: into ``out`` of a layout, combined by ``op``."""

    src: int = 0
    dst: int = 1
    array: Array = _ONE
    tag: int | str | None = None
    named: bool = False  # whether the receiver names the tag
    out: str | None = None
    op: str | None = None
    isend: bool = False
    irecv: bool = False


@dataclass(frozen=True)
class Settle(Step):
    """Wait for a message that was begun, counted back from the last; None: for all."""

    which: int | None = None
    n_asked: int = 0  # so often first whether it is over
    patient: bool = False  # and then until it is


@dataclass(frozen=True)
class Collect(Step):
    """Everybody sends to ``dst``, which takes what comes with ``recv_any``; then a barrier."""

    dst: int = 0
    array: Array = _ONE


@dataclass(frozen=True)
class Exchange(Step):
    """All ranks ``sendrecv`` in a circle, ``shift`` places to the right."""

    shift: int = 1
    array: Array = _ONE
    tag: int | str | None = None
    out: str | None = None
    op: str | None = None
    posted: bool = False  # by isend and irecv


@dataclass(frozen=True)
class Barrier(Step):
    """A barrier."""


@dataclass(frozen=True)
class Collective(Step):
    """A collective of the library."""

    name: str = "allreduce_ring"
    array: Array = _ONE
    op: str = "sum"
    root: int = 0
    out: str | None = None


@dataclass(frozen=True)
class Refused(Step):
    """A receive that fits not what was sent, caught; with ``then``, one more message follows."""

    src: int = 0
    dst: int = 1
    array: Array = _ONE
    wrong: str = "tag"
    then: bool = True
    irecv: bool = False


@dataclass(frozen=True)
class Split(Step):
    """``split``; each group takes the steps. Colors and keys go round the ranks."""

    colors: tuple[int | None, ...] = (0,)
    keys: tuple[int, ...] = (0,)
    steps: Steps = ()


@dataclass(frozen=True)
class Start(Step):
    """``start``; with ``after``, what is started first waits for an earlier one (counted back)."""

    steps: Steps = ()
    after: int | None = None
    skew_ms: tuple[int, ...] = (0,)  # how late each rank's begins
    settles: bool = False  # whether it waits first for the messages that its starter has begun


@dataclass(frozen=True)
class Wait(Step):
    """Wait for one that this flow has started, counted back from the last; None: for all."""

    which: int | None = None


@dataclass(frozen=True)
class Beside(Step):
    """Compute for a while beside what was started; some ranks for longer than others."""

    ms: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Under(Step):
    """Take the steps with ranks in modes: of torch, of warnings, of streams."""

    modes: tuple[str | None, ...] = (None,)
    steps: Steps = ()


@dataclass(frozen=True)
class Seeded(Step):
    """Seed a global generator, by rank, take the steps, then draw from it."""

    generator: str = "numpy"
    steps: Steps = ()


@dataclass(frozen=True)
class Shared(Step):
    """``shared_array``: every rank writes its number, and reads the others'."""

    dtype: str = "f8"
    columns: int = 1


@dataclass(frozen=True)
class Compute(Step):
    """A compute block and a little arithmetic."""

    flops: float = 1e3


@dataclass(frozen=True)
class Note(Step):
    """A note on the trace."""

    value: Any = 1


@dataclass(frozen=True)
class Nap(Step):
    """Ranks are late by so many milliseconds, in turn."""

    ms: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Probe(Step):
    """See in which modes this rank computes."""


@dataclass(frozen=True)
class Faulty(Step):
    """A step, or two, that one rank does wrongly: what ``kind`` says."""

    kind: str = "skip"
    rank: int = 0
    steps: Steps = ()


@dataclass(frozen=True)
class Program:
    """Steps for so many ranks.

    Attributes
    ----------
    ranks : int
        How many.
    rendezvous : bool
        Whether every send waits for its receive.
    steps : tuple of Step
        What they do together.
    """

    ranks: int = 2
    rendezvous: bool = False
    steps: Steps = field(default=())

    def all_steps(self) -> Iterator[Step]:
        """Go through the steps and all inside them."""
        return _walk(self.steps)


def _walk(steps: Steps) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _walk(inner(step))


def inner(step: Step) -> Steps:
    """Return the steps inside a step."""
    return getattr(step, "steps", ())


def with_inner(step: Any, steps: Steps) -> Step:
    """Return the same step around other steps."""
    return type(step)(**{**vars(step), "steps": steps})


def text_of(value: Any, depth: int = 0) -> str:
    """Write a program as Python text, one step a line, without what is left at its default."""
    if not hasattr(value, "__dataclass_fields__"):
        return repr(value)
    parts = []
    for each in fields(value):
        given = getattr(value, each.name)
        if each.name == "steps":
            margin = "    " * (depth + 1)
            lines = [f"\n{margin}{text_of(step, depth + 1)}," for step in given]
            parts.append(f"steps=({''.join(lines)}\n{'    ' * depth})" if lines else "")
        elif given != each.default or each.name == "ranks":
            parts.append(f"{each.name}={text_of(given, depth)}")
    return f"{type(value).__name__}({', '.join(filter(None, parts))})"
