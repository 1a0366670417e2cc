"""The command line: `python -m course_lib` with doctor, progress, bench, train, search or grade."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


def doctor(_: list[str]) -> int:
    """Print what is wrong with this computer.

    Returns
    -------
    int
        The exit status: 0 if the course works here.
    """
    from course_lib.console.outputs import say
    from course_lib.doctor import examine

    report = examine()
    say(str(report))
    return 0 if report.is_healthy else 1


def progress(words: list[str]) -> int:
    """Print which tasks are solved.

    Returns
    -------
    int
        The exit status.
    """
    from course_lib.cli.progress import main  # only now: the doctor must work where packages miss

    return main(words)


def bench(words: list[str]) -> int:
    """Measure all-reduces.

    Returns
    -------
    int
        The exit status.
    """
    from course_lib.cli.bench import main  # only now, as above

    return main(words)


def train(words: list[str]) -> int:
    """Train a model by a scheme of the course.

    Returns
    -------
    int
        The exit status.
    """
    from course_lib.cli.train import main  # only now, as above

    return main(words)


def search(words: list[str]) -> int:
    """Search the numbers that train best.

    Returns
    -------
    int
        The exit status.
    """
    from course_lib.cli.search import main  # only now, as above

    return main(words)


def grade(words: list[str]) -> int:
    """Grade submitted exercises.

    Returns
    -------
    int
        The exit status.
    """
    from course_lib.cli.grade import main  # only now, as above

    return main(words)


def main(words: list[str]) -> int:
    """Carry out a command.

    Parameters
    ----------
    words : list of str
        The command line without the program's name.

    Returns
    -------
    int
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m course_lib", description="A course that runs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("doctor", help="say what is wrong here and how to fix it")
    command.set_defaults(carry_out=doctor, takes_words=False)
    command = commands.add_parser("progress", help="say which tasks are solved", add_help=False)
    command.set_defaults(carry_out=progress, takes_words=True)
    command = commands.add_parser("bench", help="time all-reduces on this computer", add_help=False)
    command.set_defaults(carry_out=bench, takes_words=True)
    command = commands.add_parser(
        "train", help="train a model on many workers, by any scheme", add_help=False
    )
    command.set_defaults(carry_out=train, takes_words=True)
    command = commands.add_parser(
        "search", help="search the numbers that train best, many trainings at once", add_help=False
    )
    command.set_defaults(carry_out=search, takes_words=True)
    command = commands.add_parser(
        "grade", help="grade submitted exercises, a table for a class", add_help=False
    )
    command.set_defaults(carry_out=grade, takes_words=True)
    arguments, rest = parser.parse_known_args(words)
    if rest and not arguments.takes_words:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    status: int = arguments.carry_out(rest)
    return status


def program() -> int:
    """Carry out the command that this program was started with, whatever its outputs are.

    Returns
    -------
    int
        The exit status.
    """
    from course_lib.console.outputs import end_outputs, open_outputs

    # Before torch is loaded. Threads that spin while they wait take the processors from whatever
    # else is at work here: on a busy computer a training took fifty times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # The collector would look at what stays again and again: torch takes a fourth longer to load.
    gc.set_threshold(50_000, 10, 10)
    open_outputs()
    _end_by_leaving()
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:  # before a command has begun
        status = 130
    except SystemExit as leaving:  # of argparse, or of a signal, always with a number
        status = int(leaving.code or 0)
    return end_outputs(status)


def _end_by_leaving() -> None:
    """Have the signals that end this program let it put away its files first.

    Where torchrun has started it, it is to go at once: another rank has failed.
    """
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise SystemExit(128 + number)  # as a shell tells of who was ended by a signal


if __name__ == "__main__":
    sys.exit(program())
