"""``python -m authoring build [NN ...]``, ``check [NN ...]``, ``form [NN]``, ``handout DIR``."""

import argparse
import sys
import time
from pathlib import Path

from authoring.build import ROOT, Target, build, check, targets
from authoring.form import form_of, report
from authoring.handout import write
from authoring.scripts import AuthoringError


def main() -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m authoring", description=__doc__)
    parser.add_argument("command", choices=["build", "check", "form", "handout"])
    parser.add_argument(
        "numbers", nargs="*", metavar="NN",
        help="only these, for example: 00 02; for a handout the new folder or zip file",
    )  # fmt: skip
    options = parser.parse_args()
    if options.command == "handout" and len(options.numbers) != 1:
        parser.error("handout takes the name of a new folder, or of a new .zip")
    try:
        if options.command == "handout":
            files = write(Path(options.numbers[0]))
            print(f"{options.numbers[0]}: {len(files)} files, no solutions")
            return 0
        wanted = list(targets(ROOT, options.numbers))
        if not wanted:
            print(f"no script begins with any of {options.numbers}", file=sys.stderr)
            return 2
        if options.command == "form":
            print(report({t.script.stem: form_of(t.cells) for t in wanted if _is_lecture(t)}))
            return 0
        stale = []
        for target in wanted:
            if options.command == "check":
                stale += check(target)
            else:
                start = time.perf_counter()
                build(target)
                took = f", {time.perf_counter() - start:.0f} s" if target.runs else ""
                print(f"{target.path.relative_to(ROOT)}: {len(target.cells)} cells{took}")
    except AuthoringError as error:
        print(error, file=sys.stderr)
        return 1
    for problem in stale:
        print(problem, file=sys.stderr)
    return 1 if stale else 0


def _is_lecture(target: Target) -> bool:
    return target.path.parent.name == "notebooks" and not target.script.stem.startswith("9")


if __name__ == "__main__":
    sys.exit(main())
