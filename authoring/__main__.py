"""Notebooks from their scripts, and slides, the site and handouts from the notebooks.

``python -m authoring build [NN ...]``, ``check [NN ...]`` and, for lectures, ``form [NN ...]``;
``slides DIR [NN ...]`` for decks of slides, ``site DIR [NN ...]`` for the whole course as pages,
``handout DIR`` for the course without its solutions and notes; ``new NN name`` begins a lecture,
``missing [NN ...]`` says what it lacks: docs/own_lecture.md.
"""

import argparse
import sys
import time
from pathlib import Path

from authoring.build import ROOT, Target, build, check, targets
from authoring.form import form_of, report
from authoring.handout import write
from authoring.new import begin, missing, numbers
from authoring.scripts import AuthoringError


def main() -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m authoring", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (
        ("build", "generate notebooks, and run them"),
        ("check", "list notebooks that are not what their scripts give"),
        ("form", "say how far each lecture has the form of one"),
        ("slides", "write a deck of slides for each lecture"),
        ("site", "write the course as pages that need no kernel and no network"),
        ("handout", "write the course for students, without solutions and notes for lecturers"),
        ("new", "begin a lecture, by its number and its name"),
        ("missing", "say what lectures lack"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        if name in ("slides", "site"):
            command.add_argument("folder", type=Path, metavar="DIR", help="where to write them")
        if name == "handout":
            command.add_argument("folder", type=Path, metavar="DIR", help="a new one, or .zip")
            continue
        command.add_argument("numbers", nargs="*", metavar="NN", help="only these, as in: 00 02")
    options = parser.parse_args()
    if options.command == "new":
        return _begin(options.numbers)
    if options.command == "missing":
        return _say_what_is_missing(options.numbers or numbers())
    try:
        if options.command == "handout":
            files = write(options.folder)
            print(f"{options.folder}: {len(files)} files, no solutions, no notes for lecturers")
            return 0
        wanted = list(targets(ROOT, options.numbers))
        if not wanted:
            print(f"no script begins with any of {options.numbers}", file=sys.stderr)
            return 2
        if options.command == "form":
            print(report({t.script.stem: form_of(t.cells) for t in wanted if _is_lecture(t)}))
            return 0
        if options.command in ("slides", "site"):
            return _write_pages(options.command, options.folder, wanted)
        return _build_or_check(wanted, options.command)
    except AuthoringError as error:
        print(error, file=sys.stderr)
        return 1


def _build_or_check(wanted: list[Target], command: str) -> int:
    stale = []
    for target in wanted:
        if command == "check":
            stale += check(target)
        else:
            start = time.perf_counter()
            build(target)
            took = f", {time.perf_counter() - start:.0f} s" if target.runs else ""
            print(f"{target.path.relative_to(ROOT)}: {len(target.cells)} cells{took}")
    for problem in stale:
        print(problem, file=sys.stderr)
    return 1 if stale else 0


def _write_pages(command: str, folder: Path, wanted: list[Target]) -> int:
    lectures = [target.path for target in wanted if _is_lecture(target)]
    if command == "slides":
        from authoring.slides import write_decks

        write_decks(folder, lectures)
        return 0
    from authoring.website.build import write_site

    try:
        write_site(folder, lectures)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"open {folder / 'index.html'}")
    return 0


def _begin(words: list[str]) -> int:
    """Write a new lecture's files and say what comes next."""
    if len(words) != 2:
        print("new takes a number and a name: python -m authoring new 20 my_topic", file=sys.stderr)
        return 2
    try:
        written = begin(words[0], words[1])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for file in written:
        print(file.relative_to(ROOT).as_posix())
    print(
        f"next: python -m authoring build {words[0]}, then: python -m authoring missing {words[0]}"
    )
    return 0


def _say_what_is_missing(wanted: list[str]) -> int:
    lines = [line for number in wanted for line in missing(number)]
    for line in lines:
        print(line)
    return 1 if lines else 0


def _is_lecture(target: Target) -> bool:
    return target.path.parent.name == "notebooks" and not target.script.stem.startswith("9")


if __name__ == "__main__":
    sys.exit(main())
