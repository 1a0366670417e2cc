"""Look for programs that the worlds do not agree on, or that one of them gets wrong."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tests.fuzz.generate import generate
from tests.fuzz.perform import perform
from tests.fuzz.program import Program, text_of
from tests.fuzz.shrink import shrink
from tests.fuzz.worlds import LIMIT_S, WORLDS, Play, Problem, differences, in_world, wrong_in_itself

__all__ = ["Finding", "hunt", "problems_of"]

_A_ROUND = 60
"""So many programs are written at a time, and those for equally many ranks share a launch."""


@dataclass(frozen=True)
class Finding:
    """A program that shows a problem.

    Attributes
    ----------
    number : int
        Which of the seed; of those that fail only one after the other, the last.
    problems : tuple of Problem
        What was seen.
    program : Program
        As small as it could be made.
    """

    number: int
    problems: tuple[Problem, ...]
    program: Program

    def __str__(self) -> str:
        """Write it as a script that shows it again."""
        seen = "\n".join(f"# {problem}".replace("\n", "\n#   ") for problem in self.problems[:5])
        return (
            f"# Program {self.number}:\n{seen}\n"
            "from tests.fuzz.hunt import problems_of\n"
            "from tests.fuzz.program import *\n"
            "from tests.fuzz.arrays import Array\n\n"
            f"program = {text_of(self.program)}\n"
            "if __name__ == '__main__':\n"
            "    print(*problems_of([program]), sep='\\n')"
        )


def problems_of(
    programs: Sequence[Program], worlds: Sequence[str] = WORLDS, *, play: Play = perform,
    limit_s: float = LIMIT_S,
) -> list[Problem]:  # fmt: skip
    """Run programs in one launch in each world; list what is wrong, and what differs."""
    found = []
    first = None
    for world in worlds:
        outcome = in_world(world, programs, play=play, limit_s=limit_s)
        found += wrong_in_itself(world, outcome)
        if first is None:
            first = outcome
        else:
            found += differences(world, first, outcome)
    return found


def hunt(
    seed: int, count: int, worlds: Sequence[str] = WORLDS, *, first: int = 0,
    play: Play = perform, patience_s: float = 60.0, told: Callable[[int], None] = lambda _: None,
    alone: bool = False, limit_s: float = LIMIT_S, ignore: str | None = None,
) -> Iterator[Finding]:  # fmt: skip
    """Run random programs; yield every failing one, made small.

    Parameters
    ----------
    seed, count, first : int
        Which programs: ``count`` of the seed, from number ``first`` on.
    worlds : sequence of str, default: WORLDS
        Where; the first is what the others are compared with.
    play : callable, default: perform
        What each rank calls.
    patience_s : float, default: 60.0
        How long each may take to be made small.
    told : callable, default: nothing
        Called with the number of programs that have been run.
    alone : bool, default: False
        Whether each program has a launch of its own.
    limit_s : float, default: LIMIT_S
        When a launch counts as hung.
    ignore : str or None, default: None
        A regular expression; problems whose line has it are passed over.
    """

    def check(programs: Sequence[Program]) -> list[Problem]:
        found = problems_of(programs, worlds, play=play, limit_s=limit_s)
        return [each for each in found if ignore is None or not re.search(ignore, str(each))]

    for begin in range(first, first + count, _A_ROUND):
        numbers = range(begin, min(begin + _A_ROUND, first + count))
        for group in _groups(seed, numbers, alone):
            if problems := check(list(group.values())):
                yield from _singled_out(group, problems, check, patience_s)
        told(numbers[-1] + 1 - first)


def _groups(seed: int, numbers: range, alone: bool) -> list[dict[int, Program]]:
    """Put programs together that can share a launch; keep their numbers."""
    groups: dict[object, dict[int, Program]] = defaultdict(dict)
    for number in numbers:
        program = generate(seed, number)
        key = number if alone else (program.ranks, program.rendezvous)
        groups[key][number] = program
    return list(groups.values())


def _singled_out(
    group: dict[int, Program], problems: list[Problem],
    check: Callable[[Sequence[Program]], list[Problem]], patience_s: float,
) -> Iterator[Finding]:  # fmt: skip
    """Find out which of the programs of a launch are to blame, each alone or all together."""
    if len(group) == 1:
        yield _made_small(*group.popitem(), problems, check, patience_s)
        return
    blamed = False
    for number, program in group.items():
        if found := check([program]):
            blamed = True
            yield _made_small(number, program, found, check, patience_s)
    if not blamed:
        steps = tuple(step for program in group.values() for step in program.steps)
        together = replace(next(iter(group.values())), steps=steps)
        yield _made_small(max(group), together, problems, check, patience_s)


def _made_small(
    number: int, program: Program, problems: list[Problem],
    check: Callable[[Sequence[Program]], list[Problem]], patience_s: float,
) -> Finding:  # fmt: skip
    kinds = {(problem.world, problem.kind) for problem in problems}
    wanted = next(iter(sorted(kinds)))

    def fails(candidate: Program) -> bool:
        return wanted in {(each.world, each.kind) for each in check([candidate])}

    small = shrink(program, fails, patience_s)
    return Finding(number, tuple(check([small]) or problems), small)
