"""A program that runs random programs and is interrupted: ``python -m tests.fuzz.interrupted``.

Its arguments are a world, a seed and a number of interrupts. It prints ``go`` where it may be
interrupted, once; then it checks that nothing is left and that the next run works.
"""

import sys
import time
from contextlib import suppress

from course_lib import run
from tests.fuzz.generate import generate
from tests.fuzz.perform import perform
from tests.fuzz.program import Program
from tests.residue import assert_nothing_left, residue

LIMIT_S = 20.0


def main(world: str, seed: int, count: int) -> None:
    """Be interrupted so many times."""
    play(world, Program(ranks=2))  # what stays for good is there then
    before = residue()
    for number in range(count):
        program = generate(seed, number)
        with suppress(KeyboardInterrupt):  # which may come as soon as ``go`` has been read
            print("go", number, flush=True)
            with suppress(
                RuntimeError
            ):  # what a program met before it was interrupted is not asked
                play(world, program)
            time.sleep(LIMIT_S)  # it was over first
            raise AssertionError(f"program {number} was not interrupted")
        assert_nothing_left(before)
        logs = play(world, Program(ranks=program.ranks))
        assert len(logs) == program.ranks
        print("nothing left", flush=True)


def play(world: str, program: Program) -> list[object]:
    """Run one program."""
    return run(
        perform, [program], world != "simulated", workers=program.ranks, backend=world,
        rendezvous=program.rendezvous, time_limit_s=LIMIT_S,
    ).values  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
