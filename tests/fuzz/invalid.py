"""Programs with one fault: every world must fail in the same way, as far as that is determined.

A rank that receives names the sender, so what each rank does up to its own failure, or up to
where it waits for ever, is the same in every order of events; only which of several failures comes
first is not. So the simulator is asked for all of them (``careful``: a rank that fails notes it,
and ends). What a real world reports must be

- one of these, by kind and rank, if there are any; that a rank waits for one that has failed is
  none of them. Exceptions: that two ranks are in different collectives is told by the one that
  notices, which is either, or of one of the two and another that it should have met, and perhaps
  by a message that does not fit on a communicator on which the collective has started a part of
  itself; and a verb in a foreign thread is an error of the rank in real worlds, but of the
  simulator in the simulator, where ranks cannot leave their thread. A third: where a rank has
  started a function, a message too many may be taken by either of the two, and the one that takes
  the next finds that it belongs to no collective, or to another;
- else that ranks wait for ever, by the simulator's kind. Where some wait in a circle and others
  for one that has returned, both kinds are true, and a world may report what it saw first;
- else nothing: then values, messages and warnings must be the same.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from course_lib.comm.errors import (
    CollectiveMismatchError,
    DeadlockError,
    MessageMismatchError,
    PeerFinishedError,
    RunError,
)
from tests.fuzz import program as p
from tests.fuzz.faults import plant
from tests.fuzz.generate import generate
from tests.fuzz.hunt import Finding
from tests.fuzz.program import Program
from tests.fuzz.shrink import shrink
from tests.fuzz.worlds import WORLDS, Outcome, Problem, differences, in_world

__all__ = ["disagreements", "faulty", "hunt_invalid"]

_OF_TWO_COLLECTIVES = ("CollectiveMismatchError", "MessageMismatchError")
_STUCK = (DeadlockError, PeerFinishedError)


def faulty(seed: int, number: int) -> Program:
    """Return program ``number`` of a seed, with one fault.

    Of more than two ranks none takes what comes first: a fault may make that another message, and
    then what follows is not determined.
    """
    program = generate(seed, number)
    if program.ranks > 2:
        program = replace(program, steps=_naming_senders(program.steps))
    return plant(random.Random(f"fault {seed} {number}"), program)


def _naming_senders(steps: p.Steps) -> p.Steps:
    """Put a barrier in the place of every ``recv_any``."""
    return tuple(
        p.Barrier() if isinstance(step, p.Collect)
        else p.with_inner(step, _naming_senders(p.inner(step))) if p.inner(step) else step
        for step in steps
    )  # fmt: skip


def disagreements(
    program: Program, worlds: Sequence[str] = WORLDS, limit_s: float = 20.0
) -> list[Problem]:
    """Run a faulty program in each world; list what cannot be, seen from the simulator."""
    expected = in_world("simulated", [program], limit_s=limit_s)
    failures = _own_failures(program)
    found = _improper("simulated", expected)
    for world in worlds:
        if world != "simulated":
            got = in_world(world, [program], limit_s=limit_s)
            found += _improper(world, got) or _compare(world, program, expected, failures, got)
    return found


def _improper(world: str, outcome: Outcome) -> list[Problem]:
    """Say whether a run ended as no run should, whatever was wrong with the program."""
    found = [Problem(world, f"changed {name}", "is not as it was") for name in outcome.changed]
    kind = type(outcome.error).__name__
    if outcome.error is not None and not isinstance(outcome.error, RunError):
        found.append(Problem(world, f"failed {kind}", str(outcome.error)))
    if kind == "LaunchTimeout":
        found.append(Problem(world, "hung", str(outcome.error)))
    return found


def _own_failures(program: Program) -> set[tuple[str, int]]:
    """Return the kind and the rank of all failures that no other brought about."""
    outcome = in_world("simulated", [program], careful=True)
    kinds = {"SystemExit": "WorkerExited"}
    known = {each.__name__ for each in _all_kinds(RunError)}
    found = set()
    for note in outcome.notes:
        if (
            note.value == PeerFinishedError.__name__
        ):  # of one that has ended with a failure, perhaps
            continue
        kind = note.value if note.value in known else kinds.get(note.value, "WorkerError")
        found.add((kind, note.rank))
    return found


def _all_kinds(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _all_kinds(each)


def _compare(
    world: str, program: Program, expected: Outcome, failures: set[tuple[str, int]], got: Outcome
) -> list[Problem]:
    told: Any = (type(got.error).__name__, getattr(got.error, "rank", None))
    if _took_the_next(program, expected.error, got.error):
        return []
    if failures:
        if told in failures or told in _as_good(expected.error, got.error, failures):
            return []
        simulated = (type(expected.error).__name__, getattr(expected.error, "rank", None))
        if expected.error is not None and told == simulated:
            return []
        return [_other(world, got, told, f"one of {sorted(failures)}")]
    if expected.error is None:
        if got.error is not None:
            return [_other(world, got, told, "to go well")]
        warned = [Problem(world, "warned", str(got.warned))]
        return differences(world, expected, got) + warned * (got.warned != expected.warned)
    wanted = type(expected.error).__name__
    if told[0] == wanted or _both_are_true(expected.error, got.error):
        return []
    return [_other(world, got, told, f"{wanted}: {expected.error}")]


def _as_good(expected: Any, got: Any, failures: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """List in what other words a failure may be told: the first exceptions."""
    others = {("WorkerError", rank) for kind, rank in failures if kind == "SimulationError"}
    if isinstance(expected, CollectiveMismatchError):
        ranks = _ranks_named(expected)
        if isinstance(got, CollectiveMismatchError) and ranks & _ranks_named(got):
            ranks |= _ranks_named(got)  # who is elsewhere is so for its other neighbour, too
        others |= {(kind, rank) for kind in _OF_TWO_COLLECTIVES for rank in ranks}
    elif isinstance(got, CollectiveMismatchError):  # the simulator saw something else first
        kind, ranks = type(got).__name__, _ranks_named(got)
        if any((kind, rank) in failures for rank in ranks):
            others |= {(kind, rank) for rank in ranks}
    return others


def _took_the_next(program: Program, expected: Any, got: Any) -> bool:
    """Say whether a rank that a message did not fit has found the next one in a collective."""
    return (
        any(isinstance(step, p.Start) for step in program.all_steps())
        and type(expected) is MessageMismatchError
        and isinstance(got, CollectiveMismatchError)
        and expected.rank in _ranks_named(got)
    )


def _ranks_named(error: Any) -> set[int]:
    return {int(rank) for rank in re.findall(r"rank (\d+)", str(error.args[0]))}


def _both_are_true(expected: Any, got: Any) -> bool:
    """Say whether some wait in a circle, and others for a rank that has returned."""
    return isinstance(expected, _STUCK) and isinstance(got, _STUCK)


def _other(world: str, got: Outcome, told: Any, wanted: str) -> Problem:
    return Problem(world, f"told {told[0]}", f"{told}, expected {wanted}; it said: {got.error}")


def hunt_invalid(
    seed: int, count: int, worlds: Sequence[str] = WORLDS, *, first: int = 0,
    patience_s: float = 60.0,
) -> Iterator[Finding]:  # fmt: skip
    """Run random faulty programs; yield every one that the worlds see differently, made small."""
    for number in range(first, first + count):
        program = faulty(seed, number)
        problems = disagreements(program, worlds)
        if problems:
            wanted = (problems[0].world, problems[0].kind)

            def fails(candidate: Program, wanted: tuple[str, str] = wanted) -> bool:
                found = disagreements(candidate, worlds)
                return wanted in {(each.world, each.kind) for each in found}

            small = shrink(program, fails, patience_s)
            problems = disagreements(small, worlds) or problems
            yield Finding(number, tuple(problems), small)
