"""Open the course, or run its tests, with nothing but a Python.

    python course.py lab         make the environment, open JupyterLab on your workbook
    python course.py test        make the environment, run all tests (more words go to pytest)
    python course.py reset 02    get lecture and exercise 02 back as they were
    python course.py setup       only make the environment
    python course.py wheelhouse  download all packages, for computers without a network

This file must be read by old Pythons too, so that they can say what is wrong: the work is in
course_setup/, which is imported after the version check.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys

OLDEST, NEWEST = (3, 11), (3, 14)
ROOT = os.path.dirname(os.path.abspath(__file__))


def wrong_python(version: tuple[int, ...], system: str, machine: str, is_64bit: bool) -> str:
    """Say why this Python cannot run the course; "" if it can."""
    this, wanted = "{}.{}".format(*version), "Python {}.{} to {}.{}".format(*OLDEST, *NEWEST)
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        return "this is Python {}, and the course needs {}: {}.".format(this, wanted, _another())
    if not is_64bit:
        return "this Python is a 32-bit one, and PyTorch needs a 64-bit {}.".format(wanted)
    if system == "Darwin" and machine == "x86_64":
        return (
            "PyTorch 2.13 has no build for Macs with an Intel processor, so the course cannot run "
            "here (on a Mac with an M processor, install the Python made for it)."
        )
    return ""


def _another() -> str:
    """Name a fitting Python on this computer, or say where to get one."""
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        name = "python3.{}".format(minor)
        if shutil.which(name):
            return "run it with {} instead".format(name)
    return "install one from python.org and run it with that"


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """Read the command line; all that follows `test` goes to pytest."""
    parser = argparse.ArgumentParser(prog="course.py", description="Open or test the course.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    lab = commands.add_parser("lab", help="open JupyterLab on your workbook")
    lab.add_argument("--port", type=int, help="this port, or none (default: the next free one)")
    lab.add_argument("--no-browser", action="store_true", help="only print the address")
    commands.add_parser("test", help="run all tests; more arguments go to pytest")
    reset = commands.add_parser("reset", help="get a lecture or exercise back as it was")
    reset.add_argument("name", metavar="NN", help="its number, or a path such as exercises/02")
    setup = commands.add_parser("setup", help="only make the environment")
    setup.add_argument("--wheelhouse", metavar="FOLDER", help="take the packages from here")
    house = commands.add_parser("wheelhouse", help="download all packages, for computers offline")
    house.add_argument("folder", nargs="?", help="where (default: wheelhouse/ beside course.py)")
    for option, what in (("--platform", "linux, linux-aarch64, macos or windows"),
                         ("--python-version", "3.11 to 3.14")):  # fmt: skip
        house.add_argument(
            option, action="append", metavar="NAME", help=f"{what}; may be repeated (default: this)"
        )
    if words[:1] == ["test"]:
        return argparse.Namespace(command="test", pytest_words=words[1:])
    return parser.parse_args(words)


def open_closed_streams() -> None:
    """Put nothing in the place of a closed stream: the next file would take its number else."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, mode)  # noqa: SIM115 - for as long as the program runs
            os.set_inheritable(nothing.fileno(), True)
            setattr(sys, name, nothing)


def main(words: list[str]) -> int:
    """Do what the words say; return the exit status."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[attr-defined,union-attr,unused-ignore]
    reason = wrong_python(
        tuple(sys.version_info[:2]), platform.system(), platform.machine(), sys.maxsize > 2**32
    )
    if reason:
        print("course.py: " + reason, file=sys.stderr)
        return 1
    arguments = parse_arguments(words)
    sys.path.insert(0, ROOT)
    from course_setup import commands
    from course_setup.problems import told_in_one_sentence

    with told_in_one_sentence() as outcome:
        outcome.status = commands.perform(ROOT, arguments)
    return outcome.status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # before there was anything to stop
        sys.exit(130)
