"""Run programs in a world, write down all that can be seen of it, and compare two worlds."""

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from course_lib import run
from tests.fuzz.caller import caller_kept, caller_state, in_a_thread
from tests.fuzz.perform import perform
from tests.fuzz.program import Program

__all__ = ["LIMIT_S", "WORLDS", "Outcome", "Problem", "differences", "in_world", "wrong_in_itself"]

WORLDS = ("simulated", "processes", "torch")
LIMIT_S = 20.0

Play = Callable[..., Any]


class Problem(NamedTuple):
    """Something that should not be; ``kind`` stays the same while a program is made smaller."""

    world: str
    kind: str
    text: str

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{self.world}: {self.kind}: {self.text}"


@dataclass(frozen=True)
class Outcome:
    """What was seen of a run.

    Attributes
    ----------
    logs : list
        By rank, a log for each program; empty if the run failed.
    messages : dict
        Of each communicator and pair of ranks, what went from one to the other, in order.
    warned : tuple of str
        The warnings, in alphabetical order.
    error : RunError or None
        How it failed.
    changed : tuple of str
        What is not as it was in the program that called ``run``.
    notes : list of Note
        What the ranks have noted as a failure.
    taken_s : float
        Wall seconds.
    """

    logs: list[Any]
    messages: dict[tuple[str, int, int], tuple[Any, ...]]
    warned: tuple[str, ...]
    error: Exception | None
    changed: tuple[str, ...]
    notes: list[Any]
    taken_s: float


def in_world(
    world: str, programs: Sequence[Program], *, careful: bool = False, play: Play = perform,
    limit_s: float = LIMIT_S,
) -> Outcome:  # fmt: skip
    """Run programs, one after the other, in one launch; they have the same number of ranks.

    Parameters
    ----------
    world : str
        The backend.
    programs : sequence of Program
        What to run.
    careful : bool, default: False
        Whether a rank that fails goes on with the next program, leaving a note on the trace.
    play : callable, default: perform
        What each rank calls; another one where a bug is planted.
    limit_s : float, default: LIMIT_S
        When the run counts as hung.
    """
    first, begun_s = programs[0], time.monotonic()

    def launch() -> Any:
        return run(
            play, list(programs), world != "simulated", careful, workers=first.ranks,
            backend=world, rendezvous=first.rendezvous, time_limit_s=limit_s,
        )  # fmt: skip

    with warnings.catch_warnings(record=True) as warned, caller_kept():
        warnings.simplefilter("always")
        if world == "simulated":
            result, error, changed = in_a_thread(lambda: _observed(launch))
        else:
            result, error, changed = _observed(launch)
    trace = getattr(error, "trace", None) if result is None else result.trace
    return Outcome(
        logs=[] if result is None else result.values,
        messages={} if result is None else _messages(result.trace),
        warned=tuple(sorted(f"{each.category.__name__}: {each.message}" for each in warned)),
        error=error,
        changed=changed,
        notes=[] if trace is None else [note for note in trace.notes if note.name == "failed"],
        taken_s=time.monotonic() - begun_s,
    )


def _observed(launch: Callable[[], Any]) -> tuple[Any, Exception | None, tuple[str, ...]]:
    """Launch; return the result or the error, and what is other than before."""
    before, result, error = caller_state(), None, None
    try:
        result = launch()
    except Exception as raised:  # a bug of the library may come as anything
        error = raised
    after = caller_state()
    return result, error, tuple(name for name in before if before[name] != after[name])


def _messages(trace: Any) -> dict[tuple[str, int, int], tuple[Any, ...]]:
    pairs = defaultdict(list)
    for each in sorted(trace.messages, key=lambda message: message.posted_s):
        told = (each.tag, each.dtype, tuple(each.shape), each.n_bytes, each.received_s is None)
        pairs[each.comm, each.src, each.dst].append(told)
    return {pair: tuple(sent) for pair, sent in pairs.items()}


def wrong_in_itself(world: str, outcome: Outcome) -> list[Problem]:
    """List what is wrong in one world, whatever the others do."""
    found = [Problem(world, f"changed {name}", "is not as it was") for name in outcome.changed]
    for rank, logs in enumerate(outcome.logs):
        wrongs = [wrong for log in logs for wrong in _wrongs(log)]
        found += [Problem(world, "wrong", f"rank {rank}: {wrong}") for wrong in wrongs]
    if outcome.error is not None:
        kind = type(outcome.error).__name__
        found.append(Problem(world, f"failed {kind}", _shorten(str(outcome.error))))
    return found + [Problem(world, "warned", text) for text in outcome.warned]


def differences(world: str, expected: Outcome, got: Outcome) -> list[Problem]:
    """List what is other in ``got``, in a world, than in the first one."""
    if expected.error is not None or got.error is not None:
        return []  # told by ``wrong_in_itself``
    found = []
    for rank, (wanted, came) in enumerate(zip(expected.logs, got.logs, strict=True)):
        if not _same(wanted, came):
            text = f"rank {rank} saw {_first_difference(wanted, came)}"
            found.append(Problem(world, "log", text))
    for pair in sorted({*expected.messages, *got.messages}):
        wanted, came = expected.messages.get(pair, ()), got.messages.get(pair, ())
        if wanted != came:
            found.append(Problem(world, "messages", f"{pair}: {_first_difference(wanted, came)}"))
    return found


def _same(wanted: Any, came: Any) -> bool:
    return wanted == came or repr(wanted) == repr(came)  # of numbers that are none


def _first_difference(wanted: Any, came: Any) -> str:
    both = (list, tuple)
    if isinstance(wanted, both) and isinstance(came, both):
        for one, other in zip(wanted, came, strict=False):
            if not _same(one, other):
                return _first_difference(one, other)
        return f"{len(came)} entries instead of {len(wanted)}"
    if isinstance(wanted, dict) and isinstance(came, dict):
        keys = [key for key in wanted if wanted[key] != came.get(key)]
        return ", ".join(f"{key}={came.get(key)!r} instead of {wanted[key]!r}" for key in keys)
    return f"{came!r} instead of {wanted!r}"


def _wrongs(log: Any) -> list[Any]:
    if isinstance(log, tuple) and log and log[0] == "WRONG":
        return [log[1:]]
    if isinstance(log, list | tuple):
        return [wrong for part in log for wrong in _wrongs(part)]
    return []


def _shorten(text: str) -> str:
    return text if len(text) < 900 else f"{text[:900]} ..."
