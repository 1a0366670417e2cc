"""Hunt for programs that go wrong: ``python -m tests.fuzz --world processes --seed 1``."""

import argparse
import sys
import time

from tests.fuzz.hunt import hunt
from tests.fuzz.worlds import LIMIT_S, WORLDS


def main() -> int:
    """Hunt; print every finding as a script."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--world", action="append", choices=WORLDS, help="default: all three")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", action="store_true", help="a launch for each program")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for a launch")
    parser.add_argument("--findings", type=int, default=1, help="stop after so many")
    parser.add_argument("--ignore", help="pass over problems with this (a regular expression)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to make one small")
    options = parser.parse_args()
    worlds = options.world or list(WORLDS)
    if worlds[0] != "simulated":
        worlds = ["simulated", *worlds]  # what the others are compared with
    begun_s = time.monotonic()

    def tell(count: int) -> None:
        taken_s = time.monotonic() - begun_s
        print(
            f"{count} programs, {taken_s:.0f} s, {1000 * taken_s / count:.0f} ms each", flush=True
        )

    n_found = 0
    for finding in hunt(
        options.seed, options.programs, worlds, first=options.first, told=tell,
        alone=options.alone, limit_s=options.limit,
        ignore=options.ignore, patience_s=options.patience,
    ):  # fmt: skip
        print(finding, flush=True)
        n_found += 1
        if n_found >= options.findings:
            break
    return min(n_found, 1)


if __name__ == "__main__":
    sys.exit(main())
