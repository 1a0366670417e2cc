"""The command line: ``python -m course_lib progress``."""

import argparse
from pathlib import Path

from course_lib.checks.solved import find_workbook, progress
from course_lib.console.outputs import say

__all__ = ["main"]


def main(words: list[str]) -> int:
    """Print which tasks are solved.

    Parameters
    ----------
    words : list of str
        The command line after ``progress``.

    Returns
    -------
    int
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m course_lib progress",
        description="Say which tasks of the exercises are solved. The checks keep it.",
    )
    parser.add_argument(
        "--workbook", type=Path, metavar="DIR", help="the workbook (default: yours, in the course)"
    )
    chosen: Path | None = parser.parse_args(words).workbook
    if chosen is not None and not (chosen / "exercises").is_dir():
        parser.error(f"--workbook must be a folder that has exercises/ in it, got {chosen}")
    say(repr(progress(chosen or find_workbook())))
    return 0
